/** Whose key seals a record: that of a new subject, or that of the record which a reference names. */
import type { Barrier } from '../barrier/barrier.ts'
import type { Values } from '../barrier/parse-record.ts'
import { decodeRecordIds } from '../barrier/record-ids.ts'
import { columnValues, keyOf } from '../barrier/reveal.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
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
 * Returns the key of each new record, and the rows of those that are made; undefined for a table whose records are sealed with the key of the vault. A
 * record whose reference names no record of a subject is, too.
 */
export async function keysOfNew(
  storage: StorageReads,
  context: OwnerContext,
  { table, records, ids }: NewRecords,
): Promise<NewKeys | undefined> {
  if (table.owner === undefined) return undefined
  if (table.owner.isSubject) return makeKeys(storage, context.barrier, table, ids)
  const keys = await keysOfReferences(storage, context, table, (name) => {
    const column = required(table.byName.get(name), 'A column with references')
    return records.map((values) => values[column.position])
  })
  return { ids: keys, rows: [] }
}

/** Returns the key of each record after a change; undefined if no reference is written: each keeps its key. */
export async function keysOfChanged(
  storage: StorageReads,
  context: OwnerContext,
  { table, records, rows }: { readonly table: Table; readonly records: readonly Values[]; readonly rows: readonly Row[] },
): Promise<readonly number[] | undefined> {
  const columns =
    table.owner?.references.map(({ column }) => required(table.byName.get(column), 'A column with references')) ?? []
  const writes = columns.some(({ position }) => records.some((values) => values[position] !== undefined))
  if (!writes) return undefined
  const changed = await keysOfReferences(storage, context, table, (name) => {
    const column = required(table.byName.get(name), 'A column with references')
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
  const filter = { kind: 'compare', column: 'id', operator: '=', value: row } as const
  const [found] = await storage.find(table.physical.name, filter, { order: 'asc', limit: 1, columns: [BODY] })
  return found === undefined ? VAULT_KEY : keyOf(found)
}

/** Returns the key of each record by the first of its references that has a value. */
export async function keysOfReferences(
  storage: StorageReads,
  { barrier, layout }: OwnerContext,
  table: Table,
  valuesOf: (column: string) => readonly unknown[],
): Promise<number[]> {
  const keys: (number | undefined)[] = []
  let count = 0
  for (const { column, table: name } of required(table.owner, 'The owner of a table').references) {
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
    const filter = { kind: 'in', column: 'id', values: ids } as const
    const rows = await storage.find(target.physical.name, filter, {
      order: 'asc',
      limit: Math.max(1, ids.length),
      columns: [BODY],
    })
    const byRow = new Map(rows.map((row) => [row.id, keyOf(row)]))
    for (const [position, { index }] of open.entries()) keys[index] = byRow.get(decoded[position] ?? 0) ?? VAULT_KEY
  }
  return Array.from({ length: count }, (_, index) => keys[index] ?? VAULT_KEY)
}
