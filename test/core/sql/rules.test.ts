/** Tests what queries can use and who can: names, levels, types and keys, all checked before any row is read. */
import { beforeAll, describe, expect, it } from 'vitest'
import { type ErrorCode, isVaultError } from '../../../src/core/errors.ts'
import { answer, openQueries, type Queries } from '../../support/queries/open-queries.ts'

const text = { type: 'STRING' } as const

let owner: Queries

beforeAll(async () => {
  owner = await openQueries(
    {
      people: {
        name: { ...text, encrypted: false },
        ssn: { ...text, unique: true, mask: { preset: 'ssn' } },
        age: { type: 'INTEGER' },
        born: { type: 'DATE' },
        active: { type: 'BOOL' },
        notes: { type: 'JSON' },
        code: { ...text, token: 'transient' },
      },
      pets: { name: text, owner: text, weight: { type: 'FLOAT', encrypted: false } },
      secrets: { what: text },
    },
    {
      policy: {
        namesOnly: ['ALLOW READ ON people.name WITH REDACTION = PLAIN_TEXT'],
        masked: ['ALLOW READ ON people.* WITH REDACTION = MASKED'],
        searcher: ['ALLOW READ ON people.* WITH REDACTION = MASKED', 'ALLOW SEARCH ON people.ssn'],
        blindSearcher: ['ALLOW READ ON people.name WITH REDACTION = PLAIN_TEXT', 'ALLOW SEARCH ON people.ssn'],
        writer: ['ALLOW CREATE ON people'.concat('.*')],
        local: ["ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT WHERE people.name = 'Ann'"],
        veiled: ['ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT', "DENY READ ON people.ssn WHERE people.name = 'Ann'"],
      },
    },
  )
})

/** The error of a rejected query. It must not have read anything. */
async function refusal(queries: Queries, sql: string): Promise<{ code: ErrorCode; grpcCode: number; message: string }> {
  owner.forget()
  try {
    await queries.query(sql)
  } catch (error) {
    if (!isVaultError(error)) throw error
    expect(owner.calls, 'a refused query read something').toEqual([])
    return { code: error.code, grpcCode: error.grpcCode, message: error.message }
  }
  throw new Error(`answered: ${sql}`)
}

