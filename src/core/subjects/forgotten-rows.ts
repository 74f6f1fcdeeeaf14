/** The rows of forgotten subjects: the receipt of each time and which record it was, sealed, so that it can be forgotten again after a restore. */
import { type Receipt, receiptDigest } from '../audit/receipt.ts'
import type { Barrier } from '../barrier/barrier.ts'
import { eachPage } from '../pace/pace.ts'
import type { Hash } from '../ports/crypto.ts'
import type { Row, Storage, StorageReads } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import { FORGOTTEN, ofRecords } from '../schema/system-tables.ts'
import { namesUnknownKey, openEntry, sealEntry } from '../sealing/envelope.ts'
import { readUtf8, toUtf8 } from '../util/bytes.ts'
import { at } from '../util/lists.ts'

/** What the sealed body of a row says. */
export interface ForgottenEntry {
  /** Object id of the table of the subject. */
  readonly tableId: number
  readonly rowId: number
  readonly receipt: Receipt
}

type Keys = Pick<Barrier, 'ring' | 'vault'>

/** Stores a receipt, inside a transaction. Returns the id of its row. */
export async function insertForgotten(storage: Storage, keys: Keys, nowMs: number, entry: ForgottenEntry): Promise<number> {
  const id = at(await storage.reserveIds(FORGOTTEN.name, 1), 0)
  const { tableId, rowId } = entry
  await storage.insert(FORGOTTEN.name, [{ id, at: nowMs, table_id: tableId, row_id: rowId, body: sealRow(keys, id, entry) }])
  return id
}

/** Stores the receipt of a row as it is at the end, inside a transaction. */
export async function updateForgotten(storage: Storage, keys: Keys, id: number, receipt: Receipt): Promise<void> {
  for (;;) {
    const [row] = await storage.get(FORGOTTEN.name, [id])
    const entry = row === undefined ? undefined : openRow(keys, row)
    if (row === undefined || entry === undefined) return
    const body = sealRow(keys, id, { ...entry, receipt })
    // A rotation of keys can seal the row again meanwhile.
    if (at(await storage.update(FORGOTTEN.name, [{ id, version: row.version, set: { body } }]), 0)) return
  }
}

/** Returns the digest of the newest receipt of a record; undefined if it has none. */
export async function newestReceipt(
  storage: StorageReads,
  { keys, hash }: { readonly keys: Keys; readonly hash: Hash },
  { tableId, rowId }: Omit<ForgottenEntry, 'receipt'>,
): Promise<string | undefined> {
  const filter = ofRecords({ objectId: tableId }, [rowId])
  const [row] = await storage.find(FORGOTTEN.name, filter, { order: 'desc', limit: 1 })
  const entry = row === undefined ? undefined : openRow(keys, row)
  return entry === undefined ? undefined : receiptDigest(hash, entry.receipt)
}

/** What reading all rows needs. */
export interface ReadingForgotten {
  readonly storage: StorageReads
  readonly barrier: Barrier
  readonly scheduler: Scheduler
  readonly catalog: { reload(storage: StorageReads): Promise<void> }
}

/** Yields the entries of rows after a time in milliseconds since 1970, in the order in which they were stored. Rows that do not open are left out. */
export async function* eachForgotten(
  { storage, barrier, scheduler, catalog }: ReadingForgotten,
  since: number,
): AsyncGenerator<ForgottenEntry> {
  const filter = { kind: 'compare', column: 'at', operator: '>', value: since - 1 } as const
  for await (const rows of eachPage(storage, FORGOTTEN.name, { filter, scheduler })) {
    const isUnknown = ({ body }: Row): boolean => body instanceof Uint8Array && namesUnknownKey(barrier.ring, body)
    if (rows.some(isUnknown)) await catalog.reload(storage)
    for (const row of rows) {
      const entry = openRow(barrier, row)
      if (entry !== undefined) yield entry
    }
  }
}

function sealRow({ ring, vault }: Keys, id: number, entry: ForgottenEntry): Uint8Array {
  return sealEntry({ ring, vault, kind: 'forgotten', id }, toUtf8(JSON.stringify(entry)))
}

/** Returns what a row says; undefined if it fails authentication. What opens is what `sealRow` wrote. */
function openRow({ ring, vault }: Keys, { id, body }: Row): ForgottenEntry | undefined {
  const plaintext = body instanceof Uint8Array ? openEntry({ ring, vault, kind: 'forgotten', id }, body) : undefined
  return plaintext === undefined ? undefined : (JSON.parse(readUtf8(plaintext, 0, plaintext.length)) as ForgottenEntry)
}
