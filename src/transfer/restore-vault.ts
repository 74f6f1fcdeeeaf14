/** Restores a vault from a backup and those that were made since, into an empty storage that opens when all of it was checked. */
import { isDeepStrictEqual } from 'node:util'
import { VaultError } from '../core/errors.ts'
import type { Row, StorageHandle, StoredTable } from '../core/ports/storage.ts'
import { readUtf8, sameBytes } from '../core/util/bytes.ts'
import { append, required } from '../core/util/lists.ts'
import { readOptions } from '../core/util/options.ts'
import { arrivingTables, beginArrival, countArrived, endArrival, prepareArriving } from './arrival.ts'
import type { BackupHeader, BackupTrailer } from './backup-vault.ts'
import { type ByteReader, createByteReader } from './byte-reader.ts'
import { BACKUP_MAGIC, changed, type Frame, readFrames } from './frames.ts'
import { decodeRows } from './row-codec.ts'
import { openStream, parsePrivateKey, SEALED_MAGIC } from './sealed-stream.ts'
import { opensVault, vaultTables } from './vault-rows.ts'
import { COPY_OPTIONS, type CopyOptions, type CopyWatch, createCopyWatch } from './watch.ts'

/** What to restore, and where. */
export interface RestoreOptions extends CopyOptions {
  /** An empty storage, of any kind. */
  readonly to: StorageHandle
  /** A backup of all of the vault, and those that were made since it, in order. */
  readonly backups: readonly AsyncIterable<Uint8Array>[]
  /** The private key, as PEM text (PKCS #8, X25519), of the recipient that the backups were sealed for. */
  readonly privateKey?: string
}

/** What was restored. */
export interface RestoredVault {
  /** Rows of each table. */
  readonly rows: Readonly<Record<string, number>>
  /** All of them. */
  readonly rowCount: number
}

/**
 * Restores a vault. Each part of a backup is checked before it is stored, and what opens the vault is stored last: a restore that ends early, or that meets a
 * byte that was changed, leaves a storage in which no vault opens. It can be run again on that storage. No key of the vault is needed.
 *
 * Throws `data_loss` for a backup that was changed or cut, and `failed_precondition` if the storage is not empty or the backups do not follow each other.
 */
export async function restoreVault(options: RestoreOptions): Promise<RestoredVault> {
  const known = ['to', 'backups', 'privateKey', ...COPY_OPTIONS] as const
  const { to, backups, privateKey, ...watched } = readOptions(options, known, { of: 'restoreVault' })
  const key = privateKey === undefined ? undefined : parsePrivateKey(privateKey)
  const watch = createCopyWatch(watched)
  if (!Array.isArray(backups) || backups.length === 0)
    throw new VaultError('invalid_request', 'restoreVault: `backups` must be a list of at least one backup.')
  const name = await beginArrival(to)
  let last: Restored | undefined
  for (const content of backups) {
    const reader = createByteReader(content)
    try {
      last = await restoreBackup(await openBackup(reader, key), { to, watch, before: last })
    } finally {
      await reader.close()
    }
  }
  const { tables, opening } = required(last)
  await endArrival(to, name, { tables, opening })
  return countArrived(to, tables)
}

/** Returns a reader of a backup after its first bytes, opened if it is sealed. */
async function openBackup(reader: ByteReader, key: ReturnType<typeof parsePrivateKey> | undefined): Promise<ByteReader> {
  const magic = await reader.read(BACKUP_MAGIC.length)
  if (sameBytes(magic, BACKUP_MAGIC)) return reader
  if (!sameBytes(magic, SEALED_MAGIC))
    throw new VaultError('data_loss', 'This is no backup of a vault that this release can read, or its first bytes were changed.')
  if (key === undefined)
    throw new VaultError(
      'invalid_request',
      'The backup is sealed for a recipient. Give the private key of the recipient as `privateKey`.',
    )
  const opened = createByteReader(openStream(reader, key))
  if (!sameBytes(await opened.read(BACKUP_MAGIC.length), BACKUP_MAGIC)) throw changed()
  return opened
}

/** What a backup left. */
interface Restored {
  readonly tables: readonly StoredTable[]
  readonly opening: ReadonlyMap<string, readonly Row[]>
  /** The name of its manifest. */
  readonly manifest: string
}

/** Where a backup is restored, and the one before it. */
interface Restoring {
  readonly to: StorageHandle
  readonly watch: CopyWatch
  readonly before: Restored | undefined
}

async function restoreBackup(reader: ByteReader, { to, watch, before }: Restoring): Promise<Restored> {
  const frames = readFrames(reader)
  const first = await frames.next()
  if (first.done === true || first.value.kind !== 'header') throw changed()
  const { tables, rowCount } = parseHeader(first.value, before)
  watch.expect(rowCount)
  await prepareArriving(to, arrivingTables(tables))
  const opening = new Map<string, Row[]>([...tables].filter(({ name }) => opensVault(name)).map(({ name }) => [name, []]))
  const counts = tables.map(() => ({ rows: 0, gone: 0 }))
  for await (const frame of frames) {
    if (frame.kind === 'trailer') {
      const trailer = parseJson<BackupTrailer>(frame)
      const isWhole = tables.every(({ name }, number) => isDeepStrictEqual(trailer.counts[name], counts[number]))
      if (!isWhole) throw changed()
      return { tables, opening, manifest: trailer.manifest }
    }
    const [table, count] = [tables[frame.table], counts[frame.table]]
    if (frame.kind === 'header' || table === undefined || count === undefined) throw changed()
    const rows = rowsOf(frame, table)
    count[frame.kind] += rows.length
    const kept = opening.get(table.name)
    if (kept === undefined) await storeRows(to, table.name, { kind: frame.kind, rows, isFirst: before === undefined })
    else append(kept, rows)
    await watch.step(rows.length)
  }
  throw changed()
}

/** Returns the header of a backup that follows the one before it. */
function parseHeader(frame: Frame, before: Restored | undefined): BackupHeader {
  const header = parseJson<BackupHeader>(frame)
  if (header.since !== (before?.manifest ?? null))
    throw new VaultError(
      'failed_precondition',
      before === undefined
        ? 'The first backup has only what changed since an earlier one. Restore that one before it.'
        : 'The backups do not follow each other. Restore a full one, then those that were made since, in order and without gaps.',
    )
  // A database has tables of others beside the vault's.
  const areOurs = vaultTables(header).length === header.tables.length
  const hasNames = header.tables.every(({ columns }) => columns.every(({ name }) => /^[a-z][a-z0-9_]*$/.test(name)))
  if (!areOurs || !hasNames) throw changed()
  return header
}

/** The frame was checked, so what `backupVault` wrote is what it has. */
function parseJson<T>({ content }: Frame): T {
  try {
    return JSON.parse(readUtf8(content, 0, content.length)) as T
  } catch {
    throw changed()
  }
}

function rowsOf({ kind, content }: Frame, { columns }: StoredTable): readonly Row[] {
  try {
    return decodeRows(kind === 'rows' ? columns : [], content)
  } catch {
    throw changed()
  }
}

/** Stores rows in place of those of the backups before, or deletes those that are gone. */
async function storeRows(
  to: StorageHandle,
  table: string,
  { kind, rows, isFirst }: { readonly kind: 'rows' | 'gone'; readonly rows: readonly Row[]; readonly isFirst: boolean },
): Promise<void> {
  if (!isFirst) await to.delete(table, { ids: rows.map(({ id }) => id) })
  if (kind === 'rows') await to.insert(table, rows)
}
