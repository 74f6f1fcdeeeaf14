/** Where conditions are decided, what storage is asked, and how a plan tells of itself. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { Condition } from '../../../src/core/expressions/condition.ts'
import { equalPairs, joinKey } from '../../../src/core/sql/join-keys.ts'
import { canBeMissing, placeConditions } from '../../../src/core/sql/place-conditions.ts'
import type { Source } from '../../../src/core/sql/query.ts'
import type { JoinKind } from '../../../src/core/sql/select.ts'
import type { Queries } from '../../support/queries/open-queries.ts'
import { openQueries } from '../../support/queries/open-queries.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'

const KINDS: readonly JoinKind[] = ['inner', 'left', 'right', 'full']

/** A condition about these sources; `isNull` of one stands for any. */
function about(...sources: readonly number[]): Condition {
  return { kind: 'or', conditions: sources.map((source) => ({ kind: 'isNull', ref: { source, column: undefined } })) }
}

function sourcesIn(condition: Condition): number[] {
  return condition.kind === 'or' ? condition.conditions.flatMap((one) => (one.kind === 'isNull' ? [one.ref.source] : [])) : []
}

describe('every condition', () => {
  const random = seededRandom('places')
  const below = (limit: number) => Math.floor(random() * limit)
  const cases = Array.from({ length: 500 }, () => {
    const kinds = Array.from({ length: below(5) }, () => KINDS[below(4)] ?? 'inner')
    const some = (most: number) => Array.from({ length: below(4) }, () => about(...new Set([below(most), below(most)])))
    const joins = kinds.map((kind, index) => ({ kind, on: { kind: 'and' as const, conditions: some(index + 2) } }))
    return { kinds, joins, where: { kind: 'and' as const, conditions: some(kinds.length + 1) } }
  })

  it('stands at one place, where all it speaks of is there', () => {
    for (const { kinds, joins, where } of cases) {
      const sources = Array.from({ length: kinds.length + 1 }, (_, index) => ({ index }) as Source) // Only their number counts.
      const { own, steps } = placeConditions({ sources, joins, where })
      const placed = [...own.flat(), ...steps.flatMap(({ on, after }) => [...on, ...after])]
      const all = [...where.conditions, ...joins.flatMap(({ on }) => on.conditions)]
      expect(new Set(placed)).toEqual(new Set(all))
      expect(placed).toHaveLength(all.length)
      own.forEach((conditions, source) => {
        for (const condition of conditions) expect(sourcesIn(condition)).toEqual([source])
      })
      steps.forEach(({ on, after }, index) => {
        for (const condition of [...on, ...after]) expect(Math.max(...sourcesIn(condition))).toBeLessThanOrEqual(index + 1)
      })
    }
  })

  it('of WHERE is never decided before a join that could answer its tables as missing', () => {
    for (const { kinds, joins, where } of cases) {
      const sources = Array.from({ length: kinds.length + 1 }, (_, index) => ({ index }) as Source) // Only their number counts.
      const { own, steps } = placeConditions({ sources, joins, where })
      for (const condition of where.conditions) {
        const [source = 0] = sourcesIn(condition)
        if (own.flat().includes(condition)) {
          expect(canBeMissing(kinds, source)).toBe(false)
          continue
        }
        const step = steps.findIndex(({ on, after }) => [...on, ...after].includes(condition))
        expect(kinds.slice(step + 1).filter((kind) => kind === 'right' || kind === 'full')).toEqual([])
        if (steps[step]?.on.includes(condition)) expect(kinds[step]).toBe('inner')
      }
    }
  })
})

