/** What writers and readers do beside their work while look-up keys are rotated: digests of the older root key give way to those of the newest, and stay known. */
import { digestValues, digestVersion, keyOfCell } from '../barrier/digest-values.ts'
import { keyAlternatives, keyCells, newestCells } from '../barrier/key-cells.ts'
import type { Values } from '../barrier/parse-record.ts'
import type { KeyRing } from '../ports/crypto.ts'
import type { Filter, Patch, Row, Storage, StorageReads } from '../ports/storage.ts'
import { type ReadingContext, valuesInSlices } from '../row-access/evaluate-access.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table, UniqueKey } from '../schema/layout.ts'
import { FORMER_TOKENS, TOKENS } from '../schema/system-tables.ts'
import { keyOfBytes } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import { findKeyedRows } from './find-by-keys.ts'
import { digestTokenTexts, type NewToken } from './token-store.ts'

/** Digests of values or texts by the older root key, and by the newest, in order. */
export interface ReplacedDigests {
  readonly older: readonly Uint8Array[]
  readonly newest: readonly Uint8Array[]
}

/** Records that are written, and their stored tokens. */
export interface WrittenDigests {
  readonly table: Table
  readonly records: readonly Values[]
  readonly tokens: readonly NewToken[]
  /** The rows that they are written over. */
  readonly rows?: readonly number[]
}

/**
 * Prepares a write under two root keys, inside its transaction: rows that hold its unique values and stored tokens by the older key get the digests of the
 * newest, so that the unique index, which only compares equal digests, compares them with what is written. No digest ever goes back, so that no row is
 * missed. What deterministic tokens of the older key stand for is noted.
 */
export async function replaceOlder(storage: Storage, ring: KeyRing, version: number, written: WrittenDigests): Promise<void> {
  const { table, records, tokens, rows = [] } = written
  for (const column of table.digested) {
    const values = records.map((record) => record[column.position] ?? null).filter((value) => value !== null)
    if (values.length === 0) continue
    const replaced = replacedBy(ring, column, { values, version })
    if (column.unique && column.plain === undefined && column.digest !== undefined) {
      // A row that gets another value gives up its own.
      const own = rows.filter((_, index) => records[index]?.[column.position] !== undefined)
      await raiseRows(storage, { table: table.physical.name, column: column.digest }, replaced, own)
    }
    if (showsDigest(column)) await noteFormer(storage, replaced)
  }
  for (const key of table.uniqueKeys) if (isOfDigests(key)) await raiseKeyed(storage, ring, { table, key, records, rows })
  const texts = tokens.map(({ text }) => text)
  const replaced = { older: digestTokenTexts(ring, texts, version), newest: digestTokenTexts(ring, texts) }
  if (texts.length > 0) await raiseRows(storage, { table: TOKENS.name, column: 'digest' }, replaced)
}

/** True if the tokens of a column are the digests of its values, so that a text of an older root key says nothing to look up by a newer one. */
export function showsDigest({ token }: Column): boolean {
  return token?.isDeterministic === true && !token.hasFormat
}

/** Returns the digests of values by both root keys. */
function replacedBy(
  ring: KeyRing,
  column: Column,
  { values, version }: { readonly values: readonly unknown[]; readonly version: number },
): ReplacedDigests {
  return { older: digestValues(ring, column, values, version), newest: digestValues(ring, column, values, digestVersion(ring)) }
}

/** Stores the newest digests in the rows that have these older ones. A row that others change meanwhile gets it from them, or from the pass. */
async function raiseRows(
  storage: Storage,
  { table, column }: { readonly table: string; readonly column: string },
  { older, newest }: ReplacedDigests,
  except: readonly number[] = [],
): Promise<void> {
  const byOlder = new Map(older.map((digest, index) => [keyOfBytes(digest), at(newest, index)]))
  const filter = { kind: 'in', column, values: older } as const
  const found = await storage.find(table, filter, { order: 'asc', limit: older.length, columns: [column] })
  const patches = found.flatMap((row): Patch[] => {
    const digest = byOlder.get(keyOfCell(row[column]))
    return digest === undefined || except.includes(row.id)
      ? []
      : [{ id: row.id, version: row.version, set: { [column]: digest } }]
  })
  if (patches.length > 0) await storage.update(table, patches)
}

/** True for a key of several columns, one of which is compared by its digest. */
function isOfDigests({ columns }: UniqueKey): boolean {
  return columns.length > 1 && columns.some(({ plain }) => plain === undefined)
}

