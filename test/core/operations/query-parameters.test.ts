/** Tests of queries with parameters in a session: hostile values, events, errors, and every way to pass values. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { type Caller, isVaultError, type QueryOptions, type QueryValue, sql } from '../../../src/index.ts'
import { callerOf, eventsBy, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const TEST_SECRET = 'janedoe'

/** Texts that would become SQL, or break it, if they were written between quotes. */
const HOSTILE = [
  ...["' OR 'a' = 'a", "''", "\\'", '\\', '"', '--', '/* */', '$1', '$2', '; DROP TABLE clients', '%', '_', '', ' '],
  ...['\u0000', '\u0001\u0003\u0004', '\r\n', 'ünï', '🦆', 'e\u0301', 'x'.repeat(16_384)],
]

/** A session as JavaScript callers have it. */
interface Untyped {
  query(query: unknown, second?: unknown, third?: unknown): Promise<{ records: { fields: object }[] }>
}

onEachStorage('a query with parameters', (engine) => {
  it('finds each hostile value, and nothing else', async () => {
    const vault = await openClients(engine.fresh().open())
    const session = vault.as(OWNER)
    // PostgreSQL stores no NUL in a plain column.
    const plain = (text: string) => text.replaceAll('\u0000', 'NUL').slice(0, 2000)
    const records = HOSTILE.map((name, salary) => ({ fields: { name, country: plain(name), salary } }))
    await session.insert('clients', records)
    for (const [salary, name] of HOSTILE.entries()) {
      const expected = [{ fields: { salary }, levels: {} }]
      const bySealed = await session.query('SELECT salary FROM clients WHERE name = $1', [name])
      expect(bySealed.records, name).toEqual(expected)
      expect((await session.query(sql`SELECT salary FROM clients WHERE name = ${name}`)).records, name).toEqual(expected)
      const byPlain = await session.query('SELECT salary FROM clients WHERE country = $1 AND salary = $2', [plain(name), salary])
      expect(byPlain.records, name).toEqual(expected)
      const pattern = name.replace(/[\\%_]/g, '\\$&')
      if (pattern.length < 1000) {
        const byPattern = await session.query('SELECT salary FROM clients WHERE name LIKE $1', [pattern])
        expect(byPattern.records, name).toEqual(expected)
      }
    }
    await vault.close()
  })

  it('keeps to the policy of its caller', async () => {
    const policy = {
      norway: ["ALLOW READ ON clients.* WITH REDACTION = PLAIN_TEXT WHERE country = 'NO'"],
      names: ['ALLOW READ ON clients.name WITH REDACTION = MASKED'],
    }
    const vault = await openClients(engine.fresh().open(), { policy })
    const fields = { email: 'a@b.example', salary: 1 }
    await vault.as(OWNER).insert('clients', [{ fields: { ...fields, name: 'Ann', country: 'SE' } }])
    const injected = "SE' OR country = 'SE"
    for (const value of ['SE', injected]) {
      expect((await vault.as(callerOf('norway')).query(sql`SELECT name FROM clients WHERE country = ${value}`)).records).toEqual(
        [],
      )
    }
    const asked = vault.as(callerOf('names')).query('SELECT name FROM clients WHERE name = $1', ['Ann'])
    await expect(asked).rejects.toMatchObject({ code: 'forbidden' })
    await vault.close()
  })
})

it('a value is in no event and in no error', async () => {
  const lines: string[] = []
  const line = (fields: object, message: string) => void lines.push(JSON.stringify(fields) + message)
  const vault = await openClients(memoryStorage(), { log: { info: line, warn: line, error: line } })
  const session = vault.as(OWNER) as unknown as Untyped
  const asked: readonly (readonly [query: unknown, second?: unknown, third?: unknown])[] = [
    ['SELECT name FROM clients WHERE name = $1 AND email = $2', [TEST_SECRET, TEST_SECRET]],
    ['SELECT name FROM clients WHERE salary = $1', [TEST_SECRET]],
    ['SELECT name FROM clients WHERE name LIKE $1', [`${TEST_SECRET}\\`]],
    ['SELECT name FROM clients LIMIT $1', [TEST_SECRET]],
    ['SELECT name FROM clients WHERE name = $2', [TEST_SECRET]],
    ['SELECT name FROM clients', [TEST_SECRET]],
    ['SELECT name FROM clients WHERE name = $1', TEST_SECRET],
    ['SELECT name FROM clients WHERE name = $1', [{ [TEST_SECRET]: TEST_SECRET }]],
    ['SELECT name FROM clients WHERE name = $1', TEST_SECRET, {}],
    ['SELECT name FROM clients WHERE name = $1', [TEST_SECRET], { unknown: TEST_SECRET }],
    [sql`SELECT name FROM clients WHERE name = ${TEST_SECRET}`],
    [sql`SELECT name FROM clients WHERE salary = ${TEST_SECRET}`],
    [sql`SELECT name FROM clients WHERE name = ${TEST_SECRET}`, [TEST_SECRET]],
    [{ text: TEST_SECRET, values: [] }],
    [{ ...sql`SELECT name FROM clients`, text: TEST_SECRET }],
  ]
  const outcomes: string[] = []
  for (const given of asked) {
    const { error, events } = await eventsBy(vault, () => session.query(...given))
    const text = JSON.stringify(events) + String(isVaultError(error) ? error.message + JSON.stringify(error.details) : error)
    expect(text).not.toContain(TEST_SECRET)
    outcomes.push(`${isVaultError(error) ? error.code : 'ok'} ${events[0]?.content}`)
  }
  expect(lines.join()).not.toContain(TEST_SECRET)
  const names = '"tables":["clients"],"columns":["clients.name"],"filters":["clients.name"]'
  expect(outcomes[0]).toBe(
    'ok {"query":"*REDACTED*","values":[{"each":"*REDACTED*","times":2}],"tables":["clients"],"columns":["clients.name","clients.email"],"filters":["clients.name","clients.email"]}',
  )
  expect(outcomes[10]).toBe(`ok {"query":"*REDACTED*",${names}}`)
  const codes = outcomes.map((outcome) => outcome.split(' ', 1)[0])
  expect(codes.slice(1, 4)).toEqual(['unprocessable', 'unprocessable', 'invalid_request'])
  expect(codes.slice(4, 10)).toEqual(Array.from({ length: 6 }, () => 'invalid_request'))
  expect(codes.slice(10)).toEqual(['ok', 'unprocessable', 'invalid_request', 'invalid_request', 'invalid_request'])
  await vault.close()
})

