/** Calls what needs an optional package in a project that has none: each error names the command that installs it. */
import { spawnSync } from 'node:child_process'
import type { PackedPackage } from './packed-package.ts'
import { createProject } from './project.ts'
import type { Trial } from './trial.ts'

/** The functions of the program, and the packages they need. */
const NEEDED = {
  sqliteStorage: 'better-sqlite3',
  postgresStorage: 'pg',
  awsKmsKeys: '@aws-sdk/client-kms',
  pkcs11Keys: 'pkcs11js',
  s3Blobs: '@aws-sdk/client-s3',
  openTelemetry: '@opentelemetry/api',
}

/** Runs the check. */
export function checkMissingPackages(trial: Trial, packed: PackedPackage): void {
  const project = createProject(trial, packed, 'missing-packages', { files: ['missing-packages.ts'] })
  const { stdout, stderr } = spawnSync('node', ['missing-packages.ts'], { cwd: project.folder, encoding: 'utf8' })
  const lines = stdout.split('\n')
  for (const [name, needed] of Object.entries(NEEDED)) {
    const line = lines.find((one) => one.startsWith(`{"name":"${name}"`)) ?? ''
    if (!line.includes(`Run: npm install ${needed}.`))
      trial.fail(`${name} without ${needed} does not name its installation: ${line}${stderr}`)
  }
}
