/** The house rules, executable: from the sources to one plain sentence for each rule that is broken. */
import {
  ADAPTERS_SEE_ADAPTERS,
  ADAPTERS_SEE_CORE,
  COMPOSITION_ROOT,
  COMPOSITION_SEES,
  EMPTY_NAMES,
  LONGEST_FILE,
  MAY_EXPORT_DEFAULT,
  PACKAGES,
  PRIVATE_FILES,
  REGISTRY,
  SHARED_OPERATIONS,
  STAIRS,
  TOP_LEVEL,
  VERIFIER_SEES,
  WAITING_ROOMS,
} from './module-plan.ts'
import { type FileRead, type ImportOf, readSourceFile } from './module-reader.ts'

/** The sources as the rules see them: read once, asked many times. */
interface House {
  readonly files: ReadonlyMap<string, FileRead>
  /** Files `package.json` opens to the outside. */
  readonly doors: ReadonlySet<string>
}

/** A rule answers one sentence for each break of it. */
type Rule = (house: House) => readonly string[]

/** A rule that asks each file by itself. */
type FileRule = (file: FileRead, house: House) => readonly (string | undefined)[] | string | undefined

const PUBLIC_DOOR = 'src/index.ts'

/** Every rule by name, so that a test can show each of them going red. */
export const HOUSE_RULES = {
  'opening line': each(({ path, text }) =>
    /^\/\*\* *\n?[ *]*\w[\s\S]*?\*\//.test(text)
      ? undefined
      : `${path} does not open with a /** sentence */ saying what it is for`,
  ),
  length: each(({ path, text }) => {
    const lines = text.trimEnd().split('\n').length
    return lines > LONGEST_FILE ? `${path} has ${lines} lines; split it at a noun (limit ${LONGEST_FILE})` : undefined
  }),
  names: each(({ path }) => nameFaults(path)),
  'named exports': each(({ path, exportsDefault, exportsStar }) => [
    exportsDefault && !MAY_EXPORT_DEFAULT.test(path) ? `${path} has a default export; export by name` : undefined,
    exportsStar ? `${path} exports everything of another file; name what it hands on` : undefined,
  ]),
  'top level': inSource(({ path }) =>
    TOP_LEVEL.test(path) ? undefined : `${path} stands in no room of the plan; move it, or add the room to the plan and its page`,
  ),
  'known modules': inSource(({ path, imports }, { files }) => imports.map((one) => strayImport(path, one, files))),
  packages: inSource(({ path, imports }) =>
    imports.map(({ module, target }) => (module && !target ? strayPackage(path, module) : undefined)),
  ),
  doors: ({ files, doors }) => [
    ...[...files.keys()]
      .filter((path) => /^src\/(.*\/)?index\.ts$/.test(path) && !doors.has(path))
      .map((path) => `${path} is an index.ts without a door in package.json; import the file that owns the thing`),
    ...[...doors].filter((door) => !files.has(door)).map((door) => `package.json opens a door at ${door}, where no file stands`),
  ],
  'doors are for outsiders': betweenFiles((from, to, { doors }) =>
    doors.has(to) && !(from.startsWith('src/http/') && to === PUBLIC_DOOR)
      ? `${from} imports the door ${to}; doors are for outsiders, import the file that owns the thing`
      : undefined,
  ),
  'public door': inSource(({ path, onlyPassesOn }) =>
    path === PUBLIC_DOOR && !onlyPassesOn ? `${path} holds code of its own; the public door only re-exports` : undefined,
  ),
  'core is alone': betweenFiles((from, to) =>
    isCore(from) && !isCore(to) ? `${from} imports ${to}; core knows nothing outside core` : undefined,
  ),
  staircase: betweenFiles(climb),
  'known rooms': inSource(({ path }) =>
    isCore(path) && stepOf(path) < 0 ? `${path} stands outside the staircase; add its room to the plan or move it` : undefined,
  ),
  operations: betweenFiles((from, to) =>
    from !== REGISTRY && isIn('operations', from) && isIn('operations', to) && !SHARED_OPERATIONS.has(stemOf(to))
      ? `${from} imports ${to}; operations never call each other`
      : undefined,
  ),
  'private files': betweenFiles((from, to) => {
    const importer = PRIVATE_FILES[to]
    return importer !== undefined && from !== importer ? `${from} imports ${to}; only ${importer} may` : undefined
  }),
  adapters: betweenFiles(strayAdapter),
  http: betweenFiles((from, to) =>
    from.startsWith('src/http/') && !to.startsWith('src/http/') && to !== PUBLIC_DOOR
      ? `${from} imports ${to}; http enters through ${PUBLIC_DOOR} like any user`
      : undefined,
  ),
  'composition root': betweenFiles((from, to) =>
    from === COMPOSITION_ROOT && !COMPOSITION_SEES.test(to)
      ? `${from} imports ${to}; it only puts the default keys and system into core`
      : undefined,
  ),
  'audit verifier': betweenFiles((from, to) =>
    from.startsWith('src/audit-verifier/') && !VERIFIER_SEES.test(to)
      ? `${from} imports ${to}; the audit verifier works where no vault is`
      : undefined,
  ),
  'upper rooms': betweenFiles((from, to) =>
    to === COMPOSITION_ROOT && from !== PUBLIC_DOOR ? `${from} imports ${to}; only ${PUBLIC_DOOR} hands it on` : undefined,
  ),
  waiting: inSource(({ path, waits }) =>
    isCore(path) && waits !== undefined && !WAITING_ROOMS.has(roomOf(path))
      ? `${path} says ${waits}; in core only ${[...WAITING_ROOMS].join(', ')} wait`
      : undefined,
  ),
  'time and luck': inSource(({ path, reaches }) =>
    isCore(path)
      ? reaches.map((what) => `${path} reaches for ${what}; time, luck and the machine come in through ports`)
      : undefined,
  ),
  circles: ({ files }) => circles(files),
  'public words': ({ files, doors }) => [...doors].flatMap((door) => undocumented(door, files)),
} satisfies Record<string, Rule>

