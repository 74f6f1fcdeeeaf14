/** Tests which conditions storage evaluates, which the vault evaluates, and how a plan is explained. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { Condition } from '../../../src/core/expressions/condition.ts'
import { joinKey } from '../../../src/core/queries/join-side.ts'
import { canBeMissing, joinEqualities, pushDownConditions } from '../../../src/core/sql/plan.ts'
import type { Source } from '../../../src/core/sql/query.ts'
import type { JoinKind } from '../../../src/core/sql/select.ts'
import { openQueries, type Queries } from '../../support/queries/open-queries.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'

const KINDS: readonly JoinKind[] = ['inner', 'left', 'right', 'full']

/** A condition that uses these sources; `isNull` of a source is an example of any. */
function about(...sources: readonly number[]): Condition {
  return { kind: 'or', conditions: sources.map((source) => ({ kind: 'isNull', ref: { source, column: undefined } })) }
}

function sourcesIn(condition: Condition): number[] {
  return condition.kind === 'or' ? condition.conditions.flatMap((one) => (one.kind === 'isNull' ? [one.ref.source] : [])) : []
}

describe('placeConditions', () => {
  const random = seededRandom('places')
  const below = (limit: number) => Math.floor(random() * limit)
  const cases = Array.from({ length: 500 }, () => {
    const kinds = Array.from({ length: below(5) }, () => KINDS[below(4)] ?? 'inner')
    const some = (max: number) => Array.from({ length: below(4) }, () => about(...new Set([below(max), below(max)])))
    const joins = kinds.map((kind, index) => ({ kind, on: { kind: 'and' as const, conditions: some(index + 2) } }))
    return { kinds, joins, where: { kind: 'and' as const, conditions: some(kinds.length + 1) } }
  })

  it('puts each condition at exactly one stage, at which all its sources are joined', () => {
    for (const { kinds, joins, where } of cases) {
      const sources = Array.from({ length: kinds.length + 1 }, (_, index) => ({ index }) as Source) // Only their number counts.
      const { own, steps } = pushDownConditions({ sources, joins, where })
      const placed = [...own.flat(), ...steps.flatMap(({ on, postJoin }) => [...on, ...postJoin])]
      const all = [...where.conditions, ...joins.flatMap(({ on }) => on.conditions)]
      expect(new Set(placed)).toEqual(new Set(all))
      expect(placed).toHaveLength(all.length)
      own.forEach((conditions, source) => {
        for (const condition of conditions) expect(sourcesIn(condition)).toEqual([source])
      })
      steps.forEach(({ on, postJoin }, index) => {
        for (const condition of [...on, ...postJoin]) expect(Math.max(...sourcesIn(condition))).toBeLessThanOrEqual(index + 1)
      })
    }
  })

  it('never evaluates a condition of WHERE before a join that can return its source as missing', () => {
    for (const { kinds, joins, where } of cases) {
      const sources = Array.from({ length: kinds.length + 1 }, (_, index) => ({ index }) as Source) // Only their number counts.
      const { own, steps } = pushDownConditions({ sources, joins, where })
      for (const condition of where.conditions) {
        const [source = 0] = sourcesIn(condition)
        if (own.flat().includes(condition)) {
          expect(canBeMissing(kinds, source)).toBe(false)
          continue
        }
        const step = steps.findIndex(({ on, postJoin }) => [...on, ...postJoin].includes(condition))
        expect(kinds.slice(step + 1).filter((kind) => kind === 'right' || kind === 'full')).toEqual([])
        if (steps[step]?.on.includes(condition)) expect(kinds[step]).toBe('inner')
      }
    }
  })
})

describe('join keys', () => {
  it('are equal for equal numbers of either type, and undefined for null', () => {
    expect(joinKey([2n ** 53n])).toBe(joinKey([2 ** 53]))
    expect(joinKey([null])).toBeUndefined()
    expect(joinKey(['a', null])).toBeUndefined()
    expect(joinKey(['a', 'b'])).not.toBe(joinKey(['a,b']))
    expect(joinKey(['1', 1])).not.toBe(joinKey([1, '1']))
  })

  it('are taken from equalities between the joined table and those before it', () => {
    const cell = (source: number) => ({ kind: 'cell', ref: { source, column: undefined } }) as const
    const equal = (left: number, right: number): Condition => ({
      ...{ kind: 'compare', operator: '=' },
      ...{ left: cell(left), right: cell(right) },
    })
    const found = joinEqualities([equal(0, 2), equal(2, 1), equal(0, 1), equal(2, 2), about(0, 2)], 2)
    expect(found.map(({ left, right }) => [left.source, right.source])).toEqual([
      [0, 2],
      [1, 2],
    ])
  })
})

