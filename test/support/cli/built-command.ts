/** The command, the entry points and programs of tests, bundled once for all tests of the same sources: a process of one starts in half the time that it takes with one file for each module. */
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { builtName, ENTRY_POINTS } from '../../../scripts/entry-points.ts'

const TOP = fileURLToPath(new URL('../../../', import.meta.url))
/** Below `node_modules`, where its packages are found. */
const CACHE = join(TOP, 'node_modules/.cache/command')
const OLD_MS = 60 * 60_000
const HOST = 'test/support/cli/command-host.ts'

/** Packages of many modules, each of which Node would find, read and link at each start. */
const INLINED = ['kysely', 're2js', 'uuid', 'zod']

const COMMON = {
  absWorkingDir: TOP,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  external: packagesBut(INLINED).flatMap((name) => [name, `${name}/*`]),
  logLevel: 'error',
} as const

let built: string | undefined
let processes: string | undefined

/** Returns the arguments of Node that run the command. */
export function builtCommand(): readonly string[] {
  return [...builtPackage(), join(bundle(), 'strongroom.js')]
}

/** Returns the process that runs lines of the command, and the arguments of Node before it. */
export function builtHost(): { readonly file: string; readonly execArgv: readonly string[] } {
  return { file: join(bundle(), 'command-host.js'), execArgv: builtPackage() }
}

/** Returns the arguments of Node before a program that imports the package by its name. */
export function builtPackage(): readonly string[] {
  return ['--import', pathToFileURL(join(bundle(), 'hooks.js')).href]
}

/** Returns a program that a test starts, bundled to one file. It is not for one that looks for other files beside itself. */
export function builtProcess(script: string): string {
  processes ??= join(CACHE, digestOf('src', 'test', 'benchmarks'))
  const file = join(processes, `${relative(TOP, script).replaceAll(/\W+/g, '-')}.mjs`)
  if (!existsSync(file)) {
    const own = `${file}.${process.pid}`
    buildSync({ ...COMMON, entryPoints: [script], outfile: own })
    renameSync(own, file)
  }
  return file
}

/** Returns the folder of the command and the entry points. */
function bundle(): string {
  if (built !== undefined) return built
  const folder = join(CACHE, digestOf('src', 'test/support/cli'))
  if (!existsSync(folder)) {
    mkdirSync(CACHE, { recursive: true })
    for (const name of readdirSync(CACHE))
      if (isOld(join(CACHE, name))) rmSync(join(CACHE, name), { recursive: true, force: true })
    bundleInto(folder)
  }
  built = folder
  return folder
}

/** Other processes can do the same at this time: the first to finish gives its folder the name. */
function bundleInto(folder: string): void {
  const own = `${folder}.${process.pid}`
  const entries = Object.entries(ENTRY_POINTS).map(([name, source]) => [`entry/${builtName(name)}`, source] as const)
  buildSync({
    ...COMMON,
    entryPoints: { ...Object.fromEntries(entries), strongroom: 'src/cli/strongroom.ts', 'command-host': HOST },
    outdir: own,
    // One copy of the library: what a configuration imports is what the command uses.
    splitting: true,
  })
  const files = Object.keys(ENTRY_POINTS).map((name) => [
    `strongroom${name.slice(1)}`,
    pathToFileURL(join(folder, 'entry', `${builtName(name)}.js`)).href,
  ])
  const hooks = `import { registerHooks } from 'node:module'
const files = new Map(${JSON.stringify(files)})
registerHooks({ resolve: (specifier, context, next) => next(files.get(specifier) ?? specifier, context) })
`
  writeFileSync(join(own, 'hooks.js'), hooks)
  // Or Node would look at each file for what it is.
  writeFileSync(join(own, 'package.json'), '{ "type": "module" }')
  // Beside the built files, as the package has it.
  symlinkSync(join(TOP, 'dist/console'), join(own, 'console'), 'junction')
  try {
    renameSync(own, folder)
  } catch {
    rmSync(own, { recursive: true, force: true })
  }
}

/** What changes when a source does: paths, lengths and times. */
function digestOf(...sources: readonly string[]): string {
  const hash = createHash('sha256')
  for (const source of sources) {
    for (const name of readdirSync(join(TOP, source), { recursive: true, encoding: 'utf8' }).sort()) {
      const { size, mtimeMs } = statSync(join(TOP, source, name))
      hash.update(`${name} ${size} ${mtimeMs}\n`)
    }
  }
  return hash.digest('hex').slice(0, 16)
}

/** Returns the packages that are installed for the repository, without some. */
function packagesBut(others: readonly string[]): string[] {
  const manifest = JSON.parse(readFileSync(join(TOP, 'package.json'), 'utf8')) as Readonly<Record<string, object>>
  const names = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'].flatMap((kind) =>
    Object.keys(manifest[kind] ?? {}),
  )
  return names.filter((name) => !others.includes(name))
}

function isOld(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && Date.now() - found.mtimeMs > OLD_MS
}
