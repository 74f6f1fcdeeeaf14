/** Installs the tarball as an application does, and uses it on the runtimes that are supported: the oldest Node, the newest, Deno, Bun. */
import { join } from 'node:path'
import { runFirstVault } from './check-command.ts'
import { installNode, installProject } from './installed-project.ts'
import { DRIVER_VERSION, OLDEST_NODE } from './package-manifest.ts'
import type { PackedPackage } from './packed-package.ts'
import { createProject, type Project } from './project.ts'
import { MODULES, type Trial } from './trial.ts'

const NEWEST_NODE = '26'
const DENO = '2.9.6'

/** Runs the checks. They need the registry. */
export function checkRuntimes(trial: Trial, packed: PackedPackage): void {
  const project = installProject(trial, 'application', { packages: [packed.tarball, `better-sqlite3@${DRIVER_VERSION}`] })
  if (project === undefined) return
  use(project, 'Node of the repository', ['node'])
  for (const version of [OLDEST_NODE, NEWEST_NODE]) {
    const node = installNode(trial, version)
    if (node === undefined) continue
    use(project, `Node ${version}`, [node.program])
    const folder = createProject(trial, packed, `command-${version}`, { packages: ['better-sqlite3'] })
    runFirstVault(folder, `Node ${version}`, node.program)
  }
  const deno = installProject(trial, 'deno', { packages: [`deno@${DENO}`] })
  if (deno !== undefined) use(project, 'Deno', [join(deno.folder, 'node_modules/.bin/deno'), 'run', '--allow-all'])
  use(project, 'Bun', [join(MODULES, '.bin/bun')])
}

/** Uses vaults of the installed package on a runtime. */
function use(project: Project, runtime: string, [command = '', ...args]: readonly string[]): void {
  project.run(`${runtime} uses a vault in memory`, command, [...args, 'memory.mjs'])
  project.run(`${runtime} uses a vault in SQLite`, command, [...args, 'sqlite.mjs'])
}