/**
 * Inspects TypeScript sources, by path from the top of the repository. Files outside `src` answer only to the rules of
 * form (opening line, length, names, exports). Answers one sentence for each break, none for a house in order.
 */
export function inspectHouse(sources: ReadonlyMap<string, string>, doors: readonly string[]): string[] {
  const files = new Map([...sources].map(([path, text]) => [path, readSourceFile(path, text)] as const))
  const house: House = { files, doors: new Set(doors) }
  return Object.values<Rule>(HOUSE_RULES).flatMap((rule) => [...new Set(rule(house))])
}

function each(rule: FileRule): Rule {
  return (house) =>
    [...house.files.values()].flatMap((file) => [rule(file, house)].flat().filter((sentence) => sentence !== undefined))
}

function inSource(rule: FileRule): Rule {
  return each((file, house) => (file.path.startsWith('src/') ? rule(file, house) : undefined))
}

/** A rule over every import of one of our files by another. */
function betweenFiles(rule: (from: string, to: string, house: House) => string | undefined): Rule {
  return inSource(({ path, imports }, house) =>
    imports.map(({ target }) => (target === undefined ? undefined : rule(path, target, house))),
  )
}

function isCore(path: string): boolean {
  return path.startsWith('src/core/')
}

function isIn(room: string, path: string): boolean {
  return isCore(path) && roomOf(path) === room
}

/** `src/core/values/x.ts` stands in `values`, `src/core/errors.ts` in `errors`. */
function roomOf(path: string): string {
  return (path.split('/')[2] ?? '').replace(/\.ts$/, '')
}

function stepOf(path: string): number {
  return STAIRS.findIndex((rooms) => rooms.includes(roomOf(path)))
}

function stemOf(path: string): string {
  return (path.split('/').at(-1) ?? '').replace(/(\.test|\.config|\.d)?\.[cm]?ts$/, '')
}

