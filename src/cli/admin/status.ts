/** What a vault is made of and holds: `status`, and what runs in it and below it: `maintenance` and `purge-disk`. */
import process from 'node:process'
import type { CommandRun, CommandWork } from '../command.ts'
import type { AnyVault } from '../config/any-vault.ts'
import type { Config } from '../config/define-config.ts'
import { timeOf } from '../output/cells.ts'
import { VERSION } from '../version.ts'
import { watch } from '../watch.ts'
import { listAll, stateOf } from './credentials.ts'
import { readStorageDetails, sizeOf } from './storage-details.ts'

/** Credentials that end within this time are shown. */
export const SOON_MS = 14 * 24 * 60 * 60_000

/** The work of `strongroom status`. */
export const status: CommandWork = async (run) => {
  run.output.result(await readStatus(run), linesOf)
  return undefined
}

type Status = Awaited<ReturnType<typeof readStatus>>

async function readStatus(run: CommandRun) {
  const loaded = await run.loadConfig()
  const { config, file } = loaded
  const vault = await run.openVault()
  const storage = await readStorageDetails(loaded, run.environment)
  const { keys, isRotating, stragglers, fingerprint } = await vault.keys()
  return {
    strongroom: VERSION,
    node: process.versions.node,
    config: file,
    vault: vault.id,
    fingerprint,
    storage,
    keys: keys.map(({ version, state, since }) => ({ version, state, since: timeOf(since) })),
    isRotating,
    stragglers: stragglers.map(({ process: name, openedAt }) => ({ process: name, openedAt: timeOf(openedAt) })),
    ...(await vault.contents()),
    isScanned: config.vault.scanner !== undefined,
    isAudited: config.vault.audit !== 'off',
    jobs: (await vault.maintenance()).length,
    credentials: await countCredentials(vault, config),
    schemaChanges: await countSchemaChanges(vault, config.vault.schema),
  }
}

/** Counts the changes that the schema of the configuration would make. */
async function countSchemaChanges(vault: AnyVault, schema: Config['vault']['schema']): Promise<number> {
  const { steps, refusals } = await vault.planSchemaChange(schema, {}, { readsRecords: false })
  return steps.length + refusals.length
}

function linesOf(status: Status): readonly string[] {
  const { storage, keys, records, files, audit, stragglers, credentials } = status
  const line = (name: string, text: string) => `${name.padEnd(12)} ${text}`
  const count = (value: number) => value.toLocaleString('en-US')
  const engine = [storage.engine, storage.version, storage.driver && `(${storage.driver})`].filter(Boolean).join(' ')
  const size = storage.bytes === undefined ? '' : `, ${sizeOf(storage.bytes)}`
  const scans = `${count(files.due)} scans due, ${count(files.scanning)} running, ${count(files.failed)} failed`
  return [
    line('strongroom', `${status.strongroom}, Node ${status.node}`),
    line('config', status.config),
    line('vault', `${status.vault}, fingerprint ${status.fingerprint}`),
    line('storage', `${engine}${size}${storage.place === undefined ? '' : `, ${storage.place}`}`),
    ...keys.map(({ version, state, since }) => line('key', `${version} ${state} since ${since}`)),
    ...(status.isRotating ? [line('', 'a rotation has not ended')] : []),
    ...stragglers.map(({ process: name }) => line('', `${name} does not know the newest key`)),
    ...Object.entries(records).map(([table, many]) => line('records', `${count(many)} in ${table}`)),
    line('files', status.isScanned ? `${count(files.stored)}, ${scans}` : `${count(files.stored)}, not scanned`),
    line('transients', count(status.transients)),
    line('audit', `${status.isAudited ? 'on' : 'off'}, ${count(audit.events)} events in ${count(audit.chains)} chains`),
    line('jobs', count(status.jobs)),
    line('credentials', `${count(credentials.valid)} valid, ${credentials.endingSoon.length} end within 14 days`),
    line('schema', status.schemaChanges === 0 ? 'as configured' : `${status.schemaChanges} changes: strongroom schema plan`),
  ]
}

/** Counts credentials as the account that runs the command, which has the key of the vault. */
async function countCredentials(vault: AnyVault, config: Config) {
  const session = vault.as({ actor: 'strongroom status', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] })
  const now = Date.now()
  const valid = (await listAll(session, config)).filter((one) => stateOf(one, now) === 'valid')
  return {
    valid: valid.length,
    endingSoon: valid.flatMap((one) => ((one.expiresAt ?? Infinity) < now + SOON_MS ? [one.keyId] : [])),
  }
}

/** The work of `strongroom maintenance`. */
export const maintenance: CommandWork = async ({ openVault, output }) => {
  const jobs = await (await openVault()).maintenance()
  output.rows(
    jobs.map(({ job, table, done, total, startedAt, renewedAt, process: name, isOverdue }) => ({
      job,
      table: table ?? '',
      done,
      total: total ?? '',
      started: timeOf(startedAt),
      renewed: timeOf(renewedAt),
      process: name,
      state: isOverdue ? 'overdue' : 'running',
    })),
    'No slow work runs.',
  )
  return undefined
}

/** The work of `strongroom compact`. */
export const compact: CommandWork = async (run) => {
  const table = run.args[0]
  const vault = await run.openVault()
  await vault.compact({ ...watch(run, 'entries'), ...(table !== undefined && { table }) })
  run.output.result({ table: table ?? null }, () => 'Each sealed index is one part now, without keys of what was deleted.')
  return undefined
}

/** The work of `strongroom purge-disk`. */
export const purgeDisk: CommandWork = async (run) => {
  const { signal, onProgress } = watch(run, 'steps')
  const vault = await run.openVault()
  run.output.result(await vault.purgeDisk({ full: run.options.isSet('full'), signal, onProgress }), ({ done, remains }) => [
    ...done.map(({ text }) => text),
    'Bytes of what was deleted can remain in:',
    ...remains.map(({ what, text }) => `- ${what}: ${text}`),
  ])
  return undefined
}
