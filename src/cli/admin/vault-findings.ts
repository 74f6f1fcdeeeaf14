/** What will hurt about a vault as it is stored: keys, jobs, scans, credentials, clocks, and what the schema of the configuration would change. */
import type { AnyVault } from '../config/any-vault.ts'
import type { Config } from '../config/define-config.ts'
import { timeOf } from '../output/cells.ts'
import { isKnownRole, listAll, stateOf } from './credentials.ts'
import type { Finding } from './finding.ts'
import { SOON_MS } from './status.ts'

/** A stored time that is further ahead was written by a clock that is not this one. */
const MAX_AHEAD_MS = 60_000

export async function findInVault(vault: AnyVault, config: Config, signal: AbortSignal): Promise<readonly Finding[]> {
  return [
    ...(await findInKeys(vault, signal)),
    ...(await findInWork(vault, config)),
    ...(await findInCredentials(vault, config)),
    ...(await findInSchema(vault, config, signal)),
  ]
}

function warning(finding: string, remedy: string): Finding {
  return { level: 'warning', finding, remedy }
}

async function findInKeys(vault: AnyVault, signal: AbortSignal): Promise<readonly Finding[]> {
  const { keys, isRotating, stragglers } = await vault.keys({ signal })
  const newest = keys.reduce((latest, { since }) => Math.max(latest, since), 0)
  return [
    ...(isRotating ? [warning('a rotation of keys has not ended', 'strongroom keys rotate goes on with it')] : []),
    ...stragglers.map(({ process, openedAt }) =>
      warning(
        `${process}, open since ${timeOf(openedAt)}, does not know the newest key`,
        'it learns it with its next write; restart it if it only reads',
      ),
    ),
    ...(newest > Date.now() + MAX_AHEAD_MS
      ? [warning(`a key is of ${timeOf(newest)}, which is in the future`, 'synchronize the clocks of all machines by NTP')]
      : []),
  ]
}

async function findInWork(vault: AnyVault, config: Config): Promise<readonly Finding[]> {
  const overdue = (await vault.maintenance()).filter(({ isOverdue }) => isOverdue)
  const { files } = await vault.contents()
  const isScanned = config.vault.scanner !== undefined
  return [
    ...overdue.map(({ job, process }) =>
      warning(`${job} of ${process} ended before it was done`, 'run it again: it goes on where it was'),
    ),
    ...(isScanned && files.due > 0
      ? [warning(`${files.due} files wait for their scan`, 'see that a server with the scanner runs')]
      : []),
    ...(isScanned && files.failed > 0
      ? [warning(`the last scan of ${files.failed} files failed`, 'see that clamd answers')]
      : []),
  ]
}

async function findInCredentials(vault: AnyVault, config: Config): Promise<readonly Finding[]> {
  const session = vault.as({ actor: 'strongroom doctor', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] })
  const now = Date.now()
  return (await listAll(session, config))
    .filter((one) => stateOf(one, now) === 'valid')
    .flatMap(({ keyId, roles, expiresAt = Number.POSITIVE_INFINITY }) => [
      ...(expiresAt < now + SOON_MS
        ? [warning(`credential ${keyId} ends at ${timeOf(expiresAt)}`, 'create another one, and revoke this one')]
        : []),
      ...roles
        .filter((role) => !isKnownRole(config, role))
        .map((role) =>
          warning(
            `credential ${keyId} has role ${role}, which the policy does not define`,
            'add the role, or revoke the credential',
          ),
        ),
    ])
}

async function findInSchema(vault: AnyVault, config: Config, signal: AbortSignal): Promise<readonly Finding[]> {
  const { steps, refusals, leftOut } = await vault.planSchemaChange(config.vault.schema, {}, { signal })
  const larger = steps.filter(({ kind }) => kind !== 'now')
  const small = steps.length - larger.length
  const named = ({ table, column }: { readonly table: string; readonly column?: string }) =>
    column === undefined ? `table ${table}` : `column ${column} of table ${table}`
  return [
    ...refusals.map(
      ({ reason }): Finding => ({ level: 'unsafe', finding: reason, remedy: 'a server with this schema does not start' }),
    ),
    ...(larger.length > 0
      ? [
          warning(
            `the schema of the configuration needs ${larger.length} steps that take more than an opening does, so a server with it does not start`,
            'strongroom schema plan, then strongroom schema apply',
          ),
        ]
      : []),
    ...(small > 0
      ? [warning(`the schema of the configuration makes ${small} changes when a server starts`, 'strongroom schema plan')]
      : []),
    ...leftOut.map((place) =>
      warning(
        `${named(place)} is stored and left out of the schema of the configuration: ${place.rows} records`,
        'correct its name, or strongroom schema apply --keep',
      ),
    ),
  ]
}
