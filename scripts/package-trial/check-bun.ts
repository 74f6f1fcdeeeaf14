/** Uses a vault in Bun, which is a development dependency. */
import { join } from 'node:path'
import type { PackedPackage } from './packed-package.ts'
import { createProject } from './project.ts'
import { MODULES, type Trial } from './trial.ts'

/** Runs the check. */
export function checkBun(trial: Trial, packed: PackedPackage): void {
  const project = createProject(trial, packed, 'bun', { files: ['programs/use-vault.mjs', 'programs/memory.mjs'] })
  project.run('Bun uses a vault in memory', join(MODULES, '.bin/bun'), ['memory.mjs'])
}
