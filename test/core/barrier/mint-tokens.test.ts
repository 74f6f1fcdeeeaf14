/** Minting in slices: the ids and tokens are those of each row by itself, whatever a cell stores. */
import { expect, it } from 'vitest'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { systemEntropy } from '../../../src/adapters/system/system.ts'
import { type MintInput, mintRecords, mintTokens, type StoredRecord } from '../../../src/core/barrier/mint-tokens.ts'
import { encodeRecordIds } from '../../../src/core/barrier/record-ids.ts'
import { drawTokenMetadata } from '../../../src/core/barrier/token-metadata.ts'
import { assignIds, EMPTY_CATALOG_SCHEMA } from '../../../src/core/schema/catalog-schema.ts'
import type { Column } from '../../../src/core/schema/column-layout.ts'
import { layoutSchema, type Table } from '../../../src/core/schema/layout.ts'
import { required } from '../../../src/core/util/lists.ts'
import { column } from '../../../src/index.ts'

const RING = keyRingFactory.createRing('v1', [{ version: 1, key: new Uint8Array(32).fill(7) }])
const START_MS = Date.UTC(2026, 0, 31, 12)
const COLUMNS = {
  name: column.string({ token: 'random' }),
  email: column.string({ token: 'deterministic' }),
  ssn: column.string({ token: { kind: 'formatPreserving', format: 'ssn' } }),
  card: column.string({ token: { kind: 'deterministicFormatPreserving', format: 'digits' } }),
  code: column.string({ token: 'transient' }),
  city: column.string({}),
}

function tableOf(columns: Parameters<typeof assignIds>[0][string]): Table {
  return required(layoutSchema(assignIds({ people: columns }, EMPTY_CATALOG_SCHEMA)).tables.get('people'))
}

/** Rows of which every seventh cell is null, some tokens are supplied, some transient values have expired, and some tokens are hidden. */
function inputOf(table: Table, count: number): MintInput {
  const records = Array.from({ length: count }, (_, row) =>
    table.columns.map(({ position }) => ((row + position) % 7 === 0 ? null : String(1_000_000 + row * 10 + position))),
  )
  const supplied = records.map((values, row) =>
    row % 5 === 0
      ? new Map(
          table.columns.flatMap(({ name, position }) =>
            values[position] === null || position % 2 === 1 ? [] : [[name, `own ${row} ${name}`] as const],
          ),
        )
      : undefined,
  )
  const textOf = (row: number, { name, token, position }: Column) =>
    supplied[row]?.get(name) ?? (token?.keeps === 'text' ? `drawn ${row} ${position}` : undefined)
  const metadata = drawTokenMetadata(systemEntropy, table, records, {
    textOf,
    supplied,
    transientIds: Array.from({ length: count }, (_, index) => 9_000_000 + index),
    nowMs: START_MS,
  })
  for (const [slot, transient] of metadata.transientRefs.entries())
    if (transient !== undefined && slot % 3 === 0) metadata.transientRefs[slot] = { ...transient, expiresAt: START_MS }
  return {
    ids: Array.from({ length: count }, (_, row) => 17 + row * 3),
    metadata,
    nowMs: START_MS,
    valueOf: (row, { position }) => records[row]?.[position],
    hides: (row, { position }) => row % 4 === 0 && position < 3,
  }
}

/** Returns the records of each slice. */
function slicesOf(table: Table, ids: readonly number[], input: MintInput | undefined): readonly StoredRecord[][] {
  const minter = mintRecords(RING, table, ids, input)
  const slices: StoredRecord[][] = []
  for (let hasMore = true, seen = 0; hasMore; seen = minter.records.length) {
    hasMore = minter.mintSome()
    slices.push(minter.records.slice(seen))
  }
  return slices
}

it('mints in several slices what one has, for cells of every kind', () => {
  const table = tableOf(COLUMNS)
  const input = inputOf(table, 1500)
  const slices = slicesOf(table, input.ids, input)
  expect(slices.length).toBeGreaterThan(2)
  const whole = mintTokens(RING, table.tokenized, input)
  const ids = encodeRecordIds(RING, table, input.ids)
  expect(slices.flat()).toEqual(whole.map((tokens, row) => ({ id: ids[row], tokens })))
  const names = new Set(whole.map((tokens) => Object.keys(tokens).join()))
  expect(names.size).toBeGreaterThan(10)
  expect(whole.flatMap(Object.values)).toEqual(expect.arrayContaining(['own 10 name', 'drawn 9 2']))
})

it('mints a row at a time where one has more columns than a slice', () => {
  const wide = Object.fromEntries(
    Array.from({ length: 1100 }, (_, index) => [`c${index}`, column.string({ token: 'deterministic' })]),
  )
  const table = tableOf(wide)
  const input = inputOf(table, 3)
  const slices = slicesOf(table, input.ids, input)
  expect(slices.map((slice) => slice.length)).toEqual([1, 1, 1])
  expect(slices.flat().map(({ tokens }) => tokens)).toEqual(mintTokens(RING, table.tokenized, input))
})

it('mints a thousand records of few columns in one slice, also ids alone, and none', () => {
  const table = tableOf({ name: COLUMNS.name, city: COLUMNS.city })
  const input = inputOf(table, 1000)
  expect(slicesOf(table, input.ids, input)).toHaveLength(1)
  const ids = encodeRecordIds(RING, table, input.ids)
  expect(slicesOf(table, input.ids, undefined)).toEqual([ids.map((id) => ({ id }))])
  expect(slicesOf(table, [], undefined)).toEqual([[]])
})

it('mints ids of lists of any length', () => {
  const table = tableOf({ name: COLUMNS.name })
  const rows = Array.from({ length: 20_000 }, (_, row) => row + 1)
  const slices = slicesOf(table, rows, undefined)
  expect(slices.length).toBeGreaterThan(1)
  expect(slices.flat().map(({ id }) => id)).toEqual(encodeRecordIds(RING, table, rows))
})
