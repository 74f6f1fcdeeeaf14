/** Finds rows by unique keys: those of an upsert, those whose values other records hold, and those that a write under two look-up keys meets. */
import type { Barrier } from '../barrier/barrier.ts'
import { isSameValue } from '../barrier/digest-values.ts'
import { type KeyAlternatives, type KeyCells, keyAlternatives, keyCells, newestTexts, textOfKey } from '../barrier/key-cells.ts'
import type { Values } from '../barrier/parse-record.ts'
import { encodeRecordIds } from '../barrier/record-ids.ts'
import { type Fault, fault, words } from '../errors.ts'
import type { Filter, Page, Row, StorageReads } from '../ports/storage.ts'
import { type ReadingContext, valuesInSlices } from '../row-access/evaluate-access.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table, UniqueKey } from '../schema/layout.ts'
import { append, at, groupBy, required } from '../util/lists.ts'

/** Lists of keys that one filter has. Engines take long filters, and plan them slowly. */
const GROUPS_OF_FILTER = 32

/** Rows read in addition to those of the keys. */
const SPARE = 64

/** Returns the rows that have what one of these keys can have in each column, with all their columns or those of `columns`. */
export async function findKeyedRows(
  storage: StorageReads,
  { table, key, columns }: { readonly table: Table; readonly key: UniqueKey } & Pick<Page, 'columns'>,
  keys: readonly KeyAlternatives[],
): Promise<readonly Row[]> {
  const listed = listedMember(key, keys)
  const rows: Row[] = []
  const groups = [...groupBy(keys, (cells) => textOfKey(cells.flatMap((of, member) => (member === listed ? [] : of))))]
  for (let start = 0; start < groups.length; start += GROUPS_OF_FILTER) {
    const some = groups.slice(start, start + GROUPS_OF_FILTER).map(([, group]) => group)
    const filters = some.map((group) => filterOf(key, group, listed))
    const filter: Filter = filters.length === 1 ? at(filters, 0) : { kind: 'or', filters }
    // Where the unique index was dropped in the database, a key has more rows than one.
    const limit = SPARE + 2 * some.flat().reduce((sum, cells) => sum + cells.reduce((product, of) => product * of.length, 1), 0)
    append(rows, await storage.find(table.physical.name, filter, { order: 'asc', limit, ...(columns && { columns }) }))
  }
  return rows
}

/** The member of a key of which these keys have the most different cells: a filter lists its cells, beside one of each other member. */
function listedMember({ columns }: UniqueKey, keys: readonly KeyAlternatives[]): number {
  if (columns.length === 1) return 0
  const counts = columns.map((_, member) => new Set(keys.map((cells) => textOfKey(at(cells, member)))).size)
  return counts.reduce((most, count, member) => (count > (counts[most] ?? 0) ? member : most), 0)
}

/** The rows of keys that differ in one member only. */
function filterOf({ cells }: UniqueKey, group: readonly KeyAlternatives[], listed: number): Filter {
  const filters = cells.map((column, member): Filter => {
    const values = member === listed ? group.flatMap((key) => at(key, member)) : at(at(group, 0), member)
    return { kind: 'in', column, values }
  })
  return filters.length === 1 ? at(filters, 0) : { kind: 'and', filters }
}

/** Records to look up by a key, which all of them have. */
export interface KeyedRecords {
  readonly table: Table
  readonly key: UniqueKey
  readonly records: readonly { readonly cells: KeyCells; readonly values: Values }[]
}

/** Returns the existing row of each record, in order; undefined for a new record. Throws `data_loss` if a record of other values has the digests of a key. */
export async function findExisting(
  storage: StorageReads,
  context: Pick<ReadingContext, 'barrier' | 'scheduler'>,
  { table, key, records }: KeyedRecords,
): Promise<(Row | undefined)[]> {
  const { barrier } = context
  const keys = keyAlternatives(
    barrier.ring,
    key,
    records.map(({ values }) => values),
    records.map(({ cells }) => cells),
  )
  const rows = await findKeyedRows(storage, { table, key }, keys)
  const held: (readonly unknown[])[] = []
  for (const column of key.columns) held.push(await valuesInSlices(context, { table, column }, rows))
  const textOf = newestTexts(key, keys)
  const indexes = new Map(rows.map((row, index) => [textOf(row), index]))
  return records.map(({ cells, values }) => {
    const index = indexes.get(textOfKey(cells))
    const row = index === undefined ? undefined : rows[index]
    if (index === undefined || row === undefined) return undefined
    // The opened values decide, so that a digest moved in the database finds no wrong record.
    const other = key.columns.find((column, member) => {
      const value = held[member]?.[index] ?? null
      return value === null || !isSameValue(column, value, values[column.position])
    })
    if (other === undefined) return row
    barrier.reportMismatch?.({ table, column: other, row: row.id })
    throw takenByOther(barrier, { table, column: other, row: row.id })
  })
}

/** The unique index holds the digest of the key for another record, so that no record of the key can be inserted. */
function takenByOther(
  { ring }: Barrier,
  { table, column, row }: { readonly table: Table; readonly column: Column; readonly row: number },
): Fault {
  const [id = ''] = encodeRecordIds(ring, table, [row])
  return fault('data_loss', {
    table: table.name,
    column: column.name,
    id,
  })`Record ${words(id)} of table ${table.name} has the digest of another value in column ${column.name}: it was changed in the database. Run vault.verifyRecords().`
}

/** Returns for each record the unique key whose values a stored record holds, or an earlier one of these; undefined if there is none. Throws `data_loss` like an upsert. */
export async function findTaken(
  storage: StorageReads,
  context: Pick<ReadingContext, 'barrier' | 'scheduler'>,
  { table, records }: { readonly table: Table; readonly records: readonly Values[] },
): Promise<readonly (UniqueKey | undefined)[]> {
  const keys: TakenKeys[] = []
  for (const key of table.uniqueKeys) keys.push(await takenKeys(storage, context, { table, key, records }))
  return records.map((_, position) => {
    const held = keys.find(({ texts, taken }) => isTaken(taken, texts[position]))
    if (held !== undefined) return held.key
    for (const { texts, taken } of keys) {
      const text = texts[position]
      if (text !== undefined) taken.add(text)
    }
    return undefined
  })
}

function isTaken(taken: ReadonlySet<string>, text: string | undefined): boolean {
  return text !== undefined && taken.has(text)
}

/** One unique key of records, as texts: that of each record, undefined without one, and those that are in use. */
interface TakenKeys {
  readonly key: UniqueKey
  readonly texts: readonly (string | undefined)[]
  readonly taken: Set<string>
}

async function takenKeys(
  storage: StorageReads,
  context: Pick<ReadingContext, 'barrier' | 'scheduler'>,
  { table, key, records }: { readonly table: Table; readonly key: UniqueKey; readonly records: readonly Values[] },
): Promise<TakenKeys> {
  const cells = keyCells(context.barrier.ring, key, records)
  const texts = cells.map((of) => (of === undefined ? undefined : textOfKey(of)))
  const keyed = new Map<string, KeyedRecords['records'][number]>()
  for (const [index, text] of texts.entries())
    if (text !== undefined) keyed.set(text, { cells: required(cells[index]), values: at(records, index) })
  const found = keyed.size === 0 ? [] : await findExisting(storage, context, { table, key, records: [...keyed.values()] })
  return { key, texts, taken: new Set([...keyed.keys()].filter((_, index) => found[index] !== undefined)) }
}
