/** Whose key seals a record: that of a new subject, or that of the record which a reference names. */
import type { Barrier } from '../barrier/barrier.ts'
import type { Values } from '../barrier/parse-record.ts'
import { decodeRecordIds } from '../barrier/record-ids.ts'
import { columnValues, keyOf } from '../barrier/reveal.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { Column } from '../schema/column-layout.ts'
import { BODY, type Layout, type Table } from '../schema/layout.ts'
import { VAULT_KEY } from '../sealing/subject-bodies.ts'
import { required } from '../util/lists.ts'
import { makeKeys, type NewKeys } from './key-rows.ts'

/** The dependencies of finding the key of a record. */
interface OwnerContext {
  readonly barrier: Barrier
  readonly layout: Pick<Layout, 'tables'>
}

/** New records of a table, and their row ids. */
interface NewRecords {
  readonly table: Table
  readonly records: readonly Values[]
  readonly ids: readonly number[]
}

/**
 * Returns the key of each new record of a table with an owner, and the rows of those that are made. A record whose reference names no record of a subject is
 * sealed with the key of the vault.
 */
export async function keysOfNew(
  storage: StorageReads,
  context: OwnerContext,
  { table, records, ids }: NewRecords,
): Promise<NewKeys> {
  if (table.owner?.isSubject === true) return makeKeys(storage, context.barrier, table, ids)
  const keys = await keysOfReferences(storage, context, table, ({ position }) => records.map((values) => values[position]))
  return { ids: keys, rows: [] }
}

/** Returns the key of each record after a change; undefined if no reference is written: each keeps its key. */
export async function keysOfChanged(
  storage: StorageReads,
  context: OwnerContext,
  { table, records, rows }: { readonly table: Table; readonly records: readonly Values[]; readonly rows: readonly Row[] },
): Promise<readonly number[] | undefined> {
  const columns = referencesOf(table).map(({ column }) => column)
  const writes = columns.some(({ position }) => records.some((values) => values[position] !== undefined))
  if (!writes) return undefined
  const changed = await keysOfReferences(storage, context, table, (column) => {
    const before = columnValues(context.barrier, table, column, rows)
    return records.map((values, index) => (values[column.position] === undefined ? before[index] : values[column.position]))
  })
  return changed.map((key, index) => {
    const isWritten = columns.some(({ position }) => records[index]?.[position] !== undefined)
    return isWritten ? key : keyOf(required(rows[index]))
  })
}

/** Returns the key that a stored record is sealed with. */
export async function keyOfRecord(storage: Pick<StorageReads, 'find'>, table: Table, row: number): Promise<number> {
  if (table.owner === undefined) return VAULT_KEY
  return (await keysOfRecords(storage, table, [row])).get(row) ?? VAULT_KEY
}

/** Returns the key that each of these stored records is sealed with, by its row. Those that do not exist are left out. */
export async function keysOfRecords(
  storage: Pick<StorageReads, 'find'>,
  table: Table,
  records: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const filter = { kind: 'in', column: 'id', values: records } as const
  const page = { order: 'asc', limit: Math.max(1, records.length), columns: [BODY] } as const
  const rows = await storage.find(table.physical.name, filter, page)
  return new Map(rows.map((row) => [row.id, keyOf(row)]))
}

/** Returns the columns of a table that say whose a record is, in order, each with the name of the table that it refers to. */
function referencesOf({ owner, byName }: Table): readonly { readonly column: Column; readonly target: string }[] {
  return required(owner, 'The owner of a table').references.map(({ column, table }) => ({
    column: required(byName.get(column), 'A column with references'),
    target: table,
  }))
}

/** Returns the key of each record by the first of its references that has a value. */
export async function keysOfReferences(
  storage: StorageReads,
  { barrier, layout }: OwnerContext,
  table: Table,
  valuesOf: (column: Column) => readonly unknown[],
): Promise<number[]> {
  const keys: (number | undefined)[] = []
  let count = 0
  for (const { column, target: name } of referencesOf(table)) {
    const target = layout.tables.get(name)
    const values = valuesOf(column)
    count = values.length
    const open = values.flatMap((value, index) =>
      typeof value === 'string' && keys[index] === undefined ? [{ value, index }] : [],
    )
    if (target === undefined || open.length === 0) continue
    const decoded = decodeRecordIds(
      barrier.ring,
      target,
      open.map(({ value }) => value),
    )
    const ids = [...new Set(decoded.filter((row) => row !== undefined))]
    const byRow = await keysOfRecords(storage, target, ids)
    for (const [position, { index }] of open.entries()) keys[index] = byRow.get(decoded[position] ?? 0) ?? VAULT_KEY
  }
  return Array.from({ length: count }, (_, index) => keys[index] ?? VAULT_KEY)
}
