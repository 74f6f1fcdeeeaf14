/** Runs the first program of the README as it says: in the folder that `npm init -y` makes, under the name that it gives. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { required } from '../../src/core/util/lists.ts'
import type { PackedPackage } from './packed-package.ts'
import { createProject } from './project.ts'
import { TOP, type Trial } from './trial.ts'

/** Runs the check. Twice, because a newcomer does. */
export function checkFirstProgram(trial: Trial, packed: PackedPackage): void {
  const readme = readFileSync(join(TOP, 'README.md'), 'utf8')
  const [, name, program] = /Save this as `([\w.]+)`[^`]*`node \1`.*?```ts\n(.*?)```/s.exec(readme) ?? []
  // What `npm init -y` writes is CommonJS.
  const project = createProject(trial, packed, 'first-program', { type: 'commonjs', packages: ['better-sqlite3'] })
  const file = required(name, 'The name of the first program')
  project.write(file, required(program, 'The first program'))
  for (const run of ['first', 'second']) project.run(`the program of the README runs a ${run} time`, 'node', [file])
}
