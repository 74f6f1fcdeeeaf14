/** Tests that the limits of a vault are those that its host sets, and that each is one. */
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { createVault, type VaultOptions } from '../../../src/index.ts'
import { OWNER, type People, people, TEST_SECRET } from '../../support/vaults/test-vault.ts'

type Limits = NonNullable<VaultOptions<People>['limits']>

/** A vault with 30 orders, whose totals are 1 to 30. */
async function openWith(limits: Limits) {
  const vault = await createVault({
    id: 'v1',
    schema: people,
    storage: memoryStorage(),
    keys: localKeys({ key: TEST_SECRET }),
    limits,
  })
  const session = vault.as(OWNER)
  await session.insert(
    'orders',
    Array.from({ length: 30 }, (_, at) => ({ fields: { total: at + 1, memo: `m${at}` } })),
  )
  const ask = async (sql: string, options = {}) =>
    session.query(sql, options).then(
      ({ records }) => records.length,
      ({ code, message }: { readonly code: string; readonly message: string }) => `${code}: ${message}`,
    )
  return { vault, ask }
}

const ALL = 'SELECT memo FROM orders'

describe('the limit of the records of a query', () => {
  it('is 25, or what the host sets, or less for one query', async () => {
    expect(await (await openWith({})).ask(`${ALL} LIMIT 30`)).toBe(25)
    const { vault, ask } = await openWith({ maxQueryRecords: 29 })
    expect(await ask(ALL)).toBe(29)
    expect(await ask(`${ALL} LIMIT 30`)).toBe(29)
    expect(await ask(`${ALL} LIMIT 28`)).toBe(28)
    expect(await ask(ALL, { maxRecords: 3 })).toBe(3)
    expect(await ask(ALL, { maxRecords: 1000 })).toBe(29)
    expect(await ask(ALL)).toBe(29)
    expect(await ask(ALL, { maxRecords: 0 })).toMatch(/^out_of_range: Query failed\. Invalid option "maxRecords"/)
    expect(vault.explainQuery(ALL, OWNER).limit).toBe(29)
  })

  it('is an option, and an object of values is refused as one', async () => {
    const { vault } = await openWith({})
    const ask = (second: unknown) =>
      Reflect.apply(vault.as(OWNER).query, undefined, [ALL, second]).catch((error: Error) => error.message)
    expect(await ask({ memo: 'm1' })).toMatch(
      /^Query failed\. Unknown option "memo"\. Values are a list in front of the options: /,
    )
    expect(await ask('m1')).toBe(
      'Query failed. The options must be an object. Values are a list in front of the options: query(text, [value], options).',
    )
  })
})

describe('limits of the text of a query', () => {
  it('hold for its length, also where the query is of a known form', async () => {
    const { vault, ask } = await openWith({ maxQueryLength: 60 })
    const of = (memo: string) => `SELECT memo FROM orders WHERE memo = '${memo}'`
    expect(await ask(of('m1'))).toBe(1)
    expect(await ask(of('m2'))).toBe(1)
    const tooLong = 'limit_exceeded: Query failed. Line 1, column 1: The text is longer than 60 characters.'
    expect(await ask(of('m'.repeat(40)))).toBe(tooLong)
    expect(() => vault.explainQuery(of('m'.repeat(40)), OWNER)).toThrow('longer than 60 characters')
    expect(await (await openWith({ maxQueryLength: 20_000 })).ask(of('m'.repeat(17_000)))).toBe(0)
  })

  it('hold for its lexemes and its tables', async () => {
    const { ask } = await openWith({ maxQueryLexemes: 4, maxQueryTables: 1 })
    expect(await ask(ALL)).toBe(25)
    expect(await ask(`${ALL} LIMIT 2`)).toMatch(/^limit_exceeded: .*more than 4 words, values and signs/)
    const join = (tables: number) =>
      `SELECT COUNT(*) FROM orders a0 ${Array.from({ length: tables - 1 }, (_, at) => `JOIN orders a${at + 1} ON a${at}.svc_id = a${at + 1}.svc_id`).join(' ')}`
    expect(await (await openWith({ maxQueryTables: 1 })).ask(join(2))).toMatch(/^limit_exceeded: .*joins at most 1 tables/)
    const wide = await openWith({ maxQueryTables: 64 })
    expect(await wide.ask(join(64))).toBe(1)
    expect(await wide.ask(join(65))).toMatch(/^limit_exceeded/)
  })

  it('can leave the language as the specification has it', async () => {
    const { ask } = await openWith({ queryExtensions: false })
    expect(await ask('SELECT COUNT(*) FROM orders WHERE total < 5')).toBe(1)
    const refused = (rest: string, construct: string) =>
      [rest, expect.stringContaining(`: ${construct} is not supported.`)] as const
    for (const [rest, error] of [
      refused('WHERE total <= 5', '<='),
      refused('WHERE total BETWEEN 1 AND 5', 'BETWEEN'),
      refused('GROUP BY memo', 'GROUP BY'),
      refused('ORDER BY memo', 'ORDER BY'),
    ]) {
      expect(await ask(`SELECT memo FROM orders ${rest}`)).toEqual(error)
    }
  })

  it('hold for its nesting, which can be 256', async () => {
    const nested = (depth: number, open: string, close: string) =>
      `SELECT COUNT(*) FROM orders WHERE ${open.repeat(depth)}total = 1${close.repeat(depth)}`
    const { ask } = await openWith({ maxQueryNesting: 256 })
    for (const [open, close] of [
      ['(', ')'],
      ['NOT ', ''],
      ['NOT (NOT memo IS NULL AND ', ')'],
    ] as const) {
      const levels = open.startsWith('NOT (') ? 85 : 256
      expect(await ask(nested(levels, open, close))).toBe(1)
      expect(await ask(nested(levels * 2, open, close))).toMatch(/^limit_exceeded: .*nests deeper than 256 levels/)
    }
    expect(await (await openWith({})).ask(nested(65, '(', ')'))).toMatch(/^limit_exceeded: .*nests deeper than 64 levels/)
  })
})

describe('limits of the work of a query', () => {
  it('are those of the host, unless the query has its own budget', async () => {
    const scan = "SELECT COUNT(*) FROM orders WHERE memo LIKE '%1%'"
    const rows = await openWith({ maxRowsRead: 29 })
    expect(await rows.ask(scan)).toMatch(/^limit_exceeded: .*limit of 29 rows read/)
    expect(await rows.ask(scan, { budget: { maxRows: 30 } })).toBe(1)
    const joined = 'SELECT COUNT(*) FROM orders a JOIN orders b ON a.total > b.total'
    const bytes = await openWith({ maxQueryBytes: 100 })
    expect(await bytes.ask(joined)).toMatch(/^limit_exceeded/)
    expect(await bytes.ask(joined, { budget: { maxBytes: 100_000 } })).toBe(1)
  })

  it('count the memory of what is kept of an order, of groups and of different values, and no more than that', async () => {
    const { ask } = await openWith({ maxQueryBytes: 1000 })
    expect(await ask('SELECT memo FROM orders ORDER BY memo LIMIT 2')).toBe(2)
    const over = /^limit_exceeded: Query failed. It exceeded the memory limit of 1000 bytes/
    expect(await ask('SELECT memo FROM orders ORDER BY memo LIMIT 2 OFFSET 20')).toMatch(over)
    expect(await ask('SELECT COUNT(*) FROM orders GROUP BY memo')).toMatch(over)
    expect(await ask('SELECT COUNT(DISTINCT memo) FROM orders')).toMatch(over)
  })
})