describe('a rejected query', () => {
  it.each([
    ['SELEC name FROM people', 'invalid_request', 3, 'Line 1, column 1:'],
    ['SELECT name\nFROM people\nWHERE age % 3', 'unsupported', 12, 'Line 3, column 11:'],
    ['SELECT name FROM unknown', 'not_found', 5, 'Line 1, column 18: Table "unknown" does not exist.'],
    ['SELECT emial FROM people', 'invalid_request', 3, 'Line 1, column 8: Column "emial" is invalid.'],
    ['SELECT p.emial FROM people p', 'invalid_request', 3, 'Column "emial" of table "p" is invalid.'],
    ['SELECT people.name FROM people p', 'invalid_request', 3, 'Table "people" is not joined at this point.'],
    ['SELECT name FROM people JOIN pets ON ssn = owner', 'invalid_request', 3, 'Column "name" is in more than one table.'],
    ['SELECT svc_id FROM people JOIN pets ON ssn = owner', 'invalid_request', 3, 'Column "svc_id" is in more than one table.'],
    ['SELECT ssn FROM people JOIN people ON age = age', 'invalid_request', 3, 'Table name "people" is used twice.'],
    [
      'SELECT age FROM people a JOIN pets b ON b.owner = c.what JOIN secrets c ON a.ssn = c.what',
      'invalid_request',
      3,
      'Table "c" is not joined at this point.',
    ],
    ['SELECT age, age FROM people', 'invalid_request', 3, 'Two result columns have the same name'],
    ['SELECT count(*), count(*) FROM people', 'invalid_request', 3, 'Two result columns'],
    ['SELECT *, age FROM people', 'invalid_request', 3, 'Two result columns'],
    ['SELECT age AS x, min(age) AS x FROM people', 'unsupported', 12, 'A column beside an aggregate (GROUP BY)'],
    ['SELECT count(*), * FROM people', 'unsupported', 12, 'Line 1, column 18: A column beside an aggregate'],
    ["SELECT redaction(ssn, 'SOME') FROM people", 'invalid_request', 3, 'Expected the level'],
    [
      'SELECT sum(name) FROM people',
      'unprocessable',
      9,
      'SUM requires a column of type INTEGER, DECIMAL or FLOAT; this one is STRING.',
    ],
    ['SELECT avg(born) FROM people', 'unprocessable', 9, 'AVG requires'],
    ['SELECT min(active) FROM people', 'unprocessable', 9, 'MIN requires'],
    ['SELECT max(notes) FROM people', 'unprocessable', 9, 'MAX requires'],
    ['SELECT sum(svc_id) FROM people', 'unprocessable', 9, 'SUM requires'],
    ['SELECT code FROM people', 'unprocessable', 9, 'only read by detokenize'],
    ['SELECT count(code) FROM people', 'unprocessable', 9, 'only read by detokenize'],
    ["SELECT age FROM people WHERE code = 'x'", 'unprocessable', 9, 'Line 1, column 30:'],
    ["SELECT age FROM people WHERE name ? 'x'", 'unprocessable', 9, ''],
    ["SELECT age FROM people WHERE age = 'ten'", 'unprocessable', 9, ''],
    ["SELECT age FROM people WHERE age IN (1, 'ten')", 'unprocessable', 9, 'Line 1, column 41:'],
    ['SELECT age FROM people WHERE born BETWEEN 1 AND 2', 'unprocessable', 9, 'Line 1, column 43:'],
    ['SELECT age FROM people ORDER BY emial', 'invalid_request', 3, 'Line 1, column 33: Column "emial" is invalid.'],
    ['SELECT a.age FROM people a JOIN people b ON a.age = b.age ORDER BY born', 'invalid_request', 3, 'in more than one table'],
    ['SELECT age FROM people ORDER BY name, notes', 'unprocessable', 9, 'Line 1, column 39: The values of column "notes"'],
    ['SELECT age FROM people ORDER BY code', 'unprocessable', 9, 'only read by detokenize'],
    ['SELECT age FROM people ORDER BY count(*)', 'unprocessable', 9, 'Line 1, column 33: An aggregate orders groups'],
    ['SELECT count(*) FROM people ORDER BY age', 'unprocessable', 9, 'Column "age" is not in GROUP BY'],
    ['SELECT count(*) FROM people GROUP BY notes', 'unprocessable', 9, 'The values of column "notes" cannot be compared.'],
    ['SELECT age FROM people GROUP BY name', 'unprocessable', 9, 'Line 1, column 8: Column "age" is not in GROUP BY.'],
    ['SELECT * FROM people GROUP BY name', 'unsupported', 12, '* beside GROUP BY'],
    ['SELECT name FROM people GROUP BY name ORDER BY age', 'unprocessable', 9, 'Line 1, column 48: Column "age" is not in GROUP'],
    ['SELECT name FROM people GROUP BY name ORDER BY max(age)', 'unprocessable', 9, 'an aggregate of the select list'],
    ['SELECT count(DISTINCT notes) FROM people', 'unprocessable', 9, 'COUNT requires a column of type'],
    ['SELECT count(DISTINCT code) FROM people', 'unprocessable', 9, 'only read by detokenize'],
    ['SELECT age FROM people WHERE born > age', 'unprocessable', 9, ''],
    ['SELECT age FROM people LIMIT -1', 'out_of_range', 11, ''],
  ] as const)('%s', async (sql, code, grpcCode, sentence) => {
    const refused = await refusal(owner, sql)
    expect({ code: refused.code, grpcCode: refused.grpcCode }).toEqual({ code, grpcCode })
    expect(refused.message).toMatch(/^Line \d+, column \d+: /)
    expect(refused.message).toContain(sentence)
  })

  it('joins more than eight tables', async () => {
    const joins = Array.from({ length: 8 }, (_, index) => ` JOIN people p${index} ON p${index}.age = people.age`)
    expect(await refusal(owner, `SELECT count(*) FROM people${joins.join('')}`)).toMatchObject({
      code: 'limit_exceeded',
      grpcCode: 8,
    })
    expect(await owner.query(`SELECT count(*) FROM people${joins.slice(1).join('')}`)).toEqual([{ 'count(*)': 0 }])
  })

  it('gives an error without its literals', async () => {
    for (const sql of [
      "SELECT age FROM people WHERE born = 'SECRET'",
      "SELECT 'SECRET' FROM people",
      "SELECT age FROM 'SECRET'",
    ]) {
      expect((await refusal(owner, sql)).message).not.toContain('SECRET')
    }
  })

  it('is not a string', async () => {
    await expect(async () => answer(owner.context, 42)).rejects.toMatchObject({ code: 'invalid_request', grpcCode: 3 })
  })
})