describe('join keys', () => {
  it('are equal for equal numbers of either type, and none for null', () => {
    expect(joinKey([2n ** 53n])).toBe(joinKey([2 ** 53]))
    expect(joinKey([null])).toBeUndefined()
    expect(joinKey(['a', null])).toBeUndefined()
    expect(joinKey(['a', 'b'])).not.toBe(joinKey(['a,b']))
    expect(joinKey(['1', 1])).not.toBe(joinKey([1, '1']))
  })

  it('come of equalities between the joined table and those before it', () => {
    const cell = (source: number) => ({ kind: 'cell', ref: { source, column: undefined } }) as const
    const equal = (left: number, right: number): Condition => ({
      ...{ kind: 'compare', operator: '=' },
      ...{ left: cell(left), right: cell(right) },
    })
    const found = equalPairs([equal(0, 2), equal(2, 1), equal(0, 1), equal(2, 2), about(0, 2)], 2)
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

  const opened = (sql: string) => queries.explain(sql).sources.map((source) => source.opened)

  it('lets storage find, skip and count what it can decide', () => {
    const plan = queries.explain("SELECT city FROM people WHERE city > 'A' AND NOT city = 'Rome' LIMIT 5 OFFSET 7")
    expect(plan).toMatchObject({ answer: 'storage finds, skips and counts the rows', limit: 5, offset: 7 })
    expect(plan.sources).toEqual([
      {
        ...{ table: 'people', alias: 'people', joined: 'from', partners: 'none', asks: '(city > ? and city <> ?)' },
        ...{ evaluated: [], opened: [], judgedBy: [], pairedBy: [], decidedAfter: [] },
      },
    ])
  })

  it('asks storage for digests, and looks at the opened value again', () => {
    const plan = queries.explain("SELECT city FROM people WHERE ssn = '1' AND city = 'Oslo' AND name LIKE 'A%'")
    expect(plan.answer).toBe('rows are read until there are enough')
    expect(plan.sources[0]).toMatchObject({
      asks: '(digest of ssn = ? and city = ?)',
      evaluated: ['people.ssn', 'people.name'],
      opened: ['ssn', 'name'],
    })
  })

  it('lets storage compute totals of plain columns, and opens rows for others', () => {
    expect(queries.explain("SELECT count(*), max(city), count(ssn) FROM people WHERE city = 'x'").answer).toBe(
      'storage computes the totals',
    )
    expect(queries.explain('SELECT count(*), max(age) FROM people').answer).toBe('every row is read and added up')
    expect(queries.explain("SELECT count(*) FROM people WHERE name = 'x'").answer).toBe('every row is read and added up')
  })

  it('opens nothing but what is compared, judged or answered', () => {
    expect(opened('SELECT city, svc_id FROM people')).toEqual([[]])
    expect(opened('SELECT name FROM people WHERE city IS NULL')).toEqual([['name']])
    expect(opened('SELECT city FROM people WHERE age > 3')).toEqual([['age']])
    expect(opened('SELECT city FROM people JOIN orders ON who = ssn')).toEqual([['ssn'], ['who']])
    expect(opened('SELECT amount FROM people JOIN orders ON TRUE')).toEqual([[], []])
  })

  it('looks partners up where the joined column has an index, and else reads the table once', () => {
    const partners = (sql: string) => queries.explain(`SELECT count(*) FROM ${sql}`).sources[1]?.partners
    expect(partners('people JOIN orders ON who = ssn')).toBe('lookup')
    expect(partners('orders LEFT JOIN people ON who = ssn')).toBe('lookup')
    expect(partners('orders JOIN people p ON who = p.svc_id')).toBe('lookup')
    expect(partners('people JOIN orders ON name = who AND amount = age')).toBe('lookup')
    expect(partners('orders JOIN people ON who = name')).toBe('table')
    expect(partners('people JOIN orders ON age = amount')).toBe('table')
    expect(partners('people RIGHT JOIN orders ON who = ssn')).toBe('table')
    expect(partners('people FULL JOIN orders ON who = ssn')).toBe('table')
    expect(partners('people JOIN orders ON who > ssn')).toBe('pairs')
    expect(partners("people JOIN orders ON TRUE WHERE who = ssn AND city = 'x'")).toBe('lookup')
  })

  it('tells what is paired, what is decided after, and what allows each column, but no value', () => {
    const plan = queries.explain(
      "SELECT name FROM orders o LEFT JOIN people ON o.who = ssn AND city = 'SECRET' WHERE age IS NULL OR amount > 77777",
    )
    expect(plan.sources[1]).toMatchObject({
      ...{ joined: 'left join', asks: 'city = ?', pairedBy: ['o.who', 'people.ssn'] },
      ...{ decidedAfter: ['people.age', 'o.amount'], opened: ['name', 'ssn', 'age'] },
    })
    expect(plan.columns).toContainEqual({ column: 'people.age', use: 'tested for null', allowedBy: 'READ at any level' })
    expect(plan.columns).toContainEqual({ column: 'o.amount', use: 'compared', allowedBy: 'READ in plain text' })
    expect(plan.text).toContain('left join people, partners by lookup')
    expect(JSON.stringify(plan)).not.toMatch(/SECRET|77777/)
    expect(queries.as(['searcher']).explain("SELECT city FROM people WHERE ssn = '1'").columns).toContainEqual({
      ...{ column: 'people.ssn', use: 'compared by =', allowedBy: 'SEARCH' },
    })
  })

  it('asks storage what the policy needs, and judges each row where levels differ', () => {
    const plan = queries.as(['local']).explain('SELECT name FROM people')
    expect(plan.sources[0]).toMatchObject({ asks: 'city = ?', judgedBy: ['city'], opened: ['name'] })
    expect(plan.answer).toBe('rows are read until there are enough')
    expect(queries.as(['local']).explain('SELECT count(*) FROM orders').sources[0]?.judgedBy).toEqual([])
  })
})
