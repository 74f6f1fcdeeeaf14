/** Uses vaults with the other major versions of the SQLite driver that the package accepts. They are compiled with the headers of this Node. */
import { installNode, installProject } from './installed-project.ts'
import { OTHER_DRIVER_VERSIONS } from './package-manifest.ts'
import type { PackedPackage } from './packed-package.ts'
import type { Trial } from './trial.ts'

/** Runs the checks. They need the registry and a C++ compiler. */
export function checkDriverVersions(trial: Trial, { tarball }: PackedPackage): void {
  if (OTHER_DRIVER_VERSIONS.length === 0) return
  const node = installNode(trial, process.versions.node)
  if (node === undefined) return
  const env = { npm_config_nodedir: node.headers, npm_config_build_from_source: 'true' }
  for (const version of OTHER_DRIVER_VERSIONS) {
    const packages = [tarball, `better-sqlite3@${version}`]
    const project = installProject(trial, `better-sqlite3-${version}`, { packages, mayRun: ['better-sqlite3'], env })
    project?.run(`better-sqlite3 ${version} keeps a vault in SQLite`, 'node', ['sqlite.mjs'])
  }
}
