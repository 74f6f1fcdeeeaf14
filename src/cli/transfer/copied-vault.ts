/** What the commands that copy whole vaults have in common: storages without a key, the verification of a copy, and what is not in it. */
import type { StorageHandle } from '../../storage-port.ts'
import type { CommandRun } from '../command.ts'
import type { StorageConfig } from '../config/define-config.ts'
import { openStorage, openVault } from '../config/open-vault.ts'
import { EXIT } from '../failure.ts'

const NOT_VERIFIED =
  'It was not verified: `strongroom audit verify` verifies the trail later, and `vault.verifyRecords` the records.'

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

/** Opens a copy with the keys of the configuration, and verifies it, unless `--skip-verify`. Returns what was found, the line about it, and the exit code. */
export async function verifyCopy(run: CommandRun, storage?: StorageConfig) {
  const { options, output, signal, environment } = run
  if (options.isSet('skipVerify')) return { verified: null, line: NOT_VERIFIED, exitCode: EXIT.done }
  const loaded = await run.loadConfig()
  const vaultConfig = storage === undefined ? loaded.config.vault : { ...loaded.config.vault, storage }
  const vault = await openVault(
    { ...loaded, config: { ...loaded.config, vault: vaultConfig } },
    { environment, note: output.note },
  )
  try {
    const { ok: records } = await vault.verifyRecords({ signal, onProgress: output.progress('records verified') })
    const { ok: audit } = await vault.verifyAudit({ signal, onProgress: output.progress('events verified') })
    const verified = { records, audit }
    if (records && audit) return { verified, line: 'All records and the audit trail were verified.', exitCode: EXIT.done }
    const damaged = [records ? '' : 'records', audit ? '' : 'audit trail'].filter(Boolean).join(' and ')
    return { verified, line: `It was verified, and damage was found: ${damaged}.`, exitCode: EXIT.found }
  } finally {
    await vault.close()
  }
}

/** Says what is outside the database, and so in no copy of it. */
export async function noteContents({ loadConfig, output }: CommandRun, sentence: string): Promise<void> {
  const { config } = await loadConfig()
  if (config.vault.blobs !== undefined) output.note(`The contents of files are in vault.blobs, outside the database. ${sentence}`)
}
