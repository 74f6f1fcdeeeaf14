/** Tables, rows, filters, pages and transactions that the conformance cases share. */
import type { Cell, Filter, NewRow, Page, PhysicalTable, Row, Storage } from '../../core/ports/storage.ts'
import { assert, rejectionOf } from '../assert.ts'

/** One column of each type and no index. */
export const THINGS: PhysicalTable = {
  name: 'things',
  columns: [
    { name: 'n', type: 'integer' },
    { name: 'r', type: 'real' },
    { name: 't', type: 'text' },
    { name: 'b', type: 'bytes' },
  ],
  indexes: [],
}

/** Unique indexes of every kind, and one that is not. */
export const KEYED: PhysicalTable = {
  name: 'keyed',
  columns: [
    { name: 'email', type: 'text' },
    { name: 'digest', type: 'bytes' },
    { name: 'number', type: 'integer' },
    { name: 'realm', type: 'text' },
    { name: 'nick', type: 'text' },
    { name: 'color', type: 'text' },
  ],
  indexes: [
    { columns: ['email'], unique: true },
    { columns: ['digest'], unique: true },
    { columns: ['number'], unique: true },
    { columns: ['realm', 'nick'], unique: true },
    { columns: ['color'], unique: false },
  ],
}

export const ALL: Page = { order: 'asc', limit: 1_000_000 }
export const EVERY: Filter = { kind: 'all' }

type Present = Exclude<Cell, null>

export const equal = (column: string, value: Present): Filter => ({ kind: 'compare', column, operator: '=', value })
export const unequal = (column: string, value: Present): Filter => ({ kind: 'compare', column, operator: '<>', value })
export const below = (column: string, value: Present): Filter => ({ kind: 'compare', column, operator: '<', value })
export const above = (column: string, value: Present): Filter => ({ kind: 'compare', column, operator: '>', value })
export const atMost = (column: string, value: Present): Filter => ({ kind: 'compare', column, operator: '<=', value })
export const atLeast = (column: string, value: Present): Filter => ({ kind: 'compare', column, operator: '>=', value })
export const among = (column: string, values: readonly Present[]): Filter => ({ kind: 'in', column, values })
export const isNull = (column: string): Filter => ({ kind: 'isNull', column })
export const not = (filter: Filter): Filter => ({ kind: 'not', filter })
export const and = (...filters: readonly Filter[]): Filter => ({ kind: 'and', filters })
export const or = (...filters: readonly Filter[]): Filter => ({ kind: 'or', filters })

/** Ids of all rows a filter finds, rising. */
export async function idsFound(storage: Storage, table: string, filter: Filter): Promise<number[]> {
  return (await storage.find(table, filter, ALL)).map((row) => row.id)
}

/** The one row of this id; rejects if it does not exist. */
export async function rowOf(storage: Storage, table: string, id: number): Promise<Row> {
  const [row] = await storage.get(table, [id])
  if (row === undefined) throw new Error(`table "${table}" should have a row ${id} and has none`)
  return row
}

/** Whole numbers from `first`, `count` of them. */
export function numbers(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, position) => first + position)
}

/** Bare rows of these ids. */
export function rowsWithIds(ids: readonly number[]): NewRow[] {
  return ids.map((id) => ({ id }))
}

/** Runs work in a transaction that then throws, and asserts that the thrown object is rethrown. */
export async function rolledBack(storage: Storage, work: (storage: Storage) => Promise<void>): Promise<void> {
  const reason = new Error('rolled back on purpose')
  let thrown: unknown
  const rejection = await rejectionOf(
    storage.transaction(async (inner) => {
      // What a case finds wrong inside is what it fails with.
      thrown = await work(inner).then(
        () => reason,
        (error: unknown) => error,
      )
      throw thrown
    }),
    'the transaction',
  )
  assert(rejection === thrown, 'what work threw should come out as the very same object')
  if (thrown !== reason) throw thrown
}

/** Counts the rows. */
export const COUNT = [{ kind: 'count' }] as const

/** One row changed, one deleted, one added: what a rollback must restore. */
export async function changeEverything(storage: Storage): Promise<void> {
  await storage.update('keyed', [{ id: 1, version: 1, set: { email: 'changed@x' } }])
  await storage.delete('keyed', { ids: [2] })
  await storage.insert('keyed', [{ id: 3, email: 'b@x' }])
}
