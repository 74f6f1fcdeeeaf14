/** Finds what a changed schema makes unique together in existing tables, and refuses it where records hold equal values. */
import type { Barrier } from '../barrier/barrier.ts'
import { keyCells, textOfKey } from '../barrier/key-cells.ts'
import { columnValues } from '../barrier/reveal.ts'
import { type Fault, fault } from '../errors.ts'
import { eachPage } from '../pace/pace.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import type { Layout, Table, UniqueKey } from '../schema/layout.ts'
import { isSameKey, listNames } from '../schema/unique-together.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'

/** Columns of a table that become unique together. */
export interface GrownKey {
  readonly table: Table
  readonly key: UniqueKey
}

/** Returns the keys that are new. A key with a new column is held by no record. */
export function grownKeys(after: Layout, before: Layout): GrownKey[] {
  return [...after.tables.values()].flatMap((table) => {
    const was = before.tables.get(table.name)
    const isNew = ({ names }: UniqueKey): boolean => was?.uniqueKeys.some((key) => isSameKey(key.names, names)) === false
    const keys = table.uniqueKeys.filter((key) => key.columns.length > 1 && isNew(key))
    return keys.filter(({ names }) => names.every((name) => was?.byName.has(name))).map((key) => ({ table, key }))
  })
}

/** Throws `failed_precondition`, with the number of records, if records hold equal values. Reads all of them, a page at a time. */
export async function assertDistinct(
  storage: StorageReads,
  barrier: Barrier,
  { table, key, scheduler, signal }: GrownKey & { readonly scheduler: Scheduler; readonly signal?: Signal | undefined },
): Promise<void> {
  const counts = new Map<string, number>()
  for await (const rows of eachPage(storage, table.physical.name, { scheduler })) {
    assertNotAborted(signal)
    for (const cells of keyCells(barrier.ring, key, valuesOf(barrier, { table, key }, rows))) {
      if (cells === undefined) continue
      const text = textOfKey(cells)
      counts.set(text, (counts.get(text) ?? 0) + 1)
    }
  }
  let shared = 0
  for (const count of counts.values()) if (count > 1) shared += count
  if (shared > 0) throw equalKeys({ table, key }, shared)
}

/** Returns records with the values of the columns of a key only. */
function valuesOf(barrier: Barrier, { table, key }: GrownKey, rows: readonly Row[]): unknown[][] {
  const records = rows.map((): unknown[] => new Array(table.columns.length).fill(null))
  for (const column of key.columns)
    for (const [index, value] of columnValues(barrier, table, column, rows).entries()) {
      const record = records[index]
      if (record !== undefined) record[column.position] = value
    }
  return records
}

/** Returns the error for columns that cannot become unique together. */
function equalKeys({ table, key }: GrownKey, count: number): Fault {
  return fault(
    'failed_precondition',
    key.names.map((column) => ({ table: table.name, column })),
  )`Cannot open the vault: columns ${listNames(key.names)} of table ${table.name} cannot become unique together: ${count} records hold values that others hold. Change them first.`
}