function nameFaults(path: string): string[] {
  const parts = [...path.split('/').slice(0, -1), stemOf(path)]
  return parts.flatMap((part) => {
    if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(part)) return `${path} is not named in kebab-case (${part})`
    return EMPTY_NAMES.has(part) ? `${path} is called ${part}, which says nothing; name what it holds` : []
  })
}

function strayImport(path: string, { module, target }: ImportOf, files: ReadonlyMap<string, FileRead>): string | undefined {
  if (module === undefined) return `${path} imports a module computed while running; name it in the text`
  return target !== undefined && !files.has(target) ? `${path} imports ${module}, which is no file here` : undefined
}

function strayPackage(path: string, module: string): string | undefined {
  const name = module.startsWith('node:') ? module : module.split('/', module.startsWith('@') ? 2 : 1).join('/')
  const place = Object.keys(PACKAGES)
    .filter((one) => path.startsWith(`${one}/`))
    .sort((a, b) => b.length - a.length)[0]
  const allowed = place === undefined ? [] : (PACKAGES[place] ?? [])
  if (allowed.includes(name)) return undefined
  return `${path} imports the package ${module}; allowed here: ${allowed.join(', ') || 'none'}`
}

function climb(from: string, to: string): string | undefined {
  if (!isCore(from) || !isCore(to) || roomOf(from) === roomOf(to)) return undefined
  const [here, there] = [stepOf(from), stepOf(to)]
  if (here < 0 || there < here) return undefined
  return `${from} (step ${here}) imports ${to} (step ${there}); imports only go down the stairs`
}

function shelfOf(path: string): string | undefined {
  return /^src\/adapters\/([^/]+)/.exec(path)?.[1]
}

function strayAdapter(from: string, to: string): string | undefined {
  const [shelf, other] = [shelfOf(from), shelfOf(to)]
  if (shelf === undefined || shelf === other || ADAPTERS_SEE_CORE.test(to)) return undefined
  if (other === undefined) return `${from} imports ${to}; adapters see only core/ports, core/errors and core/util`
  return ADAPTERS_SEE_ADAPTERS[shelf]?.includes(other) ? undefined : `${from} imports ${to}; adapters do not know each other`
}

/** Each circle once, from where the walk entered it. Type imports count: a circle of types is a circle of ideas. */
function circles(files: ReadonlyMap<string, FileRead>): string[] {
  const found: string[] = []
  const state = new Map<string, 'open' | 'done'>()
  const walk = (path: string, trail: readonly string[]): void => {
    if (state.get(path) === 'done') return
    if (state.get(path) === 'open') {
      found.push(
        `${[...trail.slice(trail.indexOf(path)), path].join(' -> ')} is a circle of imports; move what both need below them`,
      )
      return
    }
    state.set(path, 'open')
    for (const { target } of files.get(path)?.imports ?? []) {
      if (target !== undefined && target !== path) walk(target, [...trail, path])
    }
    state.set(path, 'done')
  }
  for (const path of files.keys()) walk(path, [])
  return found
}

/** Names a door hands out whose declaration has no doc comment. */
function undocumented(door: string, files: ReadonlyMap<string, FileRead>): string[] {
  return (files.get(door)?.exports ?? []).flatMap(({ name, original, from }) => {
    const home = declarationOf(from ?? door, original, files)
    if (home === undefined) return `${door} hands out ${name}, which is declared nowhere it names`
    const isDocumented = files.get(home.path)?.documented.get(home.name) === true
    return isDocumented ? [] : `${home.path} declares ${home.name} without a doc comment, and ${door} hands it out`
  })
}

/** Follows re-exports to the file that declares a name. */
function declarationOf(
  path: string,
  name: string,
  files: ReadonlyMap<string, FileRead>,
): { path: string; name: string } | undefined {
  const file = files.get(path)
  if (file === undefined) return undefined
  if (file.documented.has(name)) return { path, name }
  const passed = file.exports.find((one) => one.name === name && one.from !== undefined)
  return passed?.from === undefined ? undefined : declarationOf(passed.from, passed.original, files)
}
