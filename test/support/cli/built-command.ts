/** The command and the entry points, bundled once for all tests of the same sources: a process of it starts in half the time that it takes with one file for each module. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { builtName, ENTRY_POINTS } from '../../../scripts/entry-points.ts'

const TOP = fileURLToPath(new URL('../../../', import.meta.url))
/** Below `node_modules`, where its packages are found. */
const CACHE = join(TOP, 'node_modules/.cache/command')
const OLD_MS = 60 * 60_000

let built: readonly string[] | undefined

/** Returns the arguments of Node that run the command. */
export function builtCommand(): readonly string[] {
  built ??= bundle()
  return built
}

function bundle(): readonly string[] {
  const folder = join(CACHE, digestOf(join(TOP, 'src')))
  if (!existsSync(folder)) {
    mkdirSync(CACHE, { recursive: true })
    for (const name of readdirSync(CACHE))
      if (isOld(join(CACHE, name))) rmSync(join(CACHE, name), { recursive: true, force: true })
    bundleInto(folder)
  }
  return ['--import', pathToFileURL(join(folder, 'hooks.js')).href, join(folder, 'strongroom.js')]
}

/** Other processes can do the same at this time: the first to finish gives its folder the name. */
function bundleInto(folder: string): void {
  const own = `${folder}.${process.pid}`
  const entries = Object.entries(ENTRY_POINTS).map(([name, source]) => [`entry/${builtName(name)}`, source] as const)
  buildSync({
    absWorkingDir: TOP,
    entryPoints: { ...Object.fromEntries(entries), strongroom: 'src/cli/strongroom.ts' },
    outdir: own,
    bundle: true,
    format: 'esm',
    // One copy of the library: what a configuration imports is what the command uses.
    splitting: true,
    platform: 'node',
    target: 'node22',
    packages: 'external',
    logLevel: 'error',
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
  // Beside the built files, as the package has it.
  symlinkSync(join(TOP, 'dist/console'), join(own, 'console'), 'junction')
  try {
    renameSync(own, folder)
  } catch {
    rmSync(own, { recursive: true, force: true })
  }
}

/** What changes when a source does: paths, lengths and times. */
function digestOf(folder: string): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    const { size, mtimeMs } = statSync(join(folder, name))
    hash.update(`${name} ${size} ${mtimeMs}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

function isOld(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && Date.now() - found.mtimeMs > OLD_MS
}
