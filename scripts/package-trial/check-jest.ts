/** Runs Jest in a CommonJS project: it can require no ES module, so everything that is loaded must exist as CommonJS. */
import { join } from 'node:path'
import { writeAsCommonJs } from './check-entry-points.ts'
import type { PackedPackage } from './packed-package.ts'
import { createProject } from './project.ts'
import { MODULES, type Trial } from './trial.ts'

/** Runs the check. */
export function checkJest(trial: Trial, packed: PackedPackage): void {
  const project = createProject(trial, packed, 'jest', {
    type: 'commonjs',
    packages: ['better-sqlite3'],
    files: ['programs/vaults.test.js', 'programs/shared-transaction.test.js'],
  })
  writeAsCommonJs(project, ['use-vault'])
  const jest = [join(MODULES, 'jest/bin/jest.js'), '--runInBand', '--ci']
  project.run('Jest tests vaults in a CommonJS project', 'node', ['--expose-gc', ...jest])
}