it('values come behind the text, with a query of sql, or by name', async () => {
  const vault = await openClients(memoryStorage())
  const session = vault.as(OWNER)
  await session.insert('clients', [{ fields: { name: 'Ann', salary: 5 } }, { fields: { name: 'Bo', salary: 6 } }])
  const text = 'SELECT salary AS pay, row_id FROM clients WHERE name = $1 AND salary > $2'
  const query = sql`SELECT salary AS pay, row_id FROM clients WHERE name = ${'Bo'} AND salary > ${5n}`
  const options: QueryOptions = { idName: 'row_id' }
  const values: QueryValue[] = ['Bo', 5n]
  const answers = [
    await session.query<{ pay: number; row_id: string }>(text, values, options),
    await session.query<{ pay: number; row_id: string }>(query, options),
    await session.perform('query', { query: text, values, options }),
    await session.perform('query', { query, options }),
  ]
  const id = answers[0]?.records[0]?.fields.row_id
  for (const answer of answers)
    expect(answer).toEqual({ records: [{ fields: { pay: 6, row_id: id }, levels: {} }], isCut: false })
  await vault.close()
})

it('no argument is ignored', async () => {
  const vault = await openClients(memoryStorage())
  const { query } = vault.as(OWNER) as unknown as Untyped
  const text = 'SELECT name FROM clients'
  const empty = { records: [], isCut: false }
  expect(await query(text, [])).toEqual(empty)
  expect(await query(text, undefined, { budget: { maxRows: 0 } })).toEqual(empty)
  await expect(query(text, new Array(2 ** 32 - 1))).rejects.toMatchObject({ code: 'limit_exceeded' })
  expect(await query(sql`SELECT name FROM clients WHERE salary = ${1}`, undefined, {})).toEqual(empty)
  await expect(query(text, undefined, { budget: { maxRows: -1 } })).rejects.toMatchObject({ code: 'out_of_range' })
  const refused: readonly (readonly [unknown, unknown?, unknown?])[] = [
    [text, null],
    [text, [], null],
    [text, [], []],
    [text, {}, {}],
    [text, null, {}],
    [sql`SELECT name FROM clients`, []],
    [[text]],
    [undefined, []],
  ]
  for (const given of refused) await expect(query(...given), String(given)).rejects.toMatchObject({ code: 'invalid_request' })
  await vault.close()
})

it('is explained with its values', async () => {
  const vault = await openClients(memoryStorage())
  const literal = vault.explainQuery("SELECT name FROM clients WHERE country = 'NO' AND name LIKE 'A%' LIMIT 3", OWNER)
  const text = 'SELECT name FROM clients WHERE country = $1 AND name LIKE $2 LIMIT $3'
  expect(vault.explainQuery(text, [TEST_SECRET, 'A%', 3], OWNER)).toEqual(literal)
  const query = sql`SELECT name FROM clients WHERE country = ${TEST_SECRET} AND name LIKE ${'A%'} LIMIT ${3}`
  expect(vault.explainQuery(query, OWNER)).toEqual(literal)
  expect(JSON.stringify(literal)).not.toContain(TEST_SECRET)
  expect(() => vault.explainQuery(text, OWNER)).toThrow('Query failed. Line 1, column 42: This parameter has no value.')
  expect(() => vault.explainQuery(text, ['a'], undefined as unknown as Caller)).toThrow('aller')
  await vault.close()
})

it('arguments of a query that throw when they are looked at are refused, and leave an event', async () => {
  const vault = await openClients(memoryStorage())
  const session: Untyped = vault.as(OWNER)
  const { proxy: revoked, revoke } = Proxy.revocable([], {})
  revoke()
  for (const given of [[revoked], [['Ann'], revoked], [revoked, {}]]) {
    const { error, events } = await eventsBy(vault, () => session.query('SELECT name FROM clients WHERE name = $1', ...given))
    expect(isVaultError(error, 'invalid_request')).toBe(true)
    expect(events.length).toBe(1)
  }
  expect(() => Reflect.apply(vault.explainQuery, vault, ['SELECT name FROM clients', revoked])).toThrow('cannot be read')
  await vault.close()
})
