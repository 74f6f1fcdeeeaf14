/** Installs the tarball from the registry's point of view, as an application does, and uses it on each runtime that is supported. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { required } from '../../src/core/util/at.ts'
import type { PackedPackage } from './packed-package.ts'
import { emptyProject, type Project } from './project.ts'
import { TOP, type Trial } from './trial.ts'

const manifestShape = z.object({
  engines: z.object({ node: z.string() }),
  devDependencies: z.record(z.string(), z.string()),
})
const manifest = manifestShape.parse(JSON.parse(readFileSync(join(TOP, 'package.json'), 'utf8')))

/** The oldest Node that `engines` names, and the newest of the line after the one that the tests run on. */
const NODES = [required(/^>=(\d+\.\d+)$/.exec(manifest.engines.node)?.[1], 'engines.node in the form >=22.1'), '26']
const PROGRAMS = ['programs/use-vault.mjs', 'programs/memory.mjs', 'programs/sqlite.mjs']

/** Runs the checks. They need the registry. */
export function checkRuntimes(trial: Trial, packed: PackedPackage): void {
  const project = emptyProject(trial, 'installed', { files: PROGRAMS })
  if (!install(project, [packed.tarball, dev('better-sqlite3'), dev('jose')])) return
  for (const version of NODES) {
    const runtime = emptyProject(trial, `node-${version}`)
    // Without a patch this is the newest one; the oldest is meant exactly.
    const exact = version === NODES[0] ? `${version}.0` : version
    if (install(runtime, [`node@${exact}`])) use(project, `Node ${exact}`, [join(runtime.folder, 'node_modules/.bin/node')])
  }
  use(project, 'Node of the repository', ['node'])
  const deno = emptyProject(trial, 'deno')
  if (install(deno, ['deno@2'])) use(project, 'Deno', [join(deno.folder, 'node_modules/.bin/deno'), 'run', '--allow-all'])
}

/** Returns a development dependency of the repository with its version. */
function dev(name: string): string {
  return `${name}@${required(manifest.devDependencies[name], `${name} in devDependencies`)}`
}

/** Installs packages into a project. */
export function install(project: Project, packages: readonly string[]): boolean {
  const names = packages.map((one) => one.split('/').at(-1)).join(', ')
  const options = ['--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
  return project.run(`npm installs ${names}, which needs the registry`, 'npm', ['install', ...options, ...packages])
}

/** Uses vaults of the installed package on a runtime. */
function use(project: Project, name: string, [command = '', ...args]: readonly string[]): void {
  project.run(`${name} uses a vault in memory`, command, [...args, 'memory.mjs'])
  project.run(`${name} uses a vault in SQLite`, command, [...args, 'sqlite.mjs'])
}
