/** Tests the filters of conditions: they find every row in which the condition is true, and no other row if they are exact. */
import { beforeAll, describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { digestValues } from '../../../src/core/barrier/digest-values.ts'
import { decodeRecordIds } from '../../../src/core/barrier/record-ids.ts'
import { type ConditionFilter, type FilterCells, toFilter } from '../../../src/core/expressions/condition-filter.ts'
import { compileCondition } from '../../../src/core/expressions/evaluate-condition.ts'
import type { Filter } from '../../../src/core/ports/storage.ts'
import type { Table } from '../../../src/core/schema/layout.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'
import { type LooseVault, openLoose } from '../../support/vaults/open-untyped.ts'
import { drawCondition, drawRow, type Input } from './random-conditions.ts'
import { columnsKept, resolvedCondition, rowOf, tableIn } from './sample-table.ts'

/** One table stored in three ways: plain, sealed with digests, and sealed without. */
const SCHEMA = {
  plain: columnsKept(() => ({ encrypted: false })),
  digested: columnsKept(() => ({ searchable: true })),
  sealed: columnsKept(() => ({})),
  loose: { s: { type: 'STRING', searchable: true, normalize: ['trim', 'lowercase'] }, i: { type: 'INTEGER' } },
} as const
const ROWS = 60
const CONDITIONS = 1500

/** The rows of a table as values, in the order of storage. */
interface Kept {
  readonly table: Table
  readonly cells: FilterCells
  readonly values: readonly Readonly<Record<string, unknown>>[]
  readonly ids: readonly string[]
}

let trial: LooseVault

beforeAll(async () => {
  trial = await openLoose(memoryStorage(), SCHEMA)
})

async function keep(name: string, records: readonly Readonly<Record<string, Input>>[]): Promise<Kept> {
  const table = tableIn(SCHEMA, name)
  const stored = await trial.session.insert(
    name,
    records.map((fields) => ({ fields })),
  )
  const ids = stored.records.map(({ id }) => id)
  const values = records.map((record, index) => ({ ...valuesOf(table, record), svc_id: ids[index] }))
  const cells: FilterCells = {
    digestsOf: (column, value) => digestValues(trial.ring, column, [value]),
    rowOf: (id) => decodeRecordIds(trial.ring, table, [id])[0],
  }
  return { table, cells, values, ids }
}

function valuesOf(table: Table, record: Readonly<Record<string, Input>>): Record<string, unknown> {
  const entries = table.columns.map(({ name, type }) => {
    const input = record[name] ?? null
    return [name, input === null ? null : type.parse(input)]
  })
  return Object.fromEntries(entries)
}

/** Indexes of the rows that a filter finds. */
async function placesFound({ table, cells, ids }: Kept, filter: Filter): Promise<number[]> {
  const rows = await trial.storage.find(table.physical.name, filter, { order: 'asc', limit: 10_000 })
  const places = new Map(ids.map((id, place) => [cells.rowOf(id), place]))
  return rows.map(({ id }) => places.get(id) ?? -1)
}

function placesTrue({ table, values }: Kept, condition: string): number[] {
  const question = compileCondition(resolvedCondition(table, condition))
  return values.flatMap((row, place) => (question(rowOf(row)) === true ? [place] : []))
}

/** What is wrong with the filter of a condition, or undefined. */
async function faultOf(kept: Kept, condition: string, { filter, isExact }: ConditionFilter): Promise<string | undefined> {
  const wanted = placesTrue(kept, condition)
  const found = new Set(await placesFound(kept, filter))
  if (wanted.some((place) => !found.has(place))) return `misses rows of ${condition}`
  return isExact && found.size > wanted.length ? `finds too much for ${condition}` : undefined
}

describe.each(['plain', 'digested', 'sealed'])('a table kept %s', (name) => {
  it(`${CONDITIONS} random conditions find all their rows in storage, and no others if the filter is exact`, async () => {
    const random = seededRandom(`filters of ${name}`)
    const kept = await keep(
      name,
      Array.from({ length: ROWS }, () => drawRow(random)),
    )
    const some = kept.ids.slice(0, 3)
    const drawing = { ids: [...some, ...some.map((id) => id.toUpperCase()), 'x'], foldsCase: true, asksKeys: name !== 'plain' }
    const counts = { exact: 0, narrowing: 0 }
    for (let i = 0; i < CONDITIONS; i++) {
      const { ours } = drawCondition(random, drawing)
      const asked = toFilter(resolvedCondition(kept.table, ours), kept.cells)
      expect(await faultOf(kept, ours, asked)).toBeUndefined()
      if (asked.isExact) counts.exact++
      if (asked.filter.kind !== 'all') counts.narrowing++
    }
    // A filter that never narrows and is never exact would also pass.
    const min = { plain: [300, 900], digested: [100, 600], sealed: [50, 150] }[name] ?? []
    expect(counts.exact).toBeGreaterThan(min[0] ?? 0)
    expect(counts.narrowing).toBeGreaterThan(min[1] ?? 0)
  })
})

it('the property fails for a filter that is too narrow, and for one wrongly marked exact', async () => {
  const kept = await keep('plain', [{ i: 1 }, { i: 2 }, { i: null }])
  const [filter] = [toFilter(resolvedCondition(kept.table, 'i = 1'), kept.cells).filter]
  expect(await faultOf(kept, 'i < 3', { filter, isExact: false })).toBe('misses rows of i < 3')
  expect(await faultOf(kept, 'i = 1', { filter: { kind: 'all' }, isExact: true })).toBe('finds too much for i = 1')
})

it('a digest finds strings that are equal after normalization only, and the filter is not exact', async () => {
  const kept = await keep('loose', [{ s: 'Ann' }, { s: ' ann' }, { s: 'bob' }, {}])
  const asked = toFilter(resolvedCondition(kept.table, "s = 'Ann'"), kept.cells)
  expect(await placesFound(kept, asked.filter)).toEqual([0, 1])
  expect(asked.isExact).toBe(false)
  const opposite = toFilter(resolvedCondition(kept.table, "NOT s = 'Ann'"), kept.cells)
  expect(await placesFound(kept, opposite.filter)).toEqual([0, 1, 2])
})

describe('the shape of filters', () => {
  const table = tableIn(SCHEMA, 'plain')
  const columns = { i: table.byName.get('i')?.plain ?? '', s: table.byName.get('s')?.plain ?? '' }
  const shaped = (condition: string, name: 'plain' | 'sealed' = 'plain'): ConditionFilter =>
    toFilter(resolvedCondition(name === 'plain' ? table : tableIn(SCHEMA, name), condition), {
      digestsOf: () => [],
      rowOf: (id) => (id === 'ours' ? 7 : undefined),
    })

  it('equalities of one column joined by OR are one list', () => {
    expect(shaped("i = 1 OR s = 'a' OR i = 2 OR (3 = i OR s > 'b')")).toEqual({
      filter: {
        kind: 'or',
        filters: [
          { kind: 'in', column: columns.i, values: [1, 2, 3] },
          { kind: 'compare', column: columns.s, operator: '=', value: 'a' },
          { kind: 'compare', column: columns.s, operator: '>', value: 'b' },
        ],
      },
      isExact: true,
    })
    expect(shaped('NOT (NOT i = 1 AND NOT i = 2)').filter).toEqual({ kind: 'in', column: columns.i, values: [1, 2] })
  })

  it('a condition that storage cannot evaluate widens an OR to every row and leaves an AND narrowed', () => {
    const like = "s LIKE 'a%'"
    expect(shaped(`i = 1 AND ${like}`)).toEqual({
      filter: {
        kind: 'and',
        filters: [
          { kind: 'compare', column: columns.i, operator: '=', value: 1 },
          { kind: 'not', filter: { kind: 'isNull', column: columns.s } },
        ],
      },
      isExact: false,
    })
    expect(shaped(`i = 1 OR ${like}`, 'sealed')).toEqual({ filter: { kind: 'all' }, isExact: false })
  })

  it('a comparison of plain integers with a decimal is exact', () => {
    expect(shaped('i > 85.5')).toEqual({
      filter: { kind: 'compare', column: columns.i, operator: '>', value: 85 },
      isExact: true,
    })
    expect(shaped('i < 85.5').filter).toEqual({ kind: 'compare', column: columns.i, operator: '<', value: 86 })
  })

  it('an id of no row finds nothing, and its negation finds every row', () => {
    const nothing = { filter: { kind: 'or', filters: [] }, isExact: true }
    expect(shaped("svc_id = 'theirs'")).toEqual(nothing)
    expect(shaped("svc_id = 'theirs' AND s LIKE 'a'")).toEqual(nothing)
    expect(shaped("NOT svc_id = 'theirs'")).toEqual({ filter: { kind: 'all' }, isExact: true })
  })

  it('the id of a row gives an exact filter, several ids one list', () => {
    expect(shaped("svc_id = 'ours'")).toEqual({
      filter: { kind: 'compare', column: 'id', operator: '=', value: 7 },
      isExact: true,
    })
    expect(shaped("NOT svc_id = 'ours'").filter).toEqual({ kind: 'compare', column: 'id', operator: '<>', value: 7 })
    expect(shaped("svc_id = 'ours' OR svc_id = 'theirs' OR svc_id = 'ours'").filter).toEqual({
      kind: 'in',
      column: 'id',
      values: [7, 7],
    })
  })

  it('a constant condition finds every row or none', () => {
    expect(shaped('1 = 1')).toEqual({ filter: { kind: 'all' }, isExact: true })
    expect(shaped('NULL')).toEqual({ filter: { kind: 'or', filters: [] }, isExact: true })
    expect(shaped('NOT NULL')).toEqual({ filter: { kind: 'or', filters: [] }, isExact: true })
    expect(shaped("1 = 1 OR s LIKE 'a'")).toEqual({ filter: { kind: 'all' }, isExact: true })
  })
})