/** Stores the newest digests in the rows that hold a key of these records: not in those that the records are written over. */
async function raiseKeyed(
  storage: Storage,
  ring: KeyRing,
  { table, key, records, rows }: Pick<WrittenDigests, 'table' | 'records'> & { key: UniqueKey; rows: readonly number[] },
): Promise<void> {
  const cells = keyCells(ring, key, records)
  const isWhole = (_: unknown, index: number): boolean => cells[index] !== undefined
  const own = new Set(rows.filter(isWhole))
  const keys = keyAlternatives(ring, key, records.filter(isWhole), cells.filter(isWhole))
  const cellsOf = newestCells(key, keys)
  const found = await findKeyedRows(storage, { table, key, columns: key.cells }, keys)
  const patches = found.flatMap((row): Patch[] => {
    const cells = cellsOf(row)
    const changed = key.cells.flatMap((name, member) => {
      const cell = cells[member] ?? null
      return keyOfCell(cell) === keyOfCell(row[name]) ? [] : [[name, cell] as const]
    })
    return changed.length === 0 || own.has(row.id) ? [] : [{ id: row.id, version: row.version, set: Object.fromEntries(changed) }]
  })
  if (patches.length > 0) await storage.update(table.physical.name, patches)
}

/**
 * Returns the records of a change under two root keys, with the stored values of columns that they do not name and that are unique together with one that
 * they do. Their digests are written with the others: the unique index compares what is of one root key.
 */
export async function completeKeys(
  context: Pick<ReadingContext, 'barrier' | 'scheduler'>,
  { table, records, rows }: { readonly table: Table; readonly records: readonly Values[]; readonly rows: readonly Row[] },
): Promise<readonly Values[]> {
  const completed = records.map((values) => [...values])
  for (const key of table.uniqueKeys) {
    if (!isOfDigests(key)) continue
    for (const column of key.columns) {
      const partial = records.flatMap((values, index) => {
        const isNamed = key.columns.some(({ position }) => values[position] !== undefined)
        return isNamed && values[column.position] === undefined ? [index] : []
      })
      const held = await valuesInSlices(
        context,
        { table, column },
        partial.map((index) => at(rows, index)),
      )
      for (const [nth, index] of partial.entries()) at(completed, index)[column.position] = held[nth]
    }
  }
  return completed
}

/** Returns the patches of records with the newest digests of what `completeKeys` added to them. */
export function withCompleted(
  ring: KeyRing,
  {
    table,
    records,
    completed,
  }: { readonly table: Table; readonly records: readonly Values[]; readonly completed: readonly Values[] },
  patches: readonly Patch[],
): readonly Patch[] {
  return patches.map((patch, index) => {
    const set = table.digested.flatMap((column) => {
      const value = completed[index]?.[column.position] ?? null
      return column.digest === undefined || value === null || records[index]?.[column.position] !== undefined
        ? []
        : [[column.digest, at(digestValues(ring, column, [value]), 0)] as const]
    })
    return set.length === 0 ? patch : { ...patch, set: { ...patch.set, ...Object.fromEntries(set) } }
  })
}

/** Notes which digests deterministic tokens of the older root key stand for. Throws `conflict` if others note one meanwhile. */
export async function noteFormer(storage: Storage, { older, newest }: ReplacedDigests): Promise<void> {
  const missing = new Map(older.map((digest, index) => [keyOfBytes(digest), { digest, successor: at(newest, index) }]))
  for (const key of (
    await findSuccessors(
      storage,
      [...missing.values()].map(({ digest }) => digest),
    )
  ).keys())
    missing.delete(key)
  if (missing.size === 0) return
  const ids = await storage.reserveIds(FORMER_TOKENS.name, missing.size)
  await storage.insert(
    FORMER_TOKENS.name,
    [...missing.values()].map((cells, index) => ({ id: at(ids, index), ...cells })),
  )
}

/** Returns what has replaced these digests, by their keys. */
export async function findSuccessors(
  storage: StorageReads,
  digests: readonly Uint8Array[],
): Promise<ReadonlyMap<string, Uint8Array>> {
  const filter: Filter = { kind: 'in', column: 'digest', values: digests }
  const rows = await storage.find(FORMER_TOKENS.name, filter, { order: 'asc', limit: Math.max(1, digests.length) })
  return new Map(
    rows.flatMap(({ digest, successor }) => (successor instanceof Uint8Array ? [[keyOfCell(digest), successor]] : [])),
  )
}
