/** Tests the evaluation of conditions against SQLite on the same rows, and against the tables of three-valued logic. */
import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import type { Truth } from '../../../src/core/expressions/condition.ts'
import { compileCondition } from '../../../src/core/expressions/evaluate-condition.ts'
import { PatternError } from '../../../src/core/expressions/like.ts'
import type { Table } from '../../../src/core/schema/layout.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'
import { type Drawing, drawCondition, drawRow, type Input } from './random-conditions.ts'
import { columnsKept, resolvedCondition, rowOf, tableIn } from './sample-table.ts'

const table = tableIn({ t: columnsKept(() => ({})) }, 't')

/** The parsed values of a row of inputs. */
function valuesOf(inputs: Readonly<Record<string, Input>>, id: string): Record<string, unknown> {
  const values = table.columns.map((column) => {
    const input = inputs[column.name] ?? null
    return [column.name, input === null ? null : column.type.parse(input)]
  })
  return { ...Object.fromEntries(values), svc_id: id }
}

/** A SQLite table with the same rows in plain cells. */
function shadowOf({ columns }: Table, rows: readonly Readonly<Record<string, unknown>>[]): Database.Database {
  const database = new Database(':memory:')
  database.pragma('case_sensitive_like = ON')
  const names = columns.map(({ name, type }) => `${name} ${type.physical === 'real' ? 'REAL' : type.physical}`)
  database.exec(`CREATE TABLE t (place INTEGER PRIMARY KEY, svc_id TEXT, ${names.join(', ')})`)
  const insert = database.prepare(`INSERT INTO t VALUES (?, ?${', ?'.repeat(columns.length)})`)
  rows.forEach((row, place) => {
    const cells = columns.map(({ name, type }) => (row[name] === null ? null : type.toCell(row[name])))
    insert.run(place, row.svc_id, ...cells)
  })
  return database
}

it('5,000 random conditions have the same truth as in SQLite in every row', () => {
  const random = seededRandom('conditions against SQLite')
  const drawing: Drawing = { ids: ['r1', 'r22', 'r9', '', 'R1'], foldsCase: false, asksKeys: true }
  const rows = Array.from({ length: 40 }, (_, place) => valuesOf(drawRow(random), `r${place}`))
  const database = shadowOf(table, rows)
  const seen = { true: 0, false: 0, undefined: 0 }
  for (let i = 0; i < 5000; i++) {
    const { ours, theirs } = drawCondition(random, drawing)
    const question = compileCondition(resolvedCondition(table, ours))
    const truths = rows.map((row) => question(rowOf(row)))
    expect(truths, ours).toEqual(truthsOf(database, theirs))
    for (const truth of truths) seen[`${truth}`]++
  }
  database.close()
  expect(Math.min(seen.true, seen.false, seen.undefined)).toBeGreaterThan(20_000)
})

function truthsOf(database: Database.Database, condition: string): Truth[] {
  const cells = database.prepare(`SELECT ${condition} FROM t ORDER BY place`).pluck().all()
  return cells.map((cell) => (cell === null ? undefined : cell === 1))
}

function truth(text: string, values: Readonly<Record<string, unknown>> = {}): Truth {
  return compileCondition(resolvedCondition(table, text))(rowOf(values))
}

it('AND, OR and NOT follow the tables of three-valued logic', () => {
  const words = { TRUE: 'b = TRUE', FALSE: 'b = FALSE', NULL: 'b2 = TRUE' }
  const truths = (text: string): Truth => truth(text, { b: true, b2: null })
  const all = Object.values(words)
  expect(all.map((left) => all.map((right) => truths(`${left} AND ${right}`)))).toEqual([
    [true, false, undefined],
    [false, false, false],
    [undefined, false, undefined],
  ])
  expect(all.map((left) => all.map((right) => truths(`${left} OR ${right}`)))).toEqual([
    [true, true, true],
    [true, false, undefined],
    [true, undefined, undefined],
  ])
  expect(all.map((word) => truths(`NOT ${word}`))).toEqual([false, true, undefined])
})

it('integers of 64 bits are compared to the last digit, with integers and with decimals', () => {
  const i = 9007199254740993n
  expect(truth('i = 9007199254740993', { i })).toBe(true)
  expect(truth('i = 9007199254740992', { i })).toBe(false)
  expect(truth('i < 9007199254740993.5', { i })).toBe(true)
  expect(truth('i > 9007199254740992.99999999999999999999', { i })).toBe(true)
  expect(truth('i = 9007199254740993.00000000000000000001', { i })).toBe(false)
  expect(truth('i = 9007199254740993.000', { i })).toBe(true)
  expect(truth('i > -9223372036854775808.5', { i: -(2n ** 63n) })).toBe(true)
  expect(truth('i < 9223372036854775807.5', { i: 2n ** 63n - 1n })).toBe(true)
  expect(truth('i = 9223372036854775808', { i: 2n ** 63n - 1n })).toBe(false)
})

it('an integer beside a float column is compared as a double', () => {
  expect(truth('i = f', { i: 9007199254740993n, f: 9007199254740992 })).toBe(true)
  expect(truth('f < i', { i: 3, f: 2.5 })).toBe(true)
})

it('a decimal that no integer equals is unequal to all integers, and unknown compared with null', () => {
  expect(truth('i = 85.5', { i: 85 })).toBe(false)
  expect(truth('NOT i = 85.5', { i: 85 })).toBe(true)
  expect(truth('i = 85.5', { i: null })).toBeUndefined()
  expect(truth('i < 1e300', { i: null })).toBeUndefined()
})

it('strings compare by code point', () => {
  expect(truth("s = 'é'", { s: 'e\u0301' })).toBe(false)
  expect(truth("s < '😀'", { s: '\uff5e' })).toBe(true)
})

it('ILIKE ignores case, also beyond ASCII', () => {
  expect(truth("s ILIKE 'ÉCOLE%'", { s: 'École 1' })).toBe(true)
  expect(truth("s LIKE 'ÉCOLE%'", { s: 'École 1' })).toBe(false)
})

it('a pattern can be a column, with another value in each row', () => {
  const question = compileCondition(resolvedCondition(table, 's LIKE s2'))
  const rows = [
    ['ab', 'a%'],
    ['ab', 'b%'],
    ['ab', null],
    [null, '%'],
    ['a%', 'a\\%'],
  ].map(([s, s2]) => rowOf({ s, s2 }))
  expect(rows.map((row) => question(row))).toEqual([true, false, undefined, undefined, true])
})

it('a pattern read from a column that ends in a lone backslash throws PatternError', () => {
  expect(() => truth('s LIKE s2', { s: 'ab', s2: 'a\\' })).toThrow(PatternError)
})

it('? finds own members of objects, and nothing in other JSON values', () => {
  expect(truth("j ? 'a'", { j: { a: null } })).toBe(true)
  expect(truth("j ? 'toString'", { j: {} })).toBe(false)
  expect(truth("j ? 'length'", { j: ['a'] })).toBe(false)
  expect(truth("j ? '0'", { j: 'a' })).toBe(false)
  expect(truth("j ? 'a'", { j: null })).toBeUndefined()
})

it('patterns match correctly when there are more than the cache holds', () => {
  const question = compileCondition(resolvedCondition(table, 's LIKE s2'))
  for (let i = 0; i < 1000; i++) expect(question(rowOf({ s: `x${i}`, s2: `x${i % 600}` }))).toBe(i < 600)
})
