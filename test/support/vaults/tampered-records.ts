/** A vault with every kind of digest and stored token, and ways to tamper with its rows as a writer of the database can. */
import type { Cell, NewRow, Row, StorageHandle } from '../../../src/core/ports/storage.ts'
import { column } from '../../../src/index.ts'
import { type LooseOptions, type LooseStored, type LooseVault, openLoose } from './open-untyped.ts'

/** The records' physical table, and those of what belongs to them. */
export const RECORDS = 'records_1_people'
export const TOKENS = 'tokens'
export const TRANSIENTS = 'transients'

/** One table: `email` and `badge` are unique, `code` and `city` have a digest each, `card`, `pin` and `name` can have stored tokens. */
export const PEOPLE = {
  people: {
    name: column.string({ token: 'random' }),
    email: column.string({ unique: true, normalize: ['lowercase'], redaction: 'PLAIN_TEXT' }),
    code: column.integer({ searchable: true, redaction: 'PLAIN_TEXT' }),
    city: column.string({ encrypted: false, token: 'deterministic', redaction: 'PLAIN_TEXT' }),
    badge: column.string({ encrypted: false, unique: true, redaction: 'PLAIN_TEXT' }),
    card: column.string({ token: { kind: 'formatPreserving', format: 'digits' } }),
    pin: column.string({ token: { kind: 'transient', ttlMinutes: 30 } }),
    note: column.json({ redaction: 'PLAIN_TEXT' }),
  },
}

/** The fields of the record with this number. Every value holds the word canary or 4711. */
export function personOf(number: number): Readonly<Record<string, unknown>> {
  return {
    name: `canary name ${number}`,
    email: `Canary${number}@acme.example`,
    code: 471_100 + number,
    city: `canary city ${number}`,
    badge: `canary badge ${number}`,
    card: `471100000000${String(number).padStart(4, '0')}`,
    pin: `4711${number}`,
    note: { canary: number },
  }
}

/** Opens the vault, and inserts so many records. The third has a supplied token for its transient value, and the fourth for its name. */
export async function openTampered(
  storage: StorageHandle,
  count: number,
  options: LooseOptions = {},
): Promise<LooseVault & { readonly records: readonly LooseStored[] }> {
  const opened = await openLoose(storage, PEOPLE, options)
  const tokensOf = (number: number) =>
    number === 2 ? { tokens: { pin: 'supplied-pin' } } : number === 3 ? { tokens: { name: 'supplied-name' } } : {}
  const input = Array.from({ length: count }, (_, number) => ({ fields: personOf(number), ...tokensOf(number) }))
  const { records } = await opened.session.insert('people', input, { tokenization: true, byot: 'ENABLE' })
  return { ...opened, records }
}

/** Returns the row of a table with this id. Throws if there is none. */
export async function rowOf(storage: StorageHandle, table: string, id: number): Promise<Row> {
  const [row] = await storage.get(table, [id])
  if (row === undefined) throw new Error(`no row ${id} in ${table}`)
  return row
}

/** Returns all rows of a table, up to 10,000. */
export async function rowsOf(storage: StorageHandle, table: string): Promise<Row[]> {
  return [...(await storage.find(table, { kind: 'all' }, { order: 'asc', limit: 10_000 }))]
}

/** Returns the physical column of a digest. */
export function digestOf(row: Row, name: string): string {
  const found = Object.keys(row).find((key) => key.startsWith('digest_') && key.endsWith(`_${name}`))
  if (found === undefined) throw new Error(`no digest of ${name}`)
  return found
}

/** Writes cells over a row, as a statement of SQL does. */
export async function overwrite(storage: StorageHandle, table: string, id: number, set: Record<string, Cell>): Promise<void> {
  const { version } = await rowOf(storage, table, id)
  const [isWritten] = await storage.update(table, [{ id, version, set }])
  if (isWritten !== true) throw new Error('the row was not written')
}

/** Moves a row to another id. */
export async function move(storage: StorageHandle, table: string, from: number, to: number): Promise<void> {
  const { version, ...row } = await rowOf(storage, table, from)
  await storage.delete(table, { ids: [from] })
  const moved: NewRow = { ...row, id: to }
  await storage.insert(table, [moved])
}

/** A copy of a body with one bit flipped. */
export function flipped(body: Cell | undefined, bit: number): Uint8Array {
  if (!(body instanceof Uint8Array)) throw new Error('the row has no body')
  const bad = body.slice()
  const index = (bit >> 3) % bad.length
  bad[index] = (bad[index] ?? 0) ^ (1 << (bit & 7))
  return bad
}
