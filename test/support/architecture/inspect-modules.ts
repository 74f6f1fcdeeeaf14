/** The module rules, executable: one sentence for each place where a source file breaks a rule. */
import { findRetiredWords } from './find-retired-words.ts'
import {
  ADAPTERS_SEE_ADAPTERS,
  ADAPTERS_SEE_CORE,
  ASYNC_MODULES,
  BOUNDED_SPREADS,
  COMPOSITION_ROOT,
  COMPOSITION_SEES,
  EMPTY_NAMES,
  HOSTS_SEE,
  LAYERS,
  LOADERS,
  MAX_FILE_LINES,
  MAY_EXPORT_DEFAULT,
  PACKAGES,
  PRIVATE_FILES,
  REGISTRY,
  TOP_LEVEL,
  VERIFIER_SEES,
} from './module-plan.ts'
import { type FileRead, type ImportOf, readSourceFile } from './module-reader.ts'

/** All sources, read once and checked by every rule. */
interface Repository {
  readonly files: ReadonlyMap<string, FileRead>
  /** Source files that `package.json` names as entry points. */
  readonly entryPoints: ReadonlySet<string>
}

/** Returns one sentence for each place that breaks the rule. */
type Rule = (repository: Repository) => readonly string[]

/** A rule that checks each file on its own. */
type FileRule = (file: FileRead, repository: Repository) => readonly (string | undefined)[] | string | undefined

const MAIN_ENTRY_POINT = 'src/index.ts'

/** Every rule by name, so that a test can break each of them. */
export const MODULE_RULES = {
  'opening line': each(({ path, text }) =>
    /^\/\*\* *\n?[ *]*\w[\s\S]*?\*\//.test(text)
      ? undefined
      : `${path} does not open with a /** sentence */ saying what it is for`,
  ),
  length: each(({ path, text }) => {
    const lines = text.trimEnd().split('\n').length
    return lines > MAX_FILE_LINES ? `${path} has ${lines} lines; split it at a noun (limit ${MAX_FILE_LINES})` : undefined
  }),
  names: each(({ path }) => nameFaults(path)),
  words: each(({ path, text }) => wordFaults(path, text)),
  'named exports': each(({ path, exportsDefault, exportsStar }) => [
    exportsDefault && !MAY_EXPORT_DEFAULT.test(path) ? `${path} has a default export; export by name` : undefined,
    exportsStar ? `${path} exports everything of another file; name each export` : undefined,
  ]),
  'top level': inSource(({ path }) =>
    TOP_LEVEL.test(path) ? undefined : `${path} is in no module of the plan; move it, or add the module to the plan and its page`,
  ),
  'resolvable imports': inSource(({ path, imports }, { files }) => imports.map((one) => strayImport(path, one, files))),
  packages: inSource(({ path, imports }) =>
    imports.map(({ module, target }) => (module && !target ? strayPackage(path, module) : undefined)),
  ),
  'entry points': ({ files, entryPoints }) => [
    ...[...files.keys()]
      .filter((path) => /^src\/(.*\/)?index\.ts$/.test(path) && !entryPoints.has(path))
      .map((path) => `${path} is an index.ts without an entry point in package.json; import the file that declares the name`),
    ...[...entryPoints]
      .filter((path) => !files.has(path))
      .map((path) => `package.json names the entry point ${path}, which does not exist`),
  ],
  'entry points are external': betweenFiles((from, to, { entryPoints }) =>
    entryPoints.has(to) && hostSees(from) === undefined
      ? `${from} imports the entry point ${to}; import the file that declares the name`
      : undefined,
  ),
  'main entry point': inSource(({ path, onlyReexports }) =>
    path === MAIN_ENTRY_POINT && !onlyReexports ? `${path} has code of its own; the main entry point only re-exports` : undefined,
  ),
  'core imports only core': betweenFiles((from, to) =>
    isCore(from) && !isCore(to) ? `${from} imports ${to}; core imports only core` : undefined,
  ),
  layers: betweenFiles(upwardImport),
  'known modules': inSource(({ path }) =>
    isCore(path) && layerOf(path) < 0 ? `${path} is in no layer; add its module to the plan or move it` : undefined,
  ),
  operations: betweenFiles((from, to) =>
    from !== REGISTRY && isIn('operations', from) && isIn('operations', to)
      ? `${from} imports ${to}; operations do not import each other`
      : undefined,
  ),
  'private files': betweenFiles((from, to) => {
    const importer = PRIVATE_FILES[to]
    return importer !== undefined && from !== importer ? `${from} imports ${to}; only ${importer} may` : undefined
  }),
  adapters: betweenFiles(strayAdapter),
  conformance: betweenFiles((from, to) =>
    from.startsWith('src/conformance/') && !to.startsWith('src/conformance/') && !ADAPTERS_SEE_CORE.test(to)
      ? `${from} imports ${to}; a conformance suite imports only core/ports, core/errors and core/util`
      : undefined,
  ),
  hosts: betweenFiles((from, to) => {
    const sees = hostSees(from)
    return sees === undefined || sees.test(to) || hostOf(from) === hostOf(to)
      ? undefined
      : `${from} imports ${to}; ${hostOf(from)} is a user of the package, and imports only what the plan lists`
  }),
  'composition root': betweenFiles((from, to) =>
    from === COMPOSITION_ROOT && !COMPOSITION_SEES.test(to)
      ? `${from} imports ${to}; it only connects the default keys and system ports to core`
      : undefined,
  ),
  'audit verifier': betweenFiles((from, to) =>
    from.startsWith('src/audit-verifier/') && !VERIFIER_SEES.test(to)
      ? `${from} imports ${to}; the audit verifier runs without a vault`
      : undefined,
  ),
  'composition root is private': betweenFiles((from, to) =>
    to === COMPOSITION_ROOT && from !== MAIN_ENTRY_POINT
      ? `${from} imports ${to}; only ${MAIN_ENTRY_POINT} re-exports it`
      : undefined,
  ),
  async: inSource(({ path, asyncWord }) =>
    isCore(path) && asyncWord !== undefined && !ASYNC_MODULES.has(moduleOf(path))
      ? `${path} uses ${asyncWord}; in core only ${[...ASYNC_MODULES].join(', ')} are asynchronous`
      : undefined,
  ),
  'time and randomness': inSource(({ path, systemGlobals }) =>
    isCore(path)
      ? systemGlobals.map((name) => `${path} uses ${name}; time, randomness and the system come in through ports`)
      : undefined,
  ),
  'spread arguments': inSource(({ path, spreadCalls }) => {
    const bounded = Object.keys(BOUNDED_SPREADS[path] ?? {})
    return [
      ...spreadCalls
        .filter((call) => !bounded.includes(call))
        .map(
          (call) =>
            `${path} passes a list as the arguments of ${call}; loop over it, use append, or say in the plan why it is short`,
        ),
      ...bounded
        .filter((call) => !spreadCalls.includes(call))
        .map((call) => `the plan allows ${call} in ${path}, which does not have it; remove it from the plan`),
    ]
  }),
  'import cycles': ({ files }) => importCycles(files),
  'public docs': ({ files, entryPoints }) => [...entryPoints].flatMap((path) => undocumented(path, files)),
} satisfies Record<string, Rule>

