/** Writes a vault as one stream of sealed rows, of one state of it, while it works: all of it, or what changed since an earlier backup. */
import { createHash } from 'node:crypto'
import { VaultError } from '../core/errors.ts'
import type { Row, Snapshot, StorageHandle, StoredTable } from '../core/ports/storage.ts'
import { AUDIT_EVENTS } from '../core/schema/system-tables.ts'
import { toUtf8 } from '../core/util/bytes.ts'
import { append, required } from '../core/util/lists.ts'
import { readOptions } from '../core/util/options.ts'
import { pipeBytes } from './byte-pipe.ts'
import { createFrameWriter } from './frames.ts'
import { type Anchor, decodeManifest, encodeManifest, type Manifest, nameOfManifest, type TableManifest } from './manifest.ts'
import { encodeRows } from './row-codec.ts'
import { parseRecipient, sealStream } from './sealed-stream.ts'
import { countRows, opensVault, pagesOf, rowsById, tablesOfVault, versionsOf } from './vault-rows.ts'
import { COPY_OPTIONS, type CopyOptions, type CopyWatch, createCopyWatch } from './watch.ts'

/** What to back up. */
export interface BackupOptions extends CopyOptions {
  /** The storage of the vault. Vaults can be open on it, and write. */
  readonly from: StorageHandle
  /** The manifest of an earlier backup: only what changed since is written. Default: all of the vault. */
  readonly since?: Uint8Array
  /** A public key, as PEM text (SPKI, X25519), for which all of it is sealed once more. Default: what is sealed in the vault is sealed, and no more. */
  readonly recipient?: string
}

/** A backup that is written as it is read. It can be read once. */
export interface Backup extends AsyncIterable<Uint8Array> {
  /**
   * Returns the manifest of this backup, for the next one. Resolves when the backup was read to its end, and rejects if it failed. It has ids and versions of
   * rows, and nothing else of them.
   */
  manifest(): Promise<Uint8Array>
}

/** The first frame of a backup. */
export interface BackupHeader {
  /** The name of the manifest that the changes are since; null for all of the vault. */
  readonly since: string | null
  /** Rows of the vault, all of which are compared or written. */
  readonly rowCount: number
  readonly tables: readonly StoredTable[]
}

/** Rows of a table that were written, and those that are gone since the manifest. */
export interface RowCounts {
  readonly rows: number
  readonly gone: number
}

/** The last frame of a backup. */
export interface BackupTrailer {
  readonly counts: Readonly<Record<string, RowCounts>>
  /** The name of the manifest of this backup. */
  readonly manifest: string
}

/** Rows that are looked up at once. */
const ROWS_AT_ONCE = 500
/** The chain of an event is what its id has above these. An event is never deleted. */
const IDS_OF_CHAIN = 2 ** 32

/**
 * Returns a backup of one state of a vault. No key is needed: it has the sealed rows, the counters of ids, and the sealed keys. What is read from it goes to
 * a file, a bucket or another machine as it comes. Throws `failed_precondition`, when it is read, if there is no vault, or if the vault was restored from
 * an older state since the manifest, and `data_loss` for a manifest that was changed.
 */
export function backupVault(options: BackupOptions): Backup {
  const known = ['from', 'since', 'recipient', ...COPY_OPTIONS] as const
  const { from, since, recipient, ...watched } = readOptions(options, known, { of: 'backupVault' })
  const key = recipient === undefined ? undefined : parseRecipient(recipient)
  const watch = createCopyWatch(watched)
  const done = Promise.withResolvers<Uint8Array>()
  done.promise.catch(() => {})
  const bytes = pipeBytes(async (write) => {
    try {
      done.resolve(await from.snapshot((snapshot) => writeBackup(snapshot, { since, watch, write })))
    } catch (error) {
      done.reject(error)
      throw error
    }
  })
  const sealed = key === undefined ? bytes : sealStream(bytes, key)
  return { [Symbol.asyncIterator]: () => sealed[Symbol.asyncIterator](), manifest: () => done.promise }
}

/** What a backup is written with. */
interface Writing {
  readonly since: Uint8Array | undefined
  readonly watch: CopyWatch
  readonly write: (bytes: Uint8Array) => Promise<void>
}

