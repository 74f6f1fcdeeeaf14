/** The shared SQL body: statements are compiled once per shape, bind every value, and quote every name. */
import { SqliteAdapter, SqliteQueryCompiler, sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { createCompiler, type SqlDialect } from '../../../src/adapters/sql/sql-dialect.ts'
import { createSqlStatements } from '../../../src/adapters/sql/sql-statements.ts'
import { createTableShapes, toTableShape } from '../../../src/adapters/sql/table-shapes.ts'
import type { Filter } from '../../../src/core/ports/storage.ts'

const dialect: SqlDialect = {
  compiler: createCompiler(
    () => new SqliteAdapter(),
    () => new SqliteQueryCompiler(),
  ),
  tableName: (name) => sql.id('vault', name),
  inList: (column, _, list) => sql<boolean>`${column} in list(${list})`,
  bindList: (_, values) => values.join(),
  bindCell: (_, cell) => cell,
  readColumn: (column, type) => (type === 'integer' ? sql`wide(${column})` : column),
  aggregateParts: (kind, column) => [column === undefined ? sql`count(*)` : sql`${sql.raw(kind)}(${column})`],
}

const shape = toTableShape({
  name: 'odd.na"me as x',
  columns: [
    { name: 'a.b', type: 'text' },
    { name: 'n', type: 'integer' },
  ],
  indexes: [],
})

const filterOf = (text: string, numbers: readonly number[]): Filter => ({
  kind: 'and',
  filters: [
    { kind: 'compare', column: 'a.b', operator: '<>', value: text },
    { kind: 'not', filter: { kind: 'in', column: 'n', values: numbers } },
    { kind: 'or', filters: [{ kind: 'isNull', column: 'n' }, { kind: 'all' }] },
  ],
})

describe('shared statements', () => {
  it('differ by the names and types of columns, because two vaults may give different tables one name', () => {
    const statements = createSqlStatements(dialect)
    const shapeOf = (name: string, type: 'text' | 'integer') =>
      toTableShape({ name: 'tokens', columns: [{ name, type }], indexes: [] })
    const texts = [shapeOf('a', 'text'), shapeOf('b', 'text'), shapeOf('b', 'integer')].map(
      (one) => statements.find(one, { kind: 'all' }, { order: 'asc', limit: 1 }).statement.text,
    )
    expect(new Set(texts).size).toBe(3)
  })

  it('compile once for all calls of one shape and bind the values of each in order', () => {
    const statements = createSqlStatements(dialect)
    const first = statements.find(shape, filterOf('x', [1, 2]), { order: 'desc', after: 9, offset: 3, limit: 5 })
    const second = statements.find(shape, filterOf('y', [4]), { order: 'desc', after: 7, offset: 1, limit: 6 })
    expect(second.statement).toBe(first.statement)
    expect(first.parameters).toEqual(['x', '1,2', 9, 5, 3])
    expect(second.parameters).toEqual(['y', '4', 7, 6, 1])
    expect(first.statement.text).toBe(
      'select "id" as "id", "version" as "version", "a.b" as "a.b", wide("n") as "n" from "vault"."odd.na""me as x" as "t" ' +
        'where (("a.b" <> ?) and ((not "n" in list(?)) and (("n" is null) or (1 = 1)))) and "id" < ? order by "id" desc limit cast(? as bigint) offset cast(? as bigint)',
    )
  })

  it('differ for every part of a shape', () => {
    const statements = createSqlStatements(dialect)
    const filters: Filter[] = [
      { kind: 'all' },
      { kind: 'and', filters: [] },
      { kind: 'or', filters: [] },
      { kind: 'isNull', column: 'n' },
      { kind: 'not', filter: { kind: 'isNull', column: 'n' } },
      { kind: 'compare', column: 'n', operator: '=', value: 1 },
      { kind: 'compare', column: 'n', operator: '<', value: 1 },
      { kind: 'in', column: 'n', values: [1] },
    ]
    const pages = [
      { order: 'asc', limit: 1 },
      { order: 'desc', limit: 1 },
      { order: 'asc', limit: 1, after: 1 },
      { order: 'asc', limit: 1, offset: 1 },
    ] as const
    const made = filters.flatMap((filter) => pages.map((page) => statements.find(shape, filter, page).statement))
    expect(new Set(made).size).toBe(filters.length * pages.length)
    expect(new Set(made.map((statement) => statement.text)).size).toBe(made.length)
  })

  it('are found again when finds of one table alternate', () => {
    const statements = createSqlStatements(dialect)
    const all: Filter = { kind: 'all' }
    const one: Filter = { kind: 'compare', column: 'n', operator: '=', value: 1 }
    const finds = [
      [all, { order: 'asc', limit: 1 }],
      [one, { order: 'asc', limit: 1 }],
      [one, { order: 'asc', limit: 1, columns: ['n'] }],
      [one, { order: 'asc', limit: 1, columns: [] }],
      [one, { order: 'desc', limit: 1, columns: [] }],
      [one, { order: 'desc', limit: 1, columns: [], after: 0 }],
      [one, { order: 'desc', limit: 1, columns: [], after: 0, offset: 2 }],
      [one, { order: 'desc', limit: 1, columns: [], offset: 2 }],
    ] as const
    const made = finds.map(([filter, page]) => statements.find(shape, filter, page).statement)
    expect(new Set(made).size).toBe(finds.length)
    for (const [left, [filter, page]] of finds.entries()) {
      for (const [right, [otherFilter, otherPage]] of finds.entries()) {
        expect(statements.find(shape, filter, page).statement).toBe(made[left])
        expect(statements.find(shape, otherFilter, otherPage).statement).toBe(made[right])
      }
    }
  })

  it('delete, update and aggregate through bound values only', () => {
    const statements = createSqlStatements(dialect)
    const target = statements.deleteWhere(shape, { kind: 'compare', column: 'n', operator: '>', value: 4 })
    expect(target).toMatchObject({ parameters: [4] })
    expect(target.statement.text).toBe('delete from "vault"."odd.na""me as x" as "t" where ("n" > ?) returning "id"')
    expect(statements.update(shape, ['a.b', 'n']).text).toBe(
      'update "vault"."odd.na""me as x" as "t" set "a.b" = ?, "n" = ?, "version" = "version" + 1 where "id" = ? and "version" = ?',
    )
    expect(statements.aggregate(shape, { kind: 'all' }, [{ kind: 'count' }, { kind: 'max', column: 'n' }]).statement.text).toBe(
      'select count(*) as "m0", max("n") as "m1" from "vault"."odd.na""me as x" as "t"',
    )
    const some = { kind: 'compare', column: 'n', operator: '<', value: 4 } as const
    expect(statements.aggregate(shape, some, [{ kind: 'count' }]).statement.text).toBe(
      'select count(*) as "m0" from "vault"."odd.na""me as x" as "t" where ("n" < ?)',
    )
  })

  it('join a list of ten thousand conditions without nesting ten thousand deep', () => {
    const filters = Array.from({ length: 10_000 }, (_, value): Filter => ({ kind: 'compare', column: 'n', operator: '=', value }))
    const { statement } = createSqlStatements(dialect).find(shape, { kind: 'or', filters }, { order: 'asc', limit: 1 })
    let depth = 0
    let deepest = 0
    for (const sign of statement.text) {
      depth += sign === '(' ? 1 : sign === ')' ? -1 : 0
      deepest = Math.max(deepest, depth)
    }
    expect(deepest).toBeLessThan(20)
  })

  it('drop the oldest shapes from the cache when there are many', () => {
    const statements = createSqlStatements(dialect)
    const nth = (n: number) => statements.once(`n${n}`, () => ({ compile: () => sql`select 1`.compile(dialect.compiler) }))
    const first = nth(0)
    let last = first
    for (let n = 1; n < 1500; n++) last = nth(n)
    expect(nth(1499)).toBe(last)
    expect(nth(0)).not.toBe(first)
  })

  it('reject tables, columns and aggregates that do not exist', () => {
    const statements = createSqlStatements(dialect)
    const page = { order: 'asc', limit: 1 } as const
    expect(() => createTableShapes().of('nowhere')).toThrow(/"nowhere" was not prepared/)
    for (const filter of [
      { kind: 'isNull', column: 'no' },
      { kind: 'compare', column: 'no', operator: '=', value: 1 },
      { kind: 'in', column: 'no', values: [] },
    ] as const) {
      expect(() => statements.find(shape, filter, page)).toThrow(/no column "no"/)
    }
    expect(() => statements.update(shape, ['no'])).toThrow(/no column "no"/)
    expect(() => statements.aggregate(shape, { kind: 'all' }, [{ kind: 'sum', column: 'a.b' }])).toThrow(/sum/)
    expect(() => statements.aggregate(shape, { kind: 'all' }, [{ kind: 'min' }])).toThrow(/min/)
  })
})