describe('a plan', () => {
  let queries: Queries
  beforeAll(async () => {
    queries = await openQueries(
      {
        people: {
          name: { type: 'STRING' },
          ssn: { type: 'STRING', unique: true },
          city: { type: 'STRING', encrypted: false },
          age: { type: 'INTEGER' },
        },
        orders: { who: { type: 'STRING', searchable: true }, amount: { type: 'FLOAT', encrypted: false } },
      },
      {
        policy: {
          local: ["ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT WHERE people.city = 'Oslo'", 'ALLOW READ ON orders.*'],
          searcher: ['ALLOW READ ON people.*', 'ALLOW SEARCH ON people.ssn'],
        },
      },
    )
  })

  const opened = (sql: string) => queries.explain(sql).sources.map((source) => source.openedColumns)

  it('lets storage apply filter, offset and limit if it can evaluate every condition', () => {
    const plan = queries.explain("SELECT city FROM people WHERE city > 'A' AND NOT city = 'Rome' LIMIT 5 OFFSET 7")
    expect(plan).toMatchObject({ strategy: 'storage applies filter, offset and limit', limit: 5, offset: 7 })
    expect(plan.sources).toEqual([
      {
        ...{ table: 'people', alias: 'people', joinKind: 'from', joinMethod: 'none', storageFilter: '(city > ? and city <> ?)' },
        ...{ sealedIndexes: [], residualColumns: [], openedColumns: [], policyColumns: [], joinColumns: [], postJoinColumns: [] },
        wholeRead: 'city has no index',
      },
    ])
  })

  it('filters by digest and evaluates the opened value again', () => {
    const plan = queries.explain("SELECT city FROM people WHERE ssn = '1' AND city = 'Oslo' AND name LIKE 'A%'")
    expect(plan.strategy).toBe('rows are read until the limit is reached')
    expect(plan.sources[0]).toMatchObject({
      storageFilter: '(digest of ssn = ? and city = ?)',
      residualColumns: ['people.ssn', 'people.name'],
      openedColumns: ['ssn', 'name'],
    })
  })

  it('lets storage compute aggregates of plain columns, and reads rows for others', () => {
    expect(queries.explain("SELECT count(*), max(city), count(ssn) FROM people WHERE city = 'x'").strategy).toBe(
      'storage computes the aggregates',
    )
    expect(queries.explain("SELECT count(DISTINCT city) FROM people WHERE city = 'x'").strategy).toBe(
      'one column is read and aggregated',
    )
    expect(queries.explain('SELECT count(*) FROM people GROUP BY city').strategy).toBe(
      'every matching row is read, and each group is kept in memory',
    )
    const ordered = queries.explain('SELECT name AS n FROM people ORDER BY n DESC, svc_id')
    expect(ordered.strategy).toBe('every matching row is read, and the first in order are kept in memory')
    expect(ordered.order).toEqual(['people.name desc', 'people.svc_id asc'])
    expect(queries.explain('SELECT count(*), max(age) FROM people').strategy).toBe('every row is read and aggregated')
    expect(queries.explain("SELECT count(*) FROM people WHERE name = 'x'").strategy).toBe('every row is read and aggregated')
  })

  it('opens only columns that are compared, selected or used by the policy', () => {
    expect(opened('SELECT city, svc_id FROM people')).toEqual([[]])
    expect(opened('SELECT name FROM people WHERE city IS NULL')).toEqual([['name']])
    expect(opened('SELECT city FROM people WHERE age > 3')).toEqual([['age']])
    expect(opened('SELECT city FROM people JOIN orders ON who = ssn')).toEqual([['ssn'], ['who']])
    expect(opened('SELECT amount FROM people JOIN orders ON TRUE')).toEqual([[], []])
  })

  it('looks matching rows up if the joined column has an index, otherwise reads the table once', () => {
    const joinMethod = (sql: string) => queries.explain(`SELECT count(*) FROM ${sql}`).sources[1]?.joinMethod
    expect(joinMethod('people JOIN orders ON who = ssn')).toBe('index lookup')
    expect(joinMethod('orders LEFT JOIN people ON who = ssn')).toBe('index lookup')
    expect(joinMethod('orders JOIN people p ON who = p.svc_id')).toBe('index lookup')
    expect(joinMethod('people JOIN orders ON name = who AND amount = age')).toBe('index lookup')
    expect(joinMethod('orders JOIN people ON who = name')).toBe('hash')
    expect(joinMethod('people JOIN orders ON age = amount')).toBe('hash')
    expect(joinMethod('people RIGHT JOIN orders ON who = ssn')).toBe('hash')
    expect(joinMethod('people FULL JOIN orders ON who = ssn')).toBe('hash')
    expect(joinMethod('people JOIN orders ON who > ssn')).toBe('nested loop')
    expect(joinMethod("people JOIN orders ON TRUE WHERE who = ssn AND city = 'x'")).toBe('index lookup')
  })

  it('explains join columns, post-join columns and the grant of each use, but no value', () => {
    const plan = queries.explain(
      "SELECT name FROM orders o LEFT JOIN people ON o.who = ssn AND city = 'SECRET' WHERE age IS NULL OR amount > 77777",
    )
    expect(plan.sources[1]).toMatchObject({
      ...{ joinKind: 'left join', storageFilter: 'city = ?', joinColumns: ['o.who', 'people.ssn'] },
      ...{ postJoinColumns: ['people.age', 'o.amount'], openedColumns: ['name', 'ssn', 'age'] },
    })
    expect(plan.columns).toContainEqual({
      column: 'people.age',
      use: 'null test',
      allowedBy: 'READ at any level',
      rowStatements: [],
    })
    expect(plan.columns).toContainEqual({
      column: 'o.amount',
      use: 'comparison',
      allowedBy: 'READ in plain text',
      rowStatements: [],
    })
    expect(plan.text).toContain('left join people, by index lookup')
    expect(JSON.stringify(plan)).not.toMatch(/SECRET|77777/)
    expect(queries.as(['searcher']).explain("SELECT city FROM people WHERE ssn = '1'").columns).toContainEqual({
      ...{ column: 'people.ssn', use: 'equality', allowedBy: 'SEARCH', rowStatements: [] },
    })
  })

  it('says why a table is read whole, and nothing if an index finds its rows or LIMIT ends the reading', () => {
    const reason = (sql: string, of = queries) => of.explain(sql).sources.at(-1)?.wholeRead
    for (const [where, expected] of [
      ["ssn = '1'", undefined],
      ["ssn = '1' AND name LIKE 'A%'", undefined],
      ["ssn = '1' OR ssn = '2'", undefined],
      ["svc_id = 'x' OR ssn IS NULL", undefined],
      ['TRUE', 'no condition on this table alone'],
      ["city = 'Oslo'", 'city has no index'],
      ['age > 3', 'age is sealed and has no digest'],
      ["ssn > '1'", 'ssn is sealed: its digest is found by = only'],
      ["ssn <= '1'", 'ssn is sealed: its digest is found by = only'],
      ["ssn IN ('1', '2')", undefined],
      ["ssn NOT IN ('1')", 'no index finds what NOT leaves'],
      ["city BETWEEN 'A' AND 'B'", 'city has no index'],
      ["name LIKE 'A%'", 'no index finds the pattern of name'],
      ["ssn = '1' OR name = 'x'", 'name is sealed and has no digest, in an OR'],
      ["NOT ssn = '1'", 'no index finds what NOT leaves'],
      ['ssn IS NOT NULL', 'no index finds what NOT leaves'],
      ['ssn = name', 'two of its columns are compared with each other'],
      ["svc_id > 'x'", 'record ids are found by = only'],
    ] as const) {
      expect([where, reason(`SELECT COUNT(name) FROM people WHERE ${where}`)]).toEqual([where, expected])
    }
    expect(reason('SELECT amount FROM orders WHERE amount = 5')).toBe('amount has no index')
    expect(reason('SELECT city FROM people LIMIT 5')).toBeUndefined()
    expect(reason('SELECT city FROM orders JOIN people ON who = ssn')).toBeUndefined()
    expect(reason('SELECT city FROM people JOIN orders ON amount = age')).toBe('no condition on this table alone')
    expect(reason('SELECT COUNT(name) FROM people', queries.as(['local']))).toBe('no index finds what the policy allows')
  })

  it('names the statements that decide in each row, and the columns of their conditions', () => {
    const city = [{ role: 'local', position: 1, columns: ['city'] }]
    const local = queries.as(['local']).explain("SELECT name, svc_id FROM people WHERE ssn = '1' AND age IS NULL")
    expect(local.columns.map(({ column, rowStatements }) => [column, rowStatements])).toEqual([
      ['people.name', city],
      ['people.svc_id', []],
      ['people.ssn', city],
      ['people.age', city],
    ])
    expect(local.text).toContain('people.ssn equality: READ in plain text, by row: statement 1 of local (city)')
    const both = queries
      .as(['local', 'searcher'])
      .explain("SELECT name FROM people WHERE ssn = '1' AND name = 'x' AND age IS NULL")
    expect(both.columns.map(({ column, use, rowStatements }) => [column, use, rowStatements.length])).toEqual([
      ['people.name', 'select', 1],
      ['people.ssn', 'equality', 0],
      ['people.name', 'equality', 1],
      ['people.age', 'null test', 0],
    ])
    const owner = queries.explain("SELECT name FROM people WHERE ssn = '1'")
    expect(owner.columns.flatMap(({ rowStatements }) => rowStatements)).toEqual([])
  })

  it("pushes the policy's condition down, and evaluates it on each row if levels differ", () => {
    const plan = queries.as(['local']).explain('SELECT name FROM people')
    expect(plan.sources[0]).toMatchObject({ storageFilter: 'city = ?', policyColumns: ['city'], openedColumns: ['name'] })
    expect(plan.strategy).toBe('rows are read until the limit is reached')
    expect(queries.as(['local']).explain('SELECT count(*) FROM orders').sources[0]?.policyColumns).toEqual([])
  })
})
