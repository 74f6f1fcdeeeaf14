/** Loads every entry point and uses vaults in a project, with what `import` loads and with what `require` loads. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import { builtName, ENTRY_POINTS } from '../entry-points.ts'
import type { PackedPackage } from './packed-package.ts'
import { createProject, type Project } from './project.ts'
import { NAME, TOP, type Trial } from './trial.ts'

/** Entry points that need an optional peer dependency, and its name. */
const OPTIONAL_PEERS: Readonly<Record<string, readonly string[]>> = {
  './sqlite': ['better-sqlite3'],
  './postgres': ['pg'],
  './opentelemetry': ['@opentelemetry/api'],
}

/** Runs the checks: first without optional peers, then with them. */
export function checkEntryPoints(trial: Trial, packed: PackedPackage): void {
  const names = Object.keys(ENTRY_POINTS)
  const bare = createProject(trial, packed, 'without-peers', {
    files: ['programs/entry-points.mjs', 'programs/use-vault.mjs', 'programs/memory.mjs', 'programs/console.mjs'],
  })
  load(
    bare,
    names.filter((name) => OPTIONAL_PEERS[name] === undefined),
  )
  bare.run('a vault in memory is used by import', 'node', ['memory.mjs'])
  bare.run('the console is served by import', 'node', ['console.mjs'])
  writeAsCommonJs(bare, ['console'])
  bare.run('the console is served by require', 'node', ['console.cjs'])
  const whole = createProject(trial, packed, 'with-peers', {
    packages: [...Object.values(OPTIONAL_PEERS).flat(), 'kysely'],
    files: ['programs/entry-points.mjs', 'programs/use-vault.mjs', 'programs/sqlite.mjs', 'programs/host-transaction.mjs'],
  })
  load(whole, names)
  whole.run('a vault in SQLite is used by import', 'node', ['sqlite.mjs'])
  writeAsCommonJs(whole, ['use-vault', 'sqlite'])
  whole.run('a vault in SQLite is used by require', 'node', ['sqlite.cjs'])
  whole.run("a vault joins a transaction of the application's Kysely", 'node', ['host-transaction.mjs'])
}

/** Loads entry points both ways, and compares their exports. */
function load(project: Project, entryPoints: readonly string[]): void {
  const specifiers = entryPoints.map((entryPoint) => join(NAME, entryPoint))
  project.run(`the entry points ${entryPoints.map(builtName).join(', ')} load`, 'node', ['entry-points.mjs', ...specifiers])
}

/** Writes programs of `test/package/programs` into a project as CommonJS. */
export function writeAsCommonJs(project: Project, programs: readonly string[]): void {
  for (const program of programs) {
    const text = readFileSync(join(TOP, `test/package/programs/${program}.mjs`), 'utf8')
    const { code } = transformSync(asFunction(text), { format: 'cjs' })
    project.write(`${program}.cjs`, code.replaceAll(/require\("(\.\/[\w-]+)\.mjs"\)/g, 'require("$1.cjs")'))
  }
}

/** CommonJS has no await outside of functions. */
function asFunction(text: string): string {
  const [imports = '', ...rest] = text.split(/\n(?=await )/)
  return rest.length === 0 ? text : `${imports}\nvoid (async () => {\n${rest.join('\n')}\n})()`
}