/**
 * Checks TypeScript sources, by path from the top of the repository. For files outside `src`, only the rules of form
 * apply: opening line, length, names, exports. Returns one sentence for each broken rule; an empty list if none is broken.
 */
export function inspectModules(sources: ReadonlyMap<string, string>, entryPoints: readonly string[]): string[] {
  const files = new Map([...sources].map(([path, text]) => [path, readSourceFile(path, text)] as const))
  const repository: Repository = { files, entryPoints: new Set(entryPoints) }
  return Object.values<Rule>(MODULE_RULES).flatMap((rule) => [...new Set(rule(repository))])
}

function each(rule: FileRule): Rule {
  return (repository) =>
    [...repository.files.values()].flatMap((file) => [rule(file, repository)].flat().filter((sentence) => sentence !== undefined))
}

function inSource(rule: FileRule): Rule {
  return each((file, repository) => (file.path.startsWith('src/') ? rule(file, repository) : undefined))
}

/** A rule that checks every import of one source file by another. */
function betweenFiles(rule: (from: string, to: string, repository: Repository) => string | undefined): Rule {
  return inSource(({ path, imports }, repository) =>
    imports.map(({ target }) => (target === undefined ? undefined : rule(path, target, repository))),
  )
}

function hostOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1]
}

function hostSees(path: string): RegExp | undefined {
  return HOSTS_SEE[hostOf(path) ?? '']
}

function isCore(path: string): boolean {
  return path.startsWith('src/core/')
}

function isIn(module: string, path: string): boolean {
  return isCore(path) && moduleOf(path) === module
}

/** `src/core/values/x.ts` is in the module `values`, `src/core/errors.ts` in `errors`. */
function moduleOf(path: string): string {
  return (path.split('/')[2] ?? '').replace(/\.ts$/, '')
}

/** Index from 0 of the file's layer in `LAYERS`; -1 if its module is in none. */
export function layerOf(path: string): number {
  return LAYERS.findIndex((modules) => modules.includes(moduleOf(path)))
}