/** Writes all frames. Returns the manifest. */
async function writeBackup(snapshot: Snapshot, { since, watch, write }: Writing): Promise<Uint8Array> {
  const tables = await tablesOfVault(snapshot)
  const earlier = since === undefined ? undefined : await decodeManifest(since)
  if (earlier !== undefined) await assertSameVault(snapshot, tables, earlier)
  const frame = createFrameWriter()
  const header: BackupHeader = {
    since: since === undefined ? null : nameOfManifest(since),
    rowCount: await countRows(snapshot, tables),
    tables,
  }
  watch.expect(header.rowCount)
  await write(frame('header', toUtf8(JSON.stringify(header))))
  const found = new Map<string, TableManifest>()
  const anchors: Anchor[] = []
  const counts: Record<string, RowCounts> = {}
  for (const [number, table] of tables.entries()) {
    const before = opensVault(table.name) ? undefined : earlier?.tables.get(table.name)
    const out: TableOutput = {
      async write(kind, rows) {
        if (rows.length === 0) return
        await write(frame(kind, encodeRows(kind === 'rows' ? table.columns : [], rows), number))
      },
      step: watch.step,
    }
    const written =
      before === undefined ? await writeAll(snapshot, table, out) : await writeChanges(snapshot, table, { before, out })
    found.set(table.name, written)
    counts[table.name] = { rows: written.rows, gone: written.gone }
    append(anchors, await anchorsOf(snapshot, table, written.ids))
  }
  const manifest = await encodeManifest({ tables: found, anchors })
  const trailer: BackupTrailer = { counts, manifest: nameOfManifest(manifest) }
  await write(frame('trailer', toUtf8(JSON.stringify(trailer))))
  return manifest
}

/** Where the rows of a table are written. */
interface TableOutput {
  write(kind: 'rows' | 'gone', rows: readonly Row[]): Promise<void>
  step(rows: number): Promise<void>
}

/** What was written of a table, and what it has. */
interface WrittenTable extends RowCounts {
  readonly ids: number[]
  readonly versions: number[]
}

async function writeAll(snapshot: Snapshot, table: StoredTable, out: TableOutput): Promise<WrittenTable> {
  const [ids, versions]: [number[], number[]] = [[], []]
  for await (const rows of pagesOf(snapshot, table.name)) {
    for (const { id, version } of rows) {
      ids.push(id)
      versions.push(version)
    }
    await out.write('rows', rows)
    await out.step(rows.length)
  }
  return { ids, versions, rows: ids.length, gone: 0 }
}

/** Writes the rows that have another version than before, or are new, and names those that are gone. */
async function writeChanges(
  snapshot: Snapshot,
  { name }: StoredTable,
  { before, out }: { readonly before: TableManifest; readonly out: TableOutput },
): Promise<WrittenTable> {
  const [ids, versions]: [number[], number[]] = [[], []]
  const counts = { rows: 0, gone: 0 }
  let at = 0
  for await (const page of versionsOf(snapshot, name)) {
    const changed: number[] = []
    const gone: Row[] = []
    for (const { id, version } of page) {
      ids.push(id)
      versions.push(version)
      for (; (before.ids[at] ?? id) < id; at++) gone.push({ id: required(before.ids[at]), version: 0 })
      const isSame = before.ids[at] === id && before.versions[at] === version
      if (before.ids[at] === id) at++
      if (!isSame) changed.push(id)
    }
    await out.write('gone', gone)
    for (let start = 0; start < changed.length; start += ROWS_AT_ONCE)
      await out.write('rows', await rowsById(snapshot, name, changed.slice(start, start + ROWS_AT_ONCE)))
    counts.rows += changed.length
    counts.gone += gone.length
    await out.step(page.length)
  }
  const rest = Array.from({ length: before.ids.length - at }, (_, index) => ({
    id: required(before.ids[at + index]),
    version: 0,
  }))
  await out.write('gone', rest)
  return { ids, versions, rows: counts.rows, gone: counts.gone + rest.length }
}

/** Returns the last row of the table, and the last event of each chain. */
async function anchorsOf(snapshot: Snapshot, { name, columns }: StoredTable, ids: readonly number[]): Promise<readonly Anchor[]> {
  const last = ids.filter((id, i) => chainOf(id) !== chainOf(ids[i + 1]))
  const rows = await rowsById(snapshot, name, last)
  return rows.map((row) => ({ table: name, id: row.id, version: row.version, digest: digestOf(columns, row) }))
}

function chainOf(id: number | undefined): number | undefined {
  return id === undefined ? undefined : Math.floor(id / IDS_OF_CHAIN)
}

function digestOf(columns: StoredTable['columns'], row: Row): string {
  const inOrder = [...columns].sort((left, right) => (left.name < right.name ? -1 : 1))
  return createHash('sha256')
    .update(encodeRows(inOrder, [row]))
    .digest('hex')
}

/**
 * Throws `failed_precondition` if the vault is not the one of a manifest, or was restored from an older state since: rows can then have the versions that
 * others had, and would not be written.
 */
async function assertSameVault(snapshot: Snapshot, tables: readonly StoredTable[], { anchors }: Manifest): Promise<void> {
  for (const { table: name, id, version, digest } of anchors) {
    const table = tables.find((each) => each.name === name)
    const [row] = table === undefined ? [] : await rowsById(snapshot, name, [id])
    const isMissing = row === undefined && name === AUDIT_EVENTS.name
    const isOlder = row !== undefined && row.version < version
    const isOther = table !== undefined && row?.version === version && digestOf(table.columns, row) !== digest
    if (isMissing || isOlder || isOther)
      throw new VaultError(
        'failed_precondition',
        'The vault is not the one of the earlier backup, or it was restored since from an older state. Make a full backup, without `since`.',
      )
  }
}
