/** What the commands that copy whole vaults have in common: storages without a key, the verification of a copy, and what is not in it. */
import type { StorageHandle } from '../../storage-port.ts'
import type { CommandRun } from '../command.ts'
import type { StorageConfig } from '../config/define-config.ts'
import { openStorage, openVault } from '../config/open-vault.ts'

/** Runs work with the storage of the configuration, or another one, and closes it. */
export async function withStorage<T>(
  { loadConfig, environment }: CommandRun,
  work: (storage: StorageHandle) => Promise<T>,
  other?: StorageConfig,
): Promise<T> {
  const { config, pathOf } = await loadConfig()
  const storage = await openStorage(other ?? config.vault.storage, { environment, pathOf })
  try {
    return await work(storage)
  } finally {
    await storage.close()
  }
}

/** Options of a copy that a line has. */
export function copyOptions({ options, output, signal }: CommandRun) {
  const pace = options.integer('pace', { min: 1 })
  return { signal, onProgress: output.progress('rows'), ...(pace !== undefined && { pace }) }
}

/** What was found in a copy. */
export interface VerifiedCopy {
  readonly records: boolean
  readonly audit: boolean
}

/** Opens a copy with the keys of the configuration, and verifies it. Undefined with `--skip-verify`. */
export async function verifyCopy(run: CommandRun, storage?: StorageConfig): Promise<VerifiedCopy | undefined> {
  const { options, output, signal, environment } = run
  if (options.isSet('skipVerify')) return undefined
  const loaded = await run.loadConfig()
  const vaultConfig = storage === undefined ? loaded.config.vault : { ...loaded.config.vault, storage }
  const vault = await openVault(
    { ...loaded, config: { ...loaded.config, vault: vaultConfig } },
    { environment, note: output.note },
  )
  try {
    const records = await vault.verifyRecords({ signal, onProgress: output.progress('records verified') })
    const audit = await vault.verifyAudit({ signal, onProgress: output.progress('events verified') })
    return { records: records.ok, audit: audit.ok }
  } finally {
    await vault.close()
  }
}

/** Returns the line about a verification. */
export function verifiedLine(verified: VerifiedCopy | undefined): string {
  if (verified === undefined)
    return 'It was not verified: `strongroom audit verify` verifies the trail later, and `vault.verifyRecords` the records.'
  const { records, audit } = verified
  return records && audit
    ? 'All records and the audit trail were verified.'
    : `It was verified, and damage was found: ${[records ? '' : 'records', audit ? '' : 'audit trail'].filter(Boolean).join(' and ')}.`
}

/** Says what is outside the database, and so in no copy of it. */
export async function noteContents({ loadConfig, output }: CommandRun, sentence: string): Promise<void> {
  const { config } = await loadConfig()
  if (config.vault.blobs !== undefined) output.note(`The contents of files are in vault.blobs, outside the database. ${sentence}`)
}
