/** The law that known forms change no plan, its negative controls, and what of a query is kept. */
import { inspect } from 'node:util'
import { beforeEach, describe, expect, it } from 'vitest'
import { planText, readQuery } from '../../src/core/queries/query-text.ts'
import { RECORD_ID_NAME } from '../../src/core/schema/names.ts'
import { column } from '../../src/index.ts'
import { assertPlannedAlike, queryForms } from '../laws/query-forms.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { openQueries, type Queries } from '../support/queries/open-queries.ts'

itHolds(queryForms)

const SHOWN = { redaction: 'PLAIN_TEXT' } as const
const PEOPLE = {
  name: column.string({ ...SHOWN, searchable: true }),
  age: column.integer({ ...SHOWN, encrypted: false }),
  born: column.date(SHOWN),
}
const TEST_SECRET = 'a secret name'

describe('a query of a known form', () => {
  let queries: Queries

  beforeEach(async () => {
    queries = await openQueries({ people: PEOPLE, pets: { owner: column.string(SHOWN) } })
  })

  const read = (sql: string, values: readonly unknown[] = []) =>
    readQuery(sql, { layout: queries.context.layout, idName: RECORD_ID_NAME }, values)
  const plan = (sql: string, values: readonly unknown[] = []) => planText(queries.context, read(sql, values))
  const kindOf = (sql: string, values: readonly unknown[] = []) => read(sql, values).parsed.kind

  it('is one that differs only in literals', () => {
    plan("SELECT name FROM people WHERE name = 'a' AND age > -5 LIMIT 3")
    expect(kindOf("SELECT name FROM people WHERE name = 'it''s' AND age > -7.25e3 LIMIT 3")).toBe('known')
    expect(kindOf("SELECT name FROM people WHERE name = '' AND age > -.5 LIMIT 3")).toBe('known')
    const others = [
      "SELECT name FROM people WHERE name = 'a' AND age > 5 LIMIT 3",
      "SELECT name FROM people WHERE name = 'a' AND age > -5 LIMIT 4",
      "SELECT name FROM people WHERE name = 'a' AND age < -5 LIMIT 3",
      'SELECT name FROM people WHERE name = 5 AND age > -5 LIMIT 3',
      "SELECT name FROM people WHERE name = 'MASKED' AND age > -5 LIMIT 3",
      'SELECT name FROM people WHERE name = "a" AND age > -5 LIMIT 3',
      "SELECT name FROM people WHERE name = 'a' /* */ AND age > -5 LIMIT 3",
      "SELECT name FROM people WHERE name = 'a' AND age > -5 LIMIT 3 -- 1",
      'SELECT name FROM people WHERE name = \u0000 AND age > -\u0001 LIMIT 3',
      `SELECT name FROM people WHERE name = '${'x'.repeat(2048)}' AND age > -5 LIMIT 3`,
    ]
    expect(others.map((sql) => kindOf(sql)).filter((kind) => kind === 'known')).toEqual([])
  })

  it('is one that differs only in literals and parameters', () => {
    plan("SELECT name FROM people WHERE name = 'a' AND age > 5 LIMIT 3")
    const parameterized = 'SELECT name FROM people WHERE name = $1 AND age > $2 LIMIT $3'
    expect(kindOf(parameterized, ['b', -7, 3])).toBe('known')
    expect(kindOf("SELECT name FROM people WHERE name = 'b' AND age > $1 LIMIT 3", [2n ** 70n])).toBe('known')
    expect(kindOf('SELECT name FROM people WHERE name = $2 AND age > $1 LIMIT $1', [3, 'MASKED'])).toBe('known')
    expect(kindOf(parameterized, ['b', -7, 4])).toBe('new')
    expect(kindOf(parameterized, ['b', '7', 3])).toBe('new')
    expect(kindOf(parameterized, ['x'.repeat(2049), 7, 3])).toBe('new')
    plan('SELECT name FROM people WHERE age = $1 OR name = $2', [1, 'x'])
    expect(kindOf("SELECT name FROM people WHERE age = 5 OR name = 'y'")).toBe('known')
    plan('SELECT name FROM people WHERE $1 = $1 OR age = $2', [true, null])
    expect(kindOf('SELECT name FROM people WHERE $2 = $2 OR age = $1', [null, false])).toBe('known')
  })

  it('is not one whose parameters are where no literal can be, or whose values do not fit', () => {
    plan("SELECT name FROM people WHERE name = 'a' AND age > -5 AND TRUE LIMIT 3")
    const refused: [string, unknown[]][] = [
      ['SELECT name FROM people WHERE name = $1 AND age > -$2 AND TRUE LIMIT 3', ['a', 5]],
      ['SELECT name FROM people WHERE name = $1 AND age > - $2 AND TRUE LIMIT 3', ['a', 5]],
      ['SELECT name FROM people WHERE name = $1 AND age > -5 AND $2 LIMIT 3', ['a', true]],
      ['SELECT name FROM people WHERE name = $1 AND age > -5 AND TRUE LIMIT$2', ['a', 3]],
      ['SELECT name FROM people WHERE name =$1 AND age > -5 AND TRUE LIMIT 3', ['a', 'b']],
      ['SELECT name FROM people WHERE name = $1 AND age > -5 AND TRUE LIMIT 3', []],
      ['SELECT name FROM people WHERE name = $2 AND age > -5 AND TRUE LIMIT 3', ['a', 'b']],
      ['SELECT name FROM people WHERE name = $0 AND age > -5 AND TRUE LIMIT 3', ['a']],
      ['SELECT name FROM people WHERE name = \u0000 AND age > -5 AND TRUE LIMIT 3', []],
      ['SELECT name FROM people WHERE name = \u0000 AND age > -5 AND \u0003 LIMIT $1', [3]],
    ]
    for (const [sql, values] of refused) {
      expect(kindOf(sql, values), sql).toBe('invalid')
      expect(() => plan(sql, values), sql).toThrow(/is invalid|has no value|is not supported|is not used|Unexpected|numbered/)
    }
  })

  it('is not one whose literals decide which conditions there are', () => {
    plan("SELECT name FROM people WHERE 'a' = 'a' OR name = 'b'")
    const sql = "SELECT name FROM people WHERE 'a' = 'c' OR name = 'b'"
    expect(plan(sql).first.filter).not.toEqual({ kind: 'all' })
    assertPlannedAlike(queries.context, sql)
  })

  it('has the errors of its own text, at their own positions', () => {
    plan("SELECT name FROM people WHERE name = 'a' AND born = '2020-01-01'")
    const sql = "SELECT name FROM people WHERE name = 'a longer name' AND born = '2020-02-30'"
    expect(kindOf(sql)).toBe('known')
    expect(() => plan(sql)).toThrow('Line 1, column 65')
    plan("SELECT name FROM people WHERE name LIKE 'a%'")
    expect(() => plan("SELECT name FROM people WHERE name LIKE 'a\\'")).toThrow('backslash')
  })

  it('finds what it asks for, not what the first query of its form asked for', async () => {
    await queries.insert('people', [
      { name: 'a', age: 1 },
      { name: 'b', age: 2 },
    ])
    for (const name of ['a', 'b', 'c', 'a']) {
      const found = name === 'c' ? [] : [{ name }]
      expect(await queries.query(`SELECT name FROM people WHERE name = '${name}'`)).toEqual(found)
    }
  })

  it('is planned with the grants of its own caller', async () => {
    const policy = { noAges: ['ALLOW READ ON people.name WITH REDACTION = PLAIN_TEXT'] }
    const owner = await openQueries({ people: PEOPLE }, { policy })
    const other = owner.as(['noAges'])
    expect(await owner.query('SELECT name FROM people WHERE age = 1')).toEqual([])
    await expect(other.query('SELECT name FROM people WHERE age = 2')).rejects.toThrow('is invalid')
    expect(await owner.query('SELECT name FROM people WHERE age = 3')).toEqual([])
  })

  it('keeps nothing of a literal', () => {
    plan(
      `SELECT name FROM people JOIN pets ON owner = name AND owner LIKE '${TEST_SECRET}%' WHERE name = '${TEST_SECRET}' AND age = 4711`,
    )
    const { parsed } = read("SELECT name FROM people JOIN pets ON owner = name AND owner LIKE 'x' WHERE name = '' AND age = 1")
    if (parsed.kind !== 'known') throw new Error('the form was not kept')
    const kept = inspect(parsed.form, { depth: 20, showHidden: true, maxArrayLength: null })
    expect(kept).toContain('owner')
    expect(kept).not.toContain(TEST_SECRET)
    expect(kept).not.toContain('4711')
  })

  it('keeps nothing of a value', () => {
    plan('SELECT name FROM people WHERE name LIKE $1 OR name = $2 OR age = $3 LIMIT 2', [`${TEST_SECRET}%`, TEST_SECRET, 4711])
    const { parsed } = read("SELECT name FROM people WHERE name LIKE 'a' OR name = 'b' OR age = 1 LIMIT 2")
    if (parsed.kind !== 'known') throw new Error('the form was not kept')
    const kept = inspect(parsed.form, { depth: 20, showHidden: true, maxArrayLength: null })
    expect(kept).toContain('name')
    expect(kept).not.toContain(TEST_SECRET)
    expect(kept).not.toContain('4711')
  })

  it('is forgotten after many other forms', () => {
    const first = 'SELECT name FROM people WHERE age = 1'
    plan(first)
    for (let index = 0; index < 300; index++) plan(`SELECT name AS n${index} FROM people WHERE age = 1`)
    expect(kindOf(first)).toBe('new')
    plan(first)
    for (let index = 0; index < 300; index++) {
      plan(`SELECT age AS n${index} FROM people WHERE age = 1`)
      expect(kindOf(first)).toBe('known')
    }
  })
})

describe('the check of plans', () => {
  it('fails for a plan with the literals of another query', async () => {
    const { context } = await openQueries({ people: PEOPLE })
    const layout = context.layout
    const faulty = { ...context, layout: { ...layout } }
    assertPlannedAlike(faulty, "SELECT name FROM people WHERE name = 'a'")
    const { parsed } = readQuery("SELECT name FROM people WHERE name = 'b'", { layout: faulty.layout, idName: RECORD_ID_NAME })
    if (parsed.kind !== 'known') throw new Error('the form was not kept')
    const { template } = parsed.form
    Object.assign(template, { bind: () => template.select })
    expect(() => assertPlannedAlike(faulty, "SELECT name FROM people WHERE name = 'c'")).toThrow('planned otherwise')
  })
})
