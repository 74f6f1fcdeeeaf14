/** Runs the command of the packed package as a person does in a folder of their own: its first vault, and configurations that only jiti reads. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PackedPackage } from './packed-package.ts'
import { createProject, type Project } from './project.ts'
import type { Trial } from './trial.ts'

const COMMAND = 'node_modules/strongroom/dist/cli/strongroom.js'
const CONFIG = 'strongroom.config.ts'

/** Runs the check with the Node of the repository. */
export function checkCommand(trial: Trial, packed: PackedPackage): void {
  const project = createProject(trial, packed, 'command', { packages: ['better-sqlite3'] })
  runFirstVault(project, 'Node of the repository', 'node')
}

/** Makes a vault, and reads it by a configuration that Node reads, and by one that only jiti does: both must find the one copy of the library. */
export function runFirstVault(project: Project, runtime: string, node: string): void {
  const use = (what: string, args: readonly string[]) => project.run(`${runtime}: ${what}`, node, [COMMAND, ...args])
  use('the command prints help', ['--help'])
  if (!use('the command makes a vault', ['init', '--yes'])) return
  use('the command reads it', ['get', 'customers'])
  const config = readFileSync(join(project.folder, CONFIG), 'utf8')
  project.write('enum.config.ts', `enum Port { Own = 8420 }\n${config.replace('port: 8420', 'port: Port.Own')}`)
  use('the command reads it by a configuration with an enum', ['get', 'customers', '--config', 'enum.config.ts'])
}
