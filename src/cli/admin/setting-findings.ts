/** What is unsafe about the settings of a configuration, its policy, the runtime and the engine of the storage. */
import process from 'node:process'
import type { LoadedConfig } from '../config/load-config.ts'
import type { SecretSource } from '../config/secrets.ts'
import type { Finding } from './finding.ts'
import { findFaults } from './policy.ts'
import { LOCAL_HOSTS, readStorageDetails } from './storage-details.ts'

/** A clock that is off by more makes times of events and expiries wrong. */
const MAX_SKEW_MS = 5000

export function findInSettings({ config }: Pick<LoadedConfig, 'config'>): readonly Finding[] {
  const { vault, http, server } = config
  const findings: Finding[] = []
  const unsafe = (finding: string, remedy: string) => void findings.push({ level: 'unsafe', finding, remedy })
  const warn = (finding: string, remedy: string) => void findings.push({ level: 'warning', finding, remedy })
  if (vault.audit === 'off')
    unsafe('the audit trail is off, so no one can say who read what', "remove vault.audit, or set it to 'on'")
  if (typeof vault.storage === 'object' && 'sqlite' in vault.storage && vault.storage.sqlite.synchronous === 'normal')
    unsafe('synchronous is normal: the last commits are lost when the power fails', "remove it, or set it to 'full'")
  const { host = '127.0.0.1' } = server ?? {}
  if (!LOCAL_HOSTS.has(host) && server?.tls === undefined && http?.trustedProxies === undefined)
    unsafe(
      `the server listens at ${host} without TLS, so credentials cross the network in the clear`,
      'set server.tls, or http.trustedProxies for the proxy that ends TLS',
    )
  const { keys } = vault
  if (typeof keys === 'object' && 'transit' in keys && keys.transit.url.startsWith('http:'))
    unsafe('the key service is asked without TLS', 'use an https: address in vault.keys.transit.url')
  if (
    typeof keys === 'object' &&
    (('file' in keys && (keys.olderFiles ?? []).length > 0) || ('env' in keys && (keys.olderEnvs ?? []).length > 0))
  )
    warn('older keys are still configured', 'strongroom keys rewrap, then remove them and destroy them')
  const hasFiles = Object.values(vault.schema.tables).some((columns) =>
    Object.values(columns).some(({ type }) => type === 'FILE'),
  )
  if (hasFiles && vault.scanner === undefined) warn('files are stored without being scanned', 'set vault.scanner')
  if (!isSupported(process.versions.node))
    unsafe(`Node ${process.versions.node} is not supported`, 'use Node 22.14 or later of 22, or 24 or later')
  return findings
}

/** The versions of `engines` in package.json. */
export function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major >= 24 || (major === 22 && minor >= 14)
}

/** A statement that is wrong keeps servers from starting; one that decides nothing is often a slip. */
export async function findInPolicy({ config }: Pick<LoadedConfig, 'config'>): Promise<readonly Finding[]> {
  return (await findFaults(config)).map(({ role, statement, finding }) => {
    const isIdle = finding.startsWith('decides nothing')
    return {
      level: isIdle ? 'warning' : 'unsafe',
      finding: isIdle ? `statement ${statement} of role ${role} ${finding}` : finding,
      remedy: isIdle ? 'remove it, or correct it' : 'correct vault.policy: servers do not start with it',
    }
  })
}

/** What the engine says. The vault was opened before, so it can be reached. */
export async function findInStorage(loaded: LoadedConfig, environment: SecretSource['environment']): Promise<readonly Finding[]> {
  const { postgres } = await readStorageDetails(loaded, environment)
  if (postgres === undefined) return []
  const findings: Finding[] = []
  const unsafe = (finding: string, remedy: string) => void findings.push({ level: 'unsafe', finding, remedy })
  const warn = (finding: string, remedy: string) => void findings.push({ level: 'warning', finding, remedy })
  if (postgres.fsync !== 'on') unsafe('PostgreSQL runs with fsync off: a crash can lose the database', 'set fsync = on')
  if (postgres.synchronousCommit === 'off')
    unsafe('PostgreSQL commits asynchronously: a crash loses the last commits', 'set synchronous_commit = on')
  if (postgres.isSuperuser)
    warn('the vault connects as a superuser of PostgreSQL', 'connect as a role that owns the schema of the vault alone')
  if (!postgres.isEncrypted && !postgres.isLocal)
    unsafe('the connection to PostgreSQL is not encrypted', 'add sslmode=verify-full to its address')
  if (Math.abs(postgres.clockAheadMs) > MAX_SKEW_MS)
    warn(
      `the clocks of this machine and of PostgreSQL differ by ${Math.round(postgres.clockAheadMs / 1000)} s`,
      'synchronize both by NTP',
    )
  return findings
}
