/** The row of an import: how many records of its source are done, and their digest. It is stored with each batch, so that a record is stored once however often the import is run. */
import { fault, isVaultError, words } from '../errors.ts'
import type { Hash } from '../ports/crypto.ts'
import type { Storage, StorageReads } from '../ports/storage.ts'
import type { Clock } from '../ports/time.ts'
import { MAINTENANCE } from '../schema/system-tables.ts'
import { toHex, toUtf8 } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import { toSlab } from '../util/memory.ts'
import { nowMs } from '../util/time.ts'
import { findExclusive, type JobKeys, type JobState, openJobs, storeJob, UNLISTED } from './job-rows.ts'
import { LEASE_MS } from './run-row.ts'

/** Which import, of one vault. */
export interface ImportName {
  readonly table: string
  readonly name: string
}

/** Where an import is in its source. */
export interface ImportPosition {
  /** The records that are done: stored or rejected. */
  readonly records: number
  /** SHA-256 of their text as 64 hex digits. It never leaves the vault: with it, a guess of the source could be checked. */
  readonly digest: string
}

/** What is stored of an import beside its position. */
interface ImportState {
  readonly rejected: number
  readonly isEnded: boolean
  /** The records that were done before the last batch. */
  readonly lastFrom: number
  /** JSON of the records that the vault refused of the last batch: a process that was killed may not have passed them on. */
  readonly lastRejects: string
}

/** The place of an import as it is stored. */
export interface StoredImport extends ImportPosition, ImportState {
  readonly row: { readonly id: number; readonly version: number; readonly startedAt: number }
}

/** The place of an import to store, in place of the one before. */
export interface NextImport extends Omit<StoredImport, 'row'>, ImportName {
  /** Names the source for operators, such as the name of a file. */
  readonly source: string
  readonly processName: string
  readonly before: StoredImport | undefined
}

/** Hex digits of the digest by which the row of an import is found. */
const KEY_DIGITS = 40

/** Returns what the row is found by. A digest, because a name of a file can say something; without a key, because look-up keys are rotated. */
function keyOf(hash: Hash, { table, name }: ImportName): string {
  const text = toUtf8(`${table} ${name}`)
  return `import ${toHex(hash.sha256(toSlab([text]))).slice(0, KEY_DIGITS)}`
}

/** Returns the place of an import; undefined if it never stored one. Throws `data_loss` for a row that was changed in the database. */
export async function findImport(
  keys: JobKeys & { readonly hash: Hash },
  storage: StorageReads,
  which: ImportName,
): Promise<StoredImport | undefined> {
  const row = await findExclusive(storage, keyOf(keys.hash, which))
  if (row === undefined) return undefined
  const [state] = await openJobs(keys, storage, [row])
  if (state?.place === undefined)
    throw fault('data_loss', {
      table: which.table,
    })`The place of this import was changed in the database. Restore it, or the import can store records twice.`
  const { digest, rejected, isEnded, lastFrom, lastRejects } = state.place
  return {
    records: state.done,
    digest: String(digest),
    rejected: Number(rejected),
    isEnded: isEnded === true,
    lastFrom: Number(lastFrom),
    lastRejects: String(lastRejects),
    row: { id: row.id, version: row.version, startedAt: state.startedAt },
  }
}

/** Stores the place of an import, inside a transaction. Throws `failed_precondition` if another process stored one since it was read. */
export async function storeImport(
  ports: JobKeys & { readonly hash: Hash; readonly clock: Clock },
  transaction: Storage,
  { table, name, source, processName, before, records, digest, rejected, isEnded, lastFrom, lastRejects }: NextImport,
): Promise<void> {
  const now = nowMs(ports)
  const state: JobState = {
    job: 'importRecords',
    key: keyOf(ports.hash, { table, name }),
    process: processName,
    startedAt: before?.row.startedAt ?? now,
    renewedAt: now,
    leaseUntil: isEnded ? UNLISTED : now + LEASE_MS,
    done: records,
    table,
    place: { name, source, digest, rejected, isEnded, lastFrom, lastRejects },
  }
  const id = before?.row.id ?? at(await transaction.reserveIds(MAINTENANCE.name, 1), 0)
  const row = { id, version: before?.row.version, isExclusive: true, state }
  if (!(await storeJob(ports, transaction, row).catch(falseIfTaken))) throw otherProcess(table)
}

/** Another process stored the first place of the import. */
function falseIfTaken(error: unknown): false {
  if (isVaultError(error, 'conflict')) return false
  throw error
}

/** Throws for a caller that goes on from another place than the stored one: `failed_precondition`, with nothing stored. */
export function assertPosition(table: string, before: StoredImport | undefined, from: ImportPosition | undefined): void {
  if ((before?.records ?? 0) !== (from?.records ?? 0)) throw otherProcess(table)
  if (before !== undefined && from !== undefined && before.digest !== from.digest)
    throw fault('failed_precondition', {
      table,
    })`The source is not the one that this import began with: its first ${words(String(before.records))} records differ. Restore the source, or give this import another name.`
}

function otherProcess(table: string) {
  return fault('failed_precondition', { table })`Another process runs this import. Wait for it to end, then run it again.`
}
