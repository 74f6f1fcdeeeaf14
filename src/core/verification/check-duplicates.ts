/** Finds records that share the values of a unique key, although storage has a unique index: a digest that was changed in the database evades it. */
import type { Barrier } from '../barrier/barrier.ts'
import { isSameValue } from '../barrier/digest-values.ts'
import { type KeyAlternatives, keyAlternatives, newestTexts, textOfKey } from '../barrier/key-cells.ts'
import { isRowId } from '../pace/pace.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import { findKeyedRows } from '../records/find-by-keys.ts'
import type { Table, UniqueKey } from '../schema/layout.ts'
import { at } from '../util/lists.ts'
import { type OpenedPage, openPage } from './check-records.ts'
import type { Suspicion } from './record-findings.ts'

/** Maximum number of keys that are remembered because their stored digests cannot find them. Memory stays bounded if every digest of a table is wrong. */
const MAX_REMEMBERED = 10_000

/** The row id of each key that no look-up finds, by its columns and cells. One map for each table. */
export type UnindexedValues = Map<string, number>

/** A row with a key, and what storage can have of it. */
interface KeyedRow {
  readonly row: Row
  readonly values: readonly unknown[]
  /** The newest cells that it can have. */
  readonly text: string
  /** The cells that are stored, those of the older look-up key as those of the newest. */
  readonly stored: string
}

/** A row with a key, and the id of another row that seems to have the same key. */
interface Other {
  readonly keyed: KeyedRow
  readonly other: number
}

/** Returns a suspicion for each row that shares a unique key with another row. */
export async function checkDuplicates(
  storage: StorageReads,
  barrier: Barrier,
  { page, unindexed }: { readonly page: OpenedPage; readonly unindexed: UnindexedValues },
): Promise<readonly Suspicion[]> {
  const { table } = page
  const suspicions: Suspicion[] = []
  for (const key of table.uniqueKeys) {
    const held = heldKeys(page, key)
    const keys = keyAlternatives(
      barrier.ring,
      key,
      held.map(({ values }) => values),
    )
    const textOf = newestTexts(key, keys)
    const rows = held.map(
      ({ row, values }, index): KeyedRow => ({
        row,
        values,
        text: textOfKey(at(keys, index).map((cells) => at(cells, cells.length - 1))),
        stored: textOf(row),
      }),
    )
    const others = [...(await findOthers(storage, { table, key, keys }, rows)), ...rememberUnindexed(key, rows, unindexed)]
    if (others.length === 0) continue
    const ids = others.map(({ other }) => other)
    const opened = await openExisting(storage, barrier, { table, ids })
    const isShared = ({ keyed: { values }, other }: Other): boolean =>
      key.columns.every((column) => {
        const value = opened.get(other)?.[column.position] ?? null
        return value !== null && isSameValue(column, values[column.position], value)
      })
    const shared = new Set(others.filter(isShared).map(({ keyed }) => keyed.row))
    // Of several columns, none is wrong by itself.
    const [column] = key.columns.length === 1 ? key.columns : []
    for (const row of shared) suspicions.push({ kind: 'duplicate_value', row, ...(column && { column }) })
  }
  return suspicions
}

/** Returns the rows of a page that have a value in each column of a key. */
function heldKeys({ rows, values }: OpenedPage, { columns }: UniqueKey): Pick<KeyedRow, 'row' | 'values'>[] {
  return rows.flatMap((row, index) => {
    const own = values[index]
    return own !== undefined && columns.every(({ position }) => (own[position] ?? null) !== null) ? [{ row, values: own }] : []
  })
}

/** Returns the other rows that storage finds by the keys. */
async function findOthers(
  storage: StorageReads,
  { table, key, keys }: { readonly table: Table; readonly key: UniqueKey; readonly keys: readonly KeyAlternatives[] },
  rows: readonly KeyedRow[],
): Promise<Other[]> {
  const found = await findKeyedRows(storage, { table, key, columns: key.cells }, keys)
  const textOf = newestTexts(key, keys)
  const idsByText = new Map<string, number[]>()
  for (const row of found) {
    if (!isRowId(row.id)) continue
    const text = textOf(row)
    idsByText.set(text, [...(idsByText.get(text) ?? []), row.id])
  }
  return rows.flatMap((keyed) => {
    const ids = idsByText.get(keyed.text) ?? []
    return ids.filter((other) => other !== keyed.row.id).map((other) => ({ keyed, other }))
  })
}

/** Remembers the rows that storage does not find by their key. Returns the remembered rows that seem to have the same key. */
function rememberUnindexed({ names }: UniqueKey, rows: readonly KeyedRow[], unindexed: UnindexedValues): Other[] {
  return rows.flatMap((keyed) => {
    const { row, text, stored } = keyed
    if (text === stored) return []
    const remembered = `${names.join()}/${text}`
    const other = unindexed.get(remembered)
    if (other === undefined && unindexed.size < MAX_REMEMBERED) unindexed.set(remembered, row.id)
    return other === undefined || other === row.id ? [] : [{ keyed, other }]
  })
}

/** Returns the values of the rows that exist and open, by row id. */
async function openExisting(
  storage: StorageReads,
  barrier: Barrier,
  { table, ids }: { readonly table: Table; readonly ids: readonly number[] },
): Promise<Map<number, readonly unknown[] | undefined>> {
  const found = await storage.get(table.physical.name, [...new Set(ids)])
  const rows = found.filter((row) => row !== undefined)
  const { values } = openPage(barrier, table, rows)
  return new Map(rows.map(({ id }, index) => [id, values[index]]))
}
