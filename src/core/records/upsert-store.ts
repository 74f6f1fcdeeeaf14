/** Writes records by a unique column: those that exist are changed and the others inserted, all or none, beginning again when others were quicker. */
import { isSameValue } from '../barrier/digest-values.ts'
import { keyOfCell } from '../barrier/lookup.ts'
import type { StoredRecord } from '../barrier/mint-tokens.ts'
import { mintRecords } from '../barrier/mint-tokens.ts'
import type { Values } from '../barrier/parse-record.ts'
import { openRows } from '../barrier/reveal.ts'
import { isVaultError, VaultError } from '../errors.ts'
import type { Cell, Row } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import type { SawBefore, Written } from './record-store.ts'
import { markedOf, STALE, storeChanges, storeNew } from './record-store.ts'
import type { WritingContext } from './writing-context.ts'
import type { Writing } from './write-request.ts'

/** Times an upsert begins again because others keep changing the same records. */
const MOST_ATTEMPTS = 1000

/** One record to write by its key. */
export interface Keyed {
  /** What storage finds the key under. */
  readonly cell: Exclude<Cell, null>
  readonly values: Values
  readonly brought: ReadonlyMap<string, string> | undefined
  /** Where it stood in the request. */
  readonly index: number
}

/** A row that stands, and what is to be written over it. */
export interface Change {
  readonly row: Row
  readonly values: Values
  readonly index: number
}

/** Records that share no key, and who may say no to storing them, by throwing. */
export interface Merged {
  readonly verb: string
  readonly key: Column
  readonly merged: readonly Keyed[]
  readonly tokenization: boolean
  assertNew(records: readonly Keyed[]): void
  assertChanges(changes: readonly Change[]): void
  /** Whether whoever asks may see what each of these rows holds. */
  sawBefore(rows: readonly Row[]): SawBefore
}

/** What became of them: each one's answer, and the rows they were written to. */
export interface Upserted {
  readonly records: readonly (StoredRecord | undefined)[]
  readonly rows: readonly number[]
}

/** Stores merged records; to be run inside a transaction. */
export async function storeMerged(context: WritingContext, table: Table, request: Merged): Promise<Upserted> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const found = await findByKey(context, table, request)
    const { merged } = request
    request.assertNew(merged.filter((_, place) => found[place] === undefined))
    request.assertChanges(merged.flatMap((_, place) => changeOf(merged, found, place)))
    try {
      return await context.unit.change((unit) => storeOnce({ ...context, unit }, table, request, found))
    } catch (error) {
      const raced = error === STALE || (isVaultError(error, 'conflict') && error.details[0]?.column === request.key.name)
      if (!raced) throw error
    }
  }
  throw new VaultError(
    'aborted',
    `${request.verb} failed. The records of table ${table.name} are being changed too often. Try again.`,
    { table: table.name },
  )
}

/** The row each merged record already has. */
async function findByKey(context: WritingContext, table: Table, { key, merged }: Merged): Promise<(Row | undefined)[]> {
  const cells = merged.map((record) => record.cell)
  const lookup = key.lookup ?? ''
  const rows = await context.unit.storage.find(
    table.physical.name,
    { kind: 'in', column: lookup, values: cells },
    { order: 'up', limit: merged.length },
  )
  const cursor = openRows(context.barrier, table, rows)
  const byCell = new Map(rows.map((row, index) => [keyOfCell(row[lookup]), index]))
  return merged.map(({ cell, values }) => {
    const index = byCell.get(keyOfCell(cell))
    if (index === undefined) return undefined
    cursor.to(index)
    // What a digest claims is checked on the opened value: a digest moved by hand brings no wrong record.
    return isSameValue(key, cursor.value(key), values[key.position]) ? rows[index] : undefined
  })
}

/** One try, inside its own savepoint: changes to the records that exist, then the new ones. */
async function storeOnce(
  context: WritingContext,
  table: Table,
  request: Merged,
  found: readonly (Row | undefined)[],
): Promise<Upserted> {
  const { merged, tokenization } = request
  const places = merged.map((_, place) => place)
  const old = places.filter((place) => found[place] !== undefined)
  const fresh = places.filter((place) => found[place] === undefined)
  const records: (StoredRecord | undefined)[] = new Array(merged.length)
  const rows: number[] = []
  const note = (at: readonly number[], written: Written, values: readonly Values[]): void => {
    const sawBefore = request.sawBefore(at.flatMap((place) => found[place] ?? []))
    const wanted = tokenization ? markedOf(written, values, sawBefore) : undefined
    const minted = mintRecords(context.barrier.ring, table, written.ids, wanted)
    for (const [k, record] of minted.entries()) records[at[k] ?? 0] = record
    rows.push(...written.ids)
  }
  if (old.length > 0) {
    const writing = writingOf(request, old)
    const written = await storeChanges(
      context,
      table,
      old.flatMap((place) => found[place] ?? []),
      writing,
    )
    if (written === undefined) throw STALE
    note(old, written, writing.records)
  }
  if (fresh.length > 0) {
    const writing = writingOf(request, fresh)
    note(fresh, await storeNew(context, table, writing), writing.records)
  }
  context.story.writes(table, rows)
  return { records, rows }
}

function changeOf(merged: readonly Keyed[], found: readonly (Row | undefined)[], place: number): Change[] {
  const [row, record] = [found[place], merged[place]]
  return row === undefined || record === undefined ? [] : [{ row, values: record.values, index: record.index }]
}

function writingOf({ merged, verb }: Merged, places: readonly number[]): Writing {
  const chosen = places.flatMap((place) => merged[place] ?? [])
  return {
    records: chosen.map(({ values }) => values),
    brought: chosen.map(({ brought }) => brought),
    verb,
    indexes: chosen.map(({ index }) => index),
  }
}