describe('levels', () => {
  const FORBIDDEN = { code: 'forbidden', grpcCode: 7 }

  it.each([
    "ssn < 'x'",
    "ssn LIKE '%1%'",
    "NOT (age > 3 AND name = 'x')",
    'age = 3',
    "name = 'Ann' OR active = TRUE",
    'name = ssn',
  ])('a caller who sees masked values cannot use %s', async (condition) => {
    expect(await refusal(owner.as(['masked']), `SELECT name FROM people WHERE ${condition}`)).toMatchObject(FORBIDDEN)
  })

  it.each(['min(ssn)', 'max(name)', 'sum(age)', 'avg(age)', 'count(DISTINCT ssn)'])(
    'a caller who sees masked values cannot select %s',
    async (aggregate) => {
      expect(await refusal(owner.as(['masked']), `SELECT ${aggregate} FROM people`)).toMatchObject(FORBIDDEN)
    },
  )

  it.each([
    'ssn FROM people ORDER BY ssn',
    'ssn AS shown FROM people ORDER BY shown',
    "REDACTION(ssn, 'MASKED') AS shown FROM people ORDER BY shown DESC",
    '* FROM people ORDER BY ssn',
    'ssn FROM people GROUP BY ssn',
    'count(*) FROM people GROUP BY age',
    'name FROM people WHERE age <= 3',
    'name FROM people WHERE ssn BETWEEN 1 AND 2',
    'name FROM people WHERE age <> 3',
    'name FROM people WHERE ssn NOT IN (NULL)',
  ])('a caller who sees masked values cannot select %s', async (query) => {
    expect(await refusal(owner.as(['masked']), `SELECT ${query}`)).toMatchObject(FORBIDDEN)
  })

  it('a caller who sees masked values cannot join on them', async () => {
    const masked = owner.as(['masked'])
    expect(await refusal(masked, 'SELECT a.name FROM people a JOIN people b ON a.ssn = b.ssn')).toMatchObject(FORBIDDEN)
  })

  it('IS NULL, COUNT and ids need READ at any level, because null shows at every level', async () => {
    const masked = owner.as(['masked'])
    expect(await masked.query('SELECT count(*), count(ssn), count(svc_id) FROM people WHERE ssn IS NOT NULL')).toHaveLength(1)
    expect(await masked.query("SELECT name FROM people WHERE svc_id = 'none' OR svc_id > 'z'")).toEqual([])
  })

  it('SEARCH allows =, and only that', async () => {
    const searcher = owner.as(['searcher'])
    expect(await searcher.query("SELECT name FROM people WHERE ssn = '1' OR NOT ssn = '2'")).toEqual([])
    expect(await searcher.query('SELECT a.name FROM people a JOIN people b ON a.ssn = b.ssn')).toEqual([])
    expect(await refusal(searcher, "SELECT name FROM people WHERE ssn = '1' OR ssn > '2'")).toMatchObject(FORBIDDEN)
    expect(await refusal(searcher, 'SELECT name FROM people WHERE age = 1')).toMatchObject(FORBIDDEN)
    expect(await searcher.query("SELECT name FROM people WHERE ssn IN ('1', '2') OR ssn <> '3' OR ssn NOT IN ('4')")).toEqual([])
    for (const rest of ["WHERE ssn <= '1'", "WHERE ssn BETWEEN '1' AND '2'", 'ORDER BY ssn', 'GROUP BY ssn']) {
      const items = rest.startsWith('GROUP') ? 'count(*)' : 'name'
      expect(await refusal(searcher, `SELECT ${items} FROM people ${rest}`)).toMatchObject(FORBIDDEN)
    }
  })

  it('SEARCH without READ allows = on a column and nothing else', async () => {
    const blind = owner.as(['blindSearcher'])
    expect(await blind.query("SELECT name FROM people WHERE ssn = '1'")).toEqual([])
    expect(await refusal(blind, 'SELECT ssn FROM people')).toMatchObject({ code: 'invalid_request', grpcCode: 3 })
    expect(await refusal(blind, "SELECT name FROM people WHERE ssn > '1'")).toMatchObject({
      code: 'invalid_request',
      grpcCode: 3,
    })
  })

  it.each([
    ['SELECT ssn FROM people', 'SELECT nix FROM people'],
    ['SELECT p.ssn FROM people p', 'SELECT p.nix FROM people p'],
    ["SELECT name FROM people WHERE ssn = '1'", "SELECT name FROM people WHERE nix = '1'"],
    ['SELECT name FROM people WHERE ssn IS NULL', 'SELECT name FROM people WHERE nix IS NULL'],
    ['SELECT count(ssn) FROM people', 'SELECT count(nix) FROM people'],
    ['SELECT sum(ssn) FROM people', 'SELECT sum(nix) FROM people'],
    ["SELECT redaction(ssn, 'REDACTED') FROM people", "SELECT redaction(nix, 'REDACTED') FROM people"],
    ['SELECT name FROM people ORDER BY ssn', 'SELECT name FROM people ORDER BY nix'],
    ['SELECT count(*) FROM people GROUP BY ssn', 'SELECT count(*) FROM people GROUP BY nix'],
    ['SELECT count(DISTINCT ssn) FROM people', 'SELECT count(DISTINCT nix) FROM people'],
    ["SELECT name FROM people WHERE ssn NOT IN ('1')", "SELECT name FROM people WHERE nix NOT IN ('1')"],
    [
      'SELECT name, max(name) FROM people GROUP BY name ORDER BY max(ssn)',
      'SELECT name, max(name) FROM people GROUP BY name ORDER BY max(nix)',
    ],
    [
      'SELECT a.name FROM people a JOIN people b ON a.ssn = b.name',
      'SELECT a.name FROM people a JOIN people b ON a.nix = b.name',
    ],
  ])('a hidden column gives the same error as an unknown one: %s', async (hidden, absent) => {
    const caller = owner.as(['namesOnly'])
    const [one, other] = [await refusal(caller, hidden), await refusal(caller, absent)]
    expect({ ...one, message: one.message.replaceAll('ssn', 'nix') }).toEqual(other)
    expect(one.code).toBe('invalid_request')
  })

  it('a hidden column makes no name ambiguous', async () => {
    const caller = owner.as(['namesOnly'])
    expect(await caller.query('SELECT name FROM people')).toEqual([])
    expect(Object.keys((await owner.as(['namesOnly']).explain('SELECT * FROM people')).columns)).toHaveLength(2)
  })

  it('a table without a grant, or without READ, is forbidden', async () => {
    expect(await refusal(owner.as(['masked']), 'SELECT what FROM secrets')).toMatchObject(FORBIDDEN)
    expect(await refusal(owner.as(['masked']), 'SELECT nix FROM people JOIN secrets ON TRUE')).toMatchObject(FORBIDDEN)
    expect(await refusal(owner.as(['writer']), 'SELECT count(*) FROM people')).toMatchObject(FORBIDDEN)
    expect(await refusal(owner.as([]), 'SELECT count(*) FROM people')).toMatchObject(FORBIDDEN)
  })

  it('a column that some row can show in plain text is decided row by row', async () => {
    expect(await owner.as(['local']).query("SELECT ssn FROM people WHERE age > 3 AND ssn > '1'")).toEqual([])
    expect(await owner.as(['veiled']).query("SELECT ssn FROM people WHERE ssn > '1'")).toEqual([])
    expect(await refusal(owner.as(['masked', 'namesOnly']), 'SELECT name FROM people WHERE age > 3')).toMatchObject(FORBIDDEN)
  })
})