function stemOf(path: string): string {
  return (path.split('/').at(-1) ?? '').replace(/(\.test|\.config|\.d)?\.[cm]?tsx?$/, '')
}

function nameFaults(path: string): string[] {
  const parts = [...path.split('/').slice(0, -1), stemOf(path)]
  return parts.flatMap((part) => {
    if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(part)) return `${path} is not named in kebab-case (${part})`
    return EMPTY_NAMES.has(part) ? `${path} is called ${part}, which does not say what it holds; use a specific name` : []
  })
}

/** One sentence for each retired word in the path or the text of a file of any kind. */
export function wordFaults(path: string, text: string): string[] {
  return [
    ...findRetiredWords(path, path).map(({ word, use }) => `${path} has the retired word "${word}" in its name; use ${use}`),
    ...findRetiredWords(path, text).map(({ line, word, use }) => `${path}:${line} has the retired word "${word}"; use ${use}`),
  ]
}

function strayImport(path: string, { module, target }: ImportOf, files: ReadonlyMap<string, FileRead>): string | undefined {
  if (module === undefined && LOADERS.has(path)) return undefined
  if (module === undefined) return `${path} imports a module computed at run time; use a literal name`
  // Of a style sheet there is nothing to check: the build finds it, or fails.
  const isStyle = target?.endsWith('.css') === true && path.startsWith('src/console/')
  return target !== undefined && !files.has(target) && !isStyle ? `${path} imports ${module}, which does not exist` : undefined
}

function strayPackage(path: string, module: string): string | undefined {
  const name = module.startsWith('node:') ? module : module.split('/', module.startsWith('@') ? 2 : 1).join('/')
  const folder = Object.keys(PACKAGES)
    .filter((one) => path.startsWith(`${one}/`))
    .sort((a, b) => b.length - a.length)[0]
  const allowed = folder === undefined ? [] : (PACKAGES[folder] ?? [])
  if (allowed.includes(name)) return undefined
  return `${path} imports the package ${module}; allowed here: ${allowed.join(', ') || 'none'}`
}

function upwardImport(from: string, to: string): string | undefined {
  if (!isCore(from) || !isCore(to) || moduleOf(from) === moduleOf(to)) return undefined
  const [here, there] = [layerOf(from), layerOf(to)]
  if (here < 0 || there < here) return undefined
  return `${from} (layer ${here}) imports ${to} (layer ${there}); imports only go to lower layers`
}

function adapterOf(path: string): string | undefined {
  return /^src\/adapters\/([^/]+)/.exec(path)?.[1]
}

function strayAdapter(from: string, to: string): string | undefined {
  const [adapter, other] = [adapterOf(from), adapterOf(to)]
  if (adapter === undefined || adapter === other || ADAPTERS_SEE_CORE.test(to)) return undefined
  if (other === undefined) return `${from} imports ${to}; adapters import only core/ports, core/errors and core/util`
  return ADAPTERS_SEE_ADAPTERS[adapter]?.includes(other) ? undefined : `${from} imports ${to}; adapters do not import each other`
}

/** Returns each cycle once, from where the walk entered it. Type imports count, because they couple files too. */
function importCycles(files: ReadonlyMap<string, FileRead>): string[] {
  const found: string[] = []
  const state = new Map<string, 'open' | 'done'>()
  const walk = (path: string, trail: readonly string[]): void => {
    if (state.get(path) === 'done') return
    if (state.get(path) === 'open') {
      found.push(
        `${[...trail.slice(trail.indexOf(path)), path].join(' -> ')} is an import cycle; move what both need to a lower file`,
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

/** Returns a sentence for each name that an entry point exports and that has no doc comment. */
function undocumented(entryPoint: string, files: ReadonlyMap<string, FileRead>): string[] {
  return (files.get(entryPoint)?.exports ?? []).flatMap(({ name, original, from }) => {
    const home = declarationOf(from ?? entryPoint, original, files)
    if (home === undefined) return `${entryPoint} exports ${name}, which no file declares`
    const isDocumented = files.get(home.path)?.documented.get(home.name) === true
    return isDocumented ? [] : `${home.path} declares ${home.name} without a doc comment, and ${entryPoint} exports it`
  })
}

/** Follows re-exports to the file that declares a name; undefined if it has none. */
function declarationOf(
  path: string,
  name: string,
  files: ReadonlyMap<string, FileRead>,
): { path: string; name: string } | undefined {
  const file = files.get(path)
  if (file === undefined) return undefined
  if (file.documented.has(name)) return { path, name }
  const reexport = file.exports.find((one) => one.name === name && one.from !== undefined)
  return reexport?.from === undefined ? undefined : declarationOf(reexport.from, reexport.original, files)
}
