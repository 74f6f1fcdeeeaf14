/** Uses vaults with the other major versions of the SQLite driver that the package accepts, on the oldest Node: they are compiled for it. */
import { spawnSync } from 'node:child_process'
import { installNode, installProject } from './installed-project.ts'
import { OLDEST_NODE, OTHER_DRIVER_VERSIONS } from './package-manifest.ts'
import type { PackedPackage } from './packed-package.ts'
import type { Trial } from './trial.ts'

/** Runs the checks. They need the registry and a C++ compiler; without a compiler they are skipped, and a line says so. */
export function checkDriverVersions(trial: Trial, { tarball }: PackedPackage): void {
  if (OTHER_DRIVER_VERSIONS.length === 0) return
  if (spawnSync('c++', ['--version']).status !== 0) {
    console.log(`note: there is no C++ compiler here; better-sqlite3 ${OTHER_DRIVER_VERSIONS.join(', ')} is not tried`)
    return
  }
  // The headers of later versions end the process with these drivers: docs/decisions/0047-two-sqlite-drivers.md.
  const node = installNode(trial, OLDEST_NODE)
  if (node === undefined) return
  const env = { npm_config_nodedir: node.headers, npm_config_build_from_source: 'true' }
  for (const version of OTHER_DRIVER_VERSIONS) {
    const packages = [tarball, `better-sqlite3@${version}`]
    const project = installProject(trial, `better-sqlite3-${version}`, { packages, mayRun: ['better-sqlite3'], env })
    project?.run(`better-sqlite3 ${version} keeps a vault in SQLite on Node ${OLDEST_NODE}`, node.program, ['sqlite.mjs'])
  }
}
