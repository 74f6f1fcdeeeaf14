/** Builds an application of Next with a route that uses a vault, and asks the route. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { installProject } from './installed-project.ts'
import type { PackedPackage } from './packed-package.ts'
import { TOP, type Trial } from './trial.ts'

/** Runs the check. It needs the registry. */
export function checkNext(trial: Trial, { tarball }: PackedPackage): void {
  const packages = [tarball, 'better-sqlite3@13', 'next@16', 'react@19', 'react-dom@19']
  const project = installProject(trial, 'next', { packages })
  if (project === undefined) return
  cpSync(join(TOP, 'test/package/next'), project.folder, { recursive: true })
  if (!project.run('Next builds', 'node', ['node_modules/next/dist/bin/next', 'build'])) return
  project.run('the route of Next uses a vault in SQLite', 'node', ['serve.mjs'])
}
