/** The rows that hold the keys of subjects: they are made with the record of the subject, looked up for rows to open, and destroyed. */
import type { Barrier } from '../barrier/barrier.ts'
import { fault } from '../errors.ts'
import type { NewRow, Row, Storage, StorageReads } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'
import { ofRecords, SUBJECT_KEYS } from '../schema/system-tables.ts'
import { namesUnknownKey, openEntries, sealEntries } from '../sealing/envelope.ts'
import type { SubjectKeyring } from '../sealing/subject-keyring.ts'
import { at, present, required } from '../util/lists.ts'
import { slabItem } from '../util/memory.ts'

const SECRET_BYTES = 32

/** What keys are sealed and opened with, and where they are held. */
type Keys = Pick<Barrier, 'ring' | 'vault' | 'entropy' | 'subjectKeys'>

/** New keys: the row of each, in order, to be stored with the records of their subjects. */
export interface NewKeys {
  readonly ids: readonly number[]
  readonly rows: readonly NewRow[]
}

/** Makes a key for each of these records, which are those of subjects. It is held from now on. */
export async function makeKeys(
  storage: Pick<StorageReads, 'reserveIds'>,
  barrier: Keys,
  { objectId }: Pick<Table, 'objectId'>,
  records: readonly number[],
): Promise<NewKeys> {
  const keyring = keyringOf(barrier)
  const ids = await storage.reserveIds(SUBJECT_KEYS.name, records.length)
  const bytes = barrier.entropy.bytes(records.length * SECRET_BYTES)
  const secrets = records.map((_, index) => bytes.subarray(index * SECRET_BYTES, (index + 1) * SECRET_BYTES))
  const now = keyring.now()
  keyring.toLookUp(new Set(ids))
  for (const [index, id] of ids.entries()) keyring.keep(id, at(secrets, index), now)
  const bodies = sealEntries(addressOf(barrier), ids, secrets)
  bytes.fill(0)
  const rows = ids.map((id, index) => ({
    id,
    table_id: objectId,
    row_id: at(records, index),
    check_at: null,
    body: slabItem(bodies, index),
  }))
  return { ids, rows }
}

/**
 * Looks up those of these keys that are not held, or not believed any more. Reads the catalog again where another process has sealed one with a root key
 * that this one does not know.
 */
export async function lookUpKeys(
  storage: StorageReads,
  { barrier, reload }: { readonly barrier: Keys; reload(storage: StorageReads): Promise<void> },
  ids: ReadonlySet<number>,
): Promise<void> {
  const keyring = keyringOf(barrier)
  const wanted = keyring.toLookUp(ids)
  if (wanted.length === 0) return
  const since = keyring.now()
  const found = await storage.get(SUBJECT_KEYS.name, wanted)
  const rows = present(found)
  if (rows.some((row) => namesUnknownKey(barrier.ring, bodyOf(row)))) await reload(storage)
  const { plaintexts, opened } = openEntries(
    addressOf(barrier),
    rows.map(({ id }) => id),
    rows.map(bodyOf),
  )
  for (const [index, { id }] of rows.entries())
    keyring.keep(id, opened[index] === 1 ? slabItem(plaintexts, index) : undefined, since)
  plaintexts.bytes.fill(0)
  for (const [index, id] of wanted.entries()) if (found[index] === undefined) keyring.destroy(id, since)
}

/** Returns the rows that hold the keys of these records of subjects, without the keys. */
export function findKeyRows(
  storage: Pick<StorageReads, 'find'>,
  table: Pick<Table, 'objectId'>,
  records: readonly number[],
): Promise<readonly Row[]> {
  const page = { order: 'asc', limit: Math.max(1, records.length), columns: ['check_at'] } as const
  return storage.find(SUBJECT_KEYS.name, ofRecords(table, records), page)
}

/**
 * Destroys the keys of these records of subjects, which may be deleted already: nothing that is sealed with them opens after the transaction. Returns how
 * many there were.
 */
export async function destroyKeys(storage: Storage, table: Pick<Table, 'objectId'>, records: readonly number[]): Promise<number> {
  const rows = await findKeyRows(storage, table, records)
  if (rows.length === 0) return 0
  const deleted = await storage.delete(SUBJECT_KEYS.name, { ids: rows.map(({ id }) => id) })
  return deleted.length
}

/** Keeps the keys of records that are deleted without those that refer to them, which need the keys. */
export async function keepKeys(storage: Storage, table: Pick<Table, 'objectId'>, records: readonly number[]): Promise<void> {
  const rows = await findKeyRows(storage, table, records)
  const due = rows.filter(({ check_at }) => check_at !== null)
  await storage.update(
    SUBJECT_KEYS.name,
    due.map(({ id, version }) => ({ id, version, set: { check_at: null } })),
  )
}

/** What the row says that is made with the first key, in place of a record: no table has this object id. */
const FIRST = { objectId: 0 }

/**
 * Throws `failed_precondition` if the keys of subjects are in another storage than this one. `areNew`: no subject has had a key until now, and this
 * storage is where they are from now on.
 */
export async function assertKeysAreHere(storage: Storage, barrier: Keys, areNew: boolean): Promise<void> {
  const [known] = await findKeyRows(storage, FIRST, [0])
  if (known === undefined && areNew) {
    const { rows } = await makeKeys(storage, barrier, FIRST, [0])
    await storage.insert(SUBJECT_KEYS.name, rows).catch(async (error: unknown) => {
      // Another process was first.
      if ((await findKeyRows(storage, FIRST, [0])).length === 0) throw error
    })
    return
  }
  const [row] = known === undefined ? [] : await storage.get(SUBJECT_KEYS.name, [known.id])
  if (
    row !== undefined &&
    (namesUnknownKey(barrier.ring, bodyOf(row)) || openEntries(addressOf(barrier), [row.id], [bodyOf(row)]).opened[0] === 1)
  )
    return
  throw fault(
    'failed_precondition',
  )`Cannot open the vault: the keys of its subjects are in another storage. Pass that one as option subjectKeys, as before. Nothing was written.`
}

function bodyOf({ body }: Row): Uint8Array {
  return body instanceof Uint8Array ? body : new Uint8Array(0)
}

function addressOf({ ring, vault }: Pick<Keys, 'ring' | 'vault'>) {
  return { ring, vault, kind: 'subject' } as const
}

function keyringOf({ subjectKeys }: Pick<Keys, 'subjectKeys'>): SubjectKeyring {
  return required(subjectKeys, 'The keys of subjects')
}
