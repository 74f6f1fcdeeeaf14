/** Tests queries end to end: the results, and what is read and opened for them. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { openClients } from '../../support/audit/audited-clients.ts'
import { openQueries, type Queries } from '../../support/queries/open-queries.ts'
import { namesIn, numbers, PEOPLE, PETS, samplePeople } from '../../support/queries/sample-people.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

onEachStorage('queries', ({ fresh }) => {
  it('return at most 25 records in order of insertion, however they are found', async () => {
    const queries = await openQueries({ people: PEOPLE }, { storage: fresh().open() })
    await queries.insert('people', samplePeople(300))
    for (const condition of ['city IS NOT NULL', "name LIKE 'name%'"]) {
      const select = `SELECT name FROM people WHERE ${condition}`
      expect(await namesIn(queries, select)).toEqual(numbers(0, 25))
      expect(await namesIn(queries, `${select} LIMIT 100`)).toEqual(numbers(0, 25))
      expect(await namesIn(queries, `${select} LIMIT 3 OFFSET 250`)).toEqual(numbers(250, 253))
      expect(await namesIn(queries, `${select} OFFSET 290`)).toEqual(numbers(290, 300))
      expect(await namesIn(queries, `${select} LIMIT 0`)).toEqual([])
      expect(await namesIn(queries, `${select} OFFSET 300`)).toEqual([])
      expect(await queries.query(`SELECT count(*) FROM people WHERE ${condition} LIMIT 1`)).toEqual([{ 'count(*)': 300 }])
      expect(await queries.query(`SELECT count(*) FROM people WHERE ${condition} OFFSET 1`)).toEqual([])
      expect(await queries.query(`SELECT count(*) FROM people WHERE ${condition} LIMIT 0`)).toEqual([])
    }
  })

  it('order rows by values of any kind, with null last and ties in order of insertion', async () => {
    const queries = await openQueries({ people: PEOPLE, pets: PETS }, { storage: fresh().open() })
    await queries.insert('people', samplePeople(300))
    await queries.insert('pets', [{ owner: 'name 2' }, { owner: 'name 1' }, { owner: 'gone' }])
    expect(await namesIn(queries, 'SELECT name FROM people ORDER BY age LIMIT 3 OFFSET 268')).toEqual([
      ...['name 298', 'name 299', 'name 0'],
    ])
    expect(await namesIn(queries, 'SELECT name FROM people ORDER BY age DESC LIMIT 2 OFFSET 29')).toEqual([
      'name 290',
      'name 299',
    ])
    expect(await namesIn(queries, 'SELECT name FROM people ORDER BY city DESC LIMIT 2')).toEqual(['name 2', 'name 5'])
    expect(await namesIn(queries, 'SELECT name FROM people WHERE age > 5 ORDER BY city, age DESC LIMIT 2')).toEqual([
      ...['name 297', 'name 294'],
    ])
    const joined = 'SELECT name, owner FROM people RIGHT JOIN pets ON name = owner ORDER BY owner DESC'
    expect(await namesIn(queries, joined)).toEqual(['name 2', 'name 1', null])
    const ids = (await queries.query('SELECT svc_id FROM people ORDER BY svc_id')).map(({ svc_id: id }) => String(id))
    expect(ids).toEqual(ids.toSorted())
  })

  it('group rows in order of their first, unless ordered', async () => {
    const queries = await openQueries({ people: PEOPLE }, { storage: fresh().open() })
    await queries.insert('people', samplePeople(300).reverse())
    const counted = 'SELECT city, count(age), max(name) AS top FROM people GROUP BY city'
    expect(await queries.query(`${counted} LIMIT 2`)).toEqual([
      { city: 'Ulm', 'count(age)': 90, top: 'name 98' },
      { city: 'Rome', 'count(age)': 90, top: 'name 97' },
    ])
    expect(await queries.query(`${counted} ORDER BY count(age), top LIMIT 1 OFFSET 2`)).toEqual([
      { city: 'Oslo', 'count(age)': 90, top: 'name 99' },
    ])
    expect(await queries.query('SELECT count(DISTINCT city), count(DISTINCT age) FROM people')).toEqual([
      { 'count(distinct city)': 3, 'count(distinct age)': 270 },
    ])
    expect(await queries.query('SELECT age FROM people GROUP BY age')).toHaveLength(25)
    expect(await queries.query('SELECT city FROM people WHERE age > 300 GROUP BY city')).toEqual([])
  })

  it('find values in plain columns, in sealed ones and by digest alike', async () => {
    const queries = await openQueries({ people: PEOPLE }, { storage: fresh().open() })
    await queries.insert('people', samplePeople(300))
    expect(await namesIn(queries, "SELECT name FROM people WHERE ssn = '000-00-0123'")).toEqual(['name 123'])
    expect(await namesIn(queries, "SELECT name FROM people WHERE city = 'Rome' AND age > 295")).toEqual(['name 298'])
    expect(await namesIn(queries, "SELECT name FROM people WHERE NOT (age > 3 OR age IS NULL) AND city < 'P'")).toEqual([
      'name 3',
    ])
    const totals = await queries.query("SELECT count(age), sum(age), min(name), max(ssn) FROM people WHERE city = 'Oslo'")
    expect(totals).toEqual([{ 'count(age)': 90, 'sum(age)': 13500, 'min(name)': 'name 0', 'max(ssn)': '000-00-0297' }])
  })

  it('find zero by every way to write it, also with a sign', async () => {
    const numbers = { whole: 'INTEGER', real: 'FLOAT' } as const
    const columns = Object.entries(numbers).flatMap(([name, type]) => [
      [name, { type }] as const,
      [`${name}_digest`, { type, searchable: true }] as const,
      [`${name}_plain`, { type, encrypted: false, index: true }] as const,
    ])
    const queries = await openQueries({ sums: Object.fromEntries(columns) }, { storage: fresh().open() })
    const row = (value: number) => Object.fromEntries(columns.map(([name]) => [name, value]))
    await queries.insert('sums', [row(-1), row(0), row(-0), row(1)])
    const count = async (condition: string) =>
      (await queries.query(`SELECT count(*) FROM sums WHERE ${condition}`))[0]?.['count(*)']
    for (const zero of ['0', '-0', '-00', '-0.0', '-.0', '-0e5', "'-0'"]) {
      for (const [name] of columns) {
        const counts = [await count(`${name} = ${zero}`), await count(`${name} < ${zero}`), await count(`${zero} < ${name}`)]
        expect(counts, `${name} and ${zero}`).toEqual([2, 1, 1])
      }
    }
    expect([await count('-0 = 0'), await count('-0 < 0.0'), await count('-0 IS NULL')]).toEqual([4, 0, 0])
  })

  it('join in every way, unmatched rows of the joined table last', async () => {
    const queries = await openQueries({ people: PEOPLE, pets: PETS }, { storage: fresh().open() })
    await queries.insert('people', samplePeople(4))
    await queries.insert('pets', [
      { owner: 'name 9', kind: 'cow', weight: 500 },
      { owner: 'name 2', kind: 'cat', weight: 4 },
      { owner: 'name 0', kind: 'dog', weight: 20 },
      { owner: null, kind: 'fox', weight: null },
      { owner: 'name 2', kind: 'eel', weight: 1 },
    ])
    const pairs = async (join: string) =>
      (await queries.query(`SELECT name, kind FROM people ${join}`)).map(({ name, kind }) => `${name} ${kind}`)
    const inner = ['name 0 dog', 'name 2 cat', 'name 2 eel']
    const left = ['name 0 dog', 'name 1 null', 'name 2 cat', 'name 2 eel', 'name 3 null']
    const rest = ['null cow', 'null fox']
    for (const on of ['owner = name', 'NOT (owner < name OR owner > name)', 'name = owner AND 1 = 1']) {
      expect(await pairs(`JOIN pets ON ${on}`)).toEqual(inner)
      expect(await pairs(`LEFT JOIN pets ON ${on}`)).toEqual(left)
      expect(await pairs(`RIGHT JOIN pets ON ${on}`)).toEqual([...inner, ...rest])
      expect(await pairs(`FULL JOIN pets ON ${on}`)).toEqual([...left, ...rest])
      expect(await pairs(`FULL JOIN pets ON ${on} WHERE age IS NULL LIMIT 2 OFFSET 1`)).toEqual(rest)
      expect(await pairs(`LEFT JOIN pets ON ${on} AND weight > 2 WHERE NOT kind = 'dog'`)).toEqual(['name 2 cat'])
    }
    expect(await pairs('p JOIN pets ON p.svc_id = p.svc_id LIMIT 1')).toEqual(['name 0 cow'])
    expect(await queries.query('SELECT count(*) FROM people a LEFT JOIN people b ON a.svc_id = b.svc_id')).toEqual([
      { 'count(*)': 4 },
    ])
  })
})

describe('results', () => {
  it('contain ids, nulls and keys as documented', async () => {
    const queries = await openQueries({ people: PEOPLE })
    await queries.insert('people', samplePeople(2))
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/)
    const [all] = await queries.query('SELECT * FROM people')
    expect(Object.entries(all ?? {})).toEqual([
      ['svc_id', id],
      ['name', 'name 0'],
      ['ssn', '000-00-0000'],
      ['city', 'Oslo'],
      ['age', null],
    ])
    expect(await queries.query('SELECT * FROM people LIMIT 1', { idName: 'id' })).toEqual([{ ...all, svc_id: undefined, id }])
    const [own] = await queries.query("SELECT svc_id FROM people WHERE svc_id > ''")
    expect(await namesIn(queries, `SELECT name FROM people WHERE svc_id = '${String(own?.svc_id)}'`)).toEqual(['name 0'])
    const keys = async (sql: string) => Object.keys((await queries.query(sql))[0] ?? {})
    expect(await keys('SELECT a.name, b.name, a.age FROM people a JOIN people b ON TRUE')).toEqual(['a.name', 'b.name', 'age'])
    expect(await keys('SELECT *, 1 = 1 FROM people').catch(() => 'refused')).toBe('refused')
    expect(await keys('SELECT Count( * ), MIN(p.age) AS least FROM people p')).toEqual(['count(*)', 'least'])
    expect(await keys("SELECT redaction(p.ssn, 'masked'), age AS ssn2 FROM people p")).toEqual(['ssn', 'ssn2'])
    expect(await keys('SELECT age AS constructor, name AS "__proto__" FROM people').catch(() => [])).not.toContain('name')
    expect(Object.getPrototypeOf({})).toBe(Object.prototype)
  })

  it('show each value at the granted level, which REDACTION can only lower', async () => {
    const policy = { masked: ['ALLOW READ ON people.* WITH REDACTION = MASKED'] }
    const queries = await openQueries({ people: PEOPLE }, { policy })
    await queries.insert('people', samplePeople(1))
    const shown = async (roles: string[], level: string) =>
      (await queries.as(roles).query(`SELECT redaction(ssn, '${level}') FROM people`))[0]?.ssn
    expect(await shown(['VAULT_OWNER'], 'PLAIN_TEXT')).toBe('000-00-0000')
    expect(await shown(['VAULT_OWNER'], 'MASKED')).not.toMatch(/^000|REDACTED/)
    expect(await shown(['VAULT_OWNER'], 'REDACTED')).toBe('*REDACTED*')
    expect(await shown(['VAULT_OWNER'], 'DEFAULT')).toBe('000-00-0000')
    expect(await shown(['masked'], 'PLAIN_TEXT')).toBe(await shown(['VAULT_OWNER'], 'MASKED'))
    expect(await shown(['masked'], 'REDACTED')).toBe('*REDACTED*')
    const [bare] = await queries.as(['masked']).query('SELECT ssn, name, age FROM people')
    expect(bare).toEqual({ ssn: await shown(['masked'], 'MASKED'), name: '*REDACTED*', age: null })
    expect((await queries.query("SELECT redaction(svc_id, 'REDACTED') FROM people"))[0]).toEqual({ svc_id: '*REDACTED*' })
  })

  it('show a bare column and those of * at their own level, as a get does, and conditions read the value', async () => {
    const clients = {
      name: { type: 'STRING', redaction: 'MASKED', mask: { preset: 'keepFirst', count: 1 } },
      ssn: { type: 'STRING' },
      city: { type: 'STRING', redaction: 'PLAIN_TEXT' },
    } as const
    const policy = { masked: ['ALLOW READ ON clients.* WITH REDACTION = MASKED'] }
    const queries = await openQueries({ clients }, { policy })
    await queries.insert('clients', [{ name: 'Ann', ssn: '123', city: 'Oslo' }])
    const own = { name: 'A**', ssn: '*REDACTED*', city: 'Oslo' }
    expect(await queries.query("SELECT name, ssn, city FROM clients WHERE ssn = '123'")).toEqual([own])
    expect(await queries.query('SELECT * FROM clients')).toEqual([{ svc_id: expect.any(String), ...own }])
    expect(await queries.query("SELECT max(ssn) FROM clients WHERE name = 'Ann'")).toEqual([{ 'max(ssn)': '123' }])
    expect(await queries.query("SELECT REDACTION(name, 'PLAIN_TEXT'), REDACTION(ssn, 'PLAIN_TEXT') FROM clients")).toEqual([
      { name: 'Ann', ssn: '123' },
    ])
    expect(await queries.as(['masked']).query('SELECT name, ssn, city FROM clients')).toEqual([{ ...own, city: '*REDACTED*' }])
  })
})

describe('reading and opening', () => {
  async function open(count: number): Promise<Queries> {
    const queries = await openQueries({ people: PEOPLE, pets: PETS })
    for (let at = 0; at < count; at += 1000) await queries.insert('people', samplePeople(count).slice(at, at + 1000))
    queries.forget()
    return queries
  }
  const rowsRead = ({ calls }: Queries) => calls.reduce((sum, { rows }) => sum + rows, 0)

  it('is limited to what the result needs', async () => {
    const queries = await open(2000)
    await queries.query("SELECT name FROM people WHERE city = 'Rome' LIMIT 5 OFFSET 100")
    expect([rowsRead(queries), queries.opened()]).toEqual([5, 5])
    queries.forget()
    // One row more shows that the result is cut.
    await queries.query('SELECT city, svc_id FROM people')
    expect([rowsRead(queries), queries.opened()]).toEqual([26, 0])
    queries.forget()
    await queries.query("SELECT name FROM people WHERE city LIKE 'R%' LIMIT 5")
    expect([rowsRead(queries), queries.opened()]).toEqual([64, 5])
    queries.forget()
    await queries.query("SELECT name FROM people WHERE ssn = '000-00-1234'")
    expect([rowsRead(queries), queries.opened()]).toEqual([1, 1])
    queries.forget()
    await queries.query("SELECT city FROM people WHERE name LIKE 'n%' LIMIT 5")
    expect([rowsRead(queries), queries.opened()]).toEqual([64, 64])
    queries.forget()
    await queries.query('SELECT count(*), min(city) FROM people')
    expect(queries.calls.map(({ verb }) => verb)).toEqual(['aggregate'])
  })

  it('says whether the limit of the vault left records out, and not whether its own did', async () => {
    const owner = (await openClients(memoryStorage())).as(OWNER)
    await owner.insert(
      'clients',
      Array.from({ length: 30 }, () => ({ fields: { name: 'Ann', country: 'SE' } })),
    )
    const isCut = async (text: string, options = {}) => {
      const found = await owner.query(text, options)
      return [found.records.length, found.isCut]
    }
    const grouped = 'GROUP BY svc_id, name ORDER BY name'
    for (const where of [
      '',
      "WHERE country LIKE 'S%'",
      "WHERE name LIKE '%'",
      'ORDER BY name DESC',
      'GROUP BY svc_id, name',
      grouped,
    ]) {
      expect(await isCut(`SELECT name FROM clients ${where}`)).toEqual([25, true])
      expect(await isCut(`SELECT name FROM clients ${where} LIMIT 26`)).toEqual([25, true])
      expect(await isCut(`SELECT name FROM clients ${where} LIMIT 25`)).toEqual([25, false])
      expect(await isCut(`SELECT name FROM clients ${where} LIMIT 0`)).toEqual([0, false])
      expect(await isCut(`SELECT name FROM clients ${where} OFFSET 5`)).toEqual([25, false])
      expect(await isCut(`SELECT name FROM clients ${where} OFFSET 4`)).toEqual([25, true])
      expect(await isCut(`SELECT name FROM clients ${where}`, { maxRecords: 29 })).toEqual([25, true])
      expect(await isCut(`SELECT name FROM clients ${where}`, { maxRecords: 7 })).toEqual([7, true])
    }
    expect(await isCut('SELECT count(*) FROM clients')).toEqual([1, false])
  })

  it('looks up few rows of a joined table by digest for few rows before them', async () => {
    const queries = await open(2000)
    await queries.insert('pets', [{ owner: '000-00-0007' }, { owner: '000-00-1999' }, { owner: 'unknown' }])
    queries.forget()
    const found = await queries.query('SELECT owner, name FROM pets LEFT JOIN people ON ssn = owner')
    expect(found.map(({ name }) => name)).toEqual(['name 7', 'name 1999', null])
    expect([rowsRead(queries), queries.opened()]).toEqual([5, 5])
    queries.forget()
    await queries.query('SELECT a.name FROM people a JOIN people b ON a.ssn = b.ssn LIMIT 3')
    expect(rowsRead(queries)).toBe(64 + 64)
  })

  it('reads a joined table once for many rows before it', async () => {
    const queries = await open(6000)
    const sql = 'SELECT count(*), count(b.age), min(b.name) FROM people a LEFT JOIN people b ON a.ssn = b.ssn'
    expect(await queries.query(sql)).toEqual([{ 'count(*)': 6000, 'count(b.age)': 5400, 'min(b.name)': 'name 0' }])
    expect(rowsRead(queries)).toBeLessThan(6000 + 6000 + 3500)
    expect(rowsRead(queries)).toBeGreaterThan(6000 + 6000)
  })

  it('verifies a digest match on the opened value', async () => {
    const queries = await open(10)
    const people = queries.context.layout.tables.get('people')
    const digest = people?.byName.get('ssn')?.digest ?? ''
    const table = people?.physical.name ?? ''
    const rows = await queries.storage.find(table, { kind: 'all' }, { order: 'asc', limit: 10 })
    const [one, other] = rows
    if (one === undefined || other === undefined) throw new Error('the rows are missing')
    await queries.storage.update(table, [{ id: other.id, version: other.version, set: { [digest]: new Uint8Array(12) } }])
    await queries.storage.update(table, [{ id: one.id, version: one.version, set: { [digest]: other[digest] ?? null } }])
    expect(await queries.query("SELECT name FROM people WHERE ssn = '000-00-0001'")).toEqual([])
  })

  it('that opens a row changed outside the vault throws data_loss', async () => {
    const queries = await open(3)
    const table = queries.context.layout.tables.get('people')?.physical.name ?? ''
    const [row] = await queries.storage.find(table, { kind: 'all' }, { order: 'asc', limit: 1 })
    if (!(row?.body instanceof Uint8Array)) throw new Error('the row has no body')
    const body = Uint8Array.from(row.body)
    body[body.length - 1] = (body[body.length - 1] ?? 0) ^ 1
    await queries.storage.update(table, [{ id: row.id, version: row.version, set: { body } }])
    await expect(queries.query('SELECT name FROM people')).rejects.toMatchObject({ code: 'data_loss', grpcCode: 15 })
    expect(await queries.query('SELECT city FROM people')).toHaveLength(3)
  })
})
