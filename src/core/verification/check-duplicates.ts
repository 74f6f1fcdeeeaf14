/** Finds records that share a value of a unique column, although storage has a unique index: a digest that was changed in the database evades it. */
import type { Barrier } from '../barrier/barrier.ts'
import { digestPresent, isSameValue, keyOfCell } from '../barrier/digest-values.ts'
import { isRowId } from '../pace/pace.ts'
import type { KeyRing } from '../ports/crypto.ts'
import type { Cell, StorageReads } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { required } from '../util/lists.ts'
import { type OpenedPage, openPage } from './check-records.ts'
import type { Suspicion } from './record-findings.ts'

/** Maximum number of values that are remembered because their stored digest cannot find them. Memory stays bounded if every digest of a table is wrong. */
const MAX_REMEMBERED = 10_000
/** Rows read in addition to one for each value. */
const SPARE = 64

/** The row id of each value that no look-up finds, by column and digest. One map for each table. */
export type UnindexedValues = Map<string, number>

/** A unique column, and the cell by which the value of each row is looked up, computed from the value; undefined for a row without one. */
interface UniqueCells {
  readonly column: Column
  readonly lookup: string
  readonly cells: readonly (Exclude<Cell, null> | undefined)[]
  /** The same of the older root key, while look-up keys are rotated. */
  readonly older: readonly (Uint8Array | undefined)[]
}

/** Returns a suspicion for each row that shares a unique value with another row. */
export async function checkDuplicates(
  storage: StorageReads,
  barrier: Barrier,
  { page, unindexed }: { readonly page: OpenedPage; readonly unindexed: UnindexedValues },
): Promise<readonly Suspicion[]> {
  const suspicions: Suspicion[] = []
  for (const column of page.table.columns) {
    if (!column.unique || column.lookup === undefined) continue
    const unique = { column, lookup: column.lookup, ...lookupCellsOf(barrier.ring, page, column) }
    const others = [...(await findOthers(storage, page, unique)), ...rememberUnindexed(page, unique, unindexed)]
    if (others.length === 0) continue
    const ids = others.map(({ other }) => other)
    const opened = await openExisting(storage, barrier, { table: page.table, ids })
    const isShared = ({ index, other }: Other): boolean => {
      const value = page.values[index]?.[column.position]
      const held = opened.get(other)?.[column.position] ?? null
      return held !== null && isSameValue(column, value, held)
    }
    const shared = new Set(others.filter(isShared).map(({ index }) => index))
    for (const index of shared) suspicions.push({ kind: 'duplicate_value', row: required(page.rows[index]), column })
  }
  return suspicions
}

function lookupCellsOf(
  ring: KeyRing,
  { rows, values, digests }: OpenedPage,
  column: Column,
): Pick<UniqueCells, 'cells' | 'older'> {
  const computed = column.lookup === column.digest ? digests.get(column) : undefined
  const held = rows.map((_, index) => values[index]?.[column.position] ?? null)
  if (computed === undefined)
    return { cells: held.map((value) => (value === null ? undefined : column.type.toCell(value))), older: [] }
  const [, older] = ring.lookupVersions
  return { cells: computed, older: older === undefined ? [] : digestPresent(ring, column, held, older) }
}

/** The row at an index of the page, and the id of another row that seems to have the same value. */
interface Other {
  readonly index: number
  readonly other: number
}

/** Returns the other rows that storage finds by the cells. */
async function findOthers(
  storage: StorageReads,
  { table, rows }: OpenedPage,
  { lookup, cells, older }: UniqueCells,
): Promise<Other[]> {
  const values = [...cells, ...older].filter((cell) => cell !== undefined)
  if (values.length === 0) return []
  const filter = { kind: 'in', column: lookup, values } as const
  const page = { order: 'asc', limit: 2 * values.length + SPARE, columns: [lookup] } as const
  const found = await storage.find(table.physical.name, filter, page)
  const idsByCell = new Map<string, number[]>()
  for (const row of found) {
    if (!isRowId(row.id)) continue
    const key = keyOfCell(row[lookup])
    idsByCell.set(key, [...(idsByCell.get(key) ?? []), row.id])
  }
  return rows.flatMap(({ id }, index) => {
    const own = [cells[index], older[index]].filter((cell) => cell !== undefined)
    const ids = own.flatMap((cell) => idsByCell.get(keyOfCell(cell)) ?? [])
    return ids.filter((other) => other !== id).map((other) => ({ index, other }))
  })
}

/** Remembers the rows that storage does not find by their value. Returns the remembered rows that seem to have the same value. */
function rememberUnindexed(
  { rows }: OpenedPage,
  { column, lookup, cells, older }: UniqueCells,
  unindexed: UnindexedValues,
): Other[] {
  return rows.flatMap((row, index) => {
    const cell = cells[index]
    const stored = keyOfCell(row[lookup])
    if (cell === undefined || keyOfCell(cell) === stored || keyOfCell(older[index]) === stored) return []
    const key = `${column.objectId}/${keyOfCell(cell)}`
    const other = unindexed.get(key)
    if (other === undefined && unindexed.size < MAX_REMEMBERED) unindexed.set(key, row.id)
    return other === undefined || other === row.id ? [] : [{ index, other }]
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
