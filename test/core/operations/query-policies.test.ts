/** Tests queries under conditional policies: hidden rows and cells never influence a result. */
import { describe, expect, it } from 'vitest'
import { openQueries, type Queries } from '../../support/queries/open-queries.ts'
import { namesIn, numbers, PEOPLE, PETS, samplePeople } from '../../support/queries/sample-people.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'

describe('a policy with conditions', () => {
  const policy = {
    osloOnly: [
      "ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT WHERE people.city = 'Oslo'",
      'ALLOW READ ON pets.* WITH REDACTION = PLAIN_TEXT',
    ],
    veiled: ['ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT', "DENY READ ON people.ssn WHERE people.city = 'Rome'"],
    graded: [
      'ALLOW READ ON people.* WITH REDACTION = REDACTED',
      'ALLOW READ ON people.name, people.age WITH REDACTION = PLAIN_TEXT WHERE people.age > 5',
    ],
  }
  async function open(): Promise<Queries> {
    const queries = await openQueries({ people: PEOPLE, pets: PETS }, { policy })
    await queries.insert('people', samplePeople(12))
    await queries.insert('pets', [{ owner: 'name 0' }, { owner: 'name 1' }])
    return queries
  }

  it('removes hidden rows before they are skipped, counted, summed or joined', async () => {
    const queries = (await open()).as(['osloOnly'])
    expect(await namesIn(queries, 'SELECT name FROM people LIMIT 2 OFFSET 1')).toEqual(['name 3', 'name 6'])
    expect(await queries.query('SELECT count(*), sum(age), max(name) FROM people')).toEqual([
      { 'count(*)': 4, 'sum(age)': 18, 'max(name)': 'name 9' },
    ])
    const joined = await queries.query('SELECT owner, name FROM pets LEFT JOIN people ON owner = name')
    expect(joined).toEqual([
      { owner: 'name 0', name: 'name 0' },
      { owner: 'name 1', name: null },
    ])
  })

  it('removes rows that hide a named column, and shows null for hidden columns of *', async () => {
    const queries = (await open()).as(['veiled'])
    expect(await namesIn(queries, 'SELECT name, ssn FROM people LIMIT 3')).toEqual(['name 0', 'name 2', 'name 3'])
    const all = await queries.query('SELECT * FROM people LIMIT 2')
    expect(all.map(({ name, ssn }) => [name, ssn])).toEqual([
      ['name 0', '000-00-0000'],
      ['name 1', null],
    ])
    for (const condition of ['ssn IS NULL', "ssn = '000-00-0001'", "NOT ssn > '000-00-0001'"]) {
      expect(await namesIn(queries, `SELECT name FROM people WHERE (${condition}) AND age = 1`)).toEqual([])
    }
    expect(await queries.query('SELECT count(*) FROM people')).toEqual([{ 'count(*)': 12 }])
    expect(await queries.query('SELECT count(ssn) FROM people')).toEqual([{ 'count(ssn)': 8 }])
  })

  it('compares a column only in rows that show it in plain text', async () => {
    const queries = (await open()).as(['graded'])
    expect(await namesIn(queries, "SELECT name FROM people WHERE name > 'name 3'")).toEqual(numbers(6, 10))
    expect(await queries.query('SELECT sum(age), count(*) FROM people')).toEqual([{ 'sum(age)': 41, 'count(*)': 5 }])
    expect((await namesIn(queries, 'SELECT name FROM people')).slice(4, 8)).toEqual([
      '*REDACTED*',
      '*REDACTED*',
      'name 6',
      'name 7',
    ])
  })

  it('orders and groups only rows that show the column in plain text, whatever the result shows of it', async () => {
    const queries = await open()
    const graded = queries.as(['graded'])
    expect(await namesIn(graded, 'SELECT name FROM people ORDER BY age DESC')).toEqual(['name 11', ...numbers(6, 10).reverse()])
    expect(await graded.query('SELECT age, count(*) FROM people GROUP BY age ORDER BY age LIMIT 1')).toEqual([
      { age: 6, 'count(*)': 1 },
    ])
    expect(await graded.query('SELECT count(DISTINCT age), count(*) FROM people')).toEqual([
      { 'count(distinct age)': 5, 'count(*)': 5 },
    ])
    const oslo = queries.as(['osloOnly'])
    expect(await oslo.query('SELECT city, count(*) FROM people GROUP BY city')).toEqual([{ city: 'Oslo', 'count(*)': 4 }])
    expect(await namesIn(oslo, 'SELECT name FROM people ORDER BY name DESC OFFSET 2')).toEqual(['name 3', 'name 0'])
    const veiled = queries.as(['veiled'])
    expect(await veiled.query('SELECT count(*) FROM people GROUP BY ssn')).toHaveLength(8)
    expect(await namesIn(veiled, 'SELECT name FROM people ORDER BY ssn LIMIT 3')).toEqual(['name 0', 'name 2', 'name 3'])
  })

  it('shows the column of a group at the level of its column', async () => {
    const queries = await openQueries({ people: { ...PEOPLE, ssn: { ...PEOPLE.ssn, redaction: 'MASKED' } } })
    await queries.insert('people', samplePeople(2))
    const shown =
      "SELECT ssn, redaction(ssn, 'PLAIN_TEXT') AS all_of_it, count(*) AS n FROM people GROUP BY ssn ORDER BY ssn DESC"
    expect(await queries.query(shown)).toEqual([
      { ssn: '***-**-0001', all_of_it: '000-00-0001', n: 1 },
      { ssn: '***-**-0000', all_of_it: '000-00-0000', n: 1 },
    ])
  })

  it('raises no error for a hidden row', async () => {
    const patterns = {
      a: { type: 'STRING', encrypted: false, redaction: 'PLAIN_TEXT' },
      open: { type: 'BOOL', encrypted: false },
    } as const
    const queries = await openQueries(
      { t: patterns },
      { policy: { some: ['ALLOW READ ON t.* WITH REDACTION = PLAIN_TEXT WHERE t.open = TRUE'] } },
    )
    await queries.insert('t', [
      { a: 'x', open: true },
      { a: '\\', open: false },
    ])
    expect(await queries.as(['some']).query('SELECT a FROM t WHERE a LIKE a')).toEqual([{ a: 'x' }])
    await expect(queries.query('SELECT a FROM t WHERE a LIKE a')).rejects.toMatchObject({ code: 'unprocessable', grpcCode: 9 })
  })
})

describe('the property that hidden data changes no result', () => {
  const random = seededRandom('unseen')
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)]
  const policy = {
    redacted: [
      'ALLOW READ ON people.name, people.city WITH REDACTION = PLAIN_TEXT',
      'ALLOW READ ON people.ssn, people.age WITH REDACTION = REDACTED',
    ],
    hidden: ['ALLOW READ ON people.name, people.city WITH REDACTION = PLAIN_TEXT'],
    rows: ["ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT WHERE people.city = 'Oslo'"],
    graded: [
      'ALLOW READ ON people.* WITH REDACTION = REDACTED',
      "ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT WHERE people.city = 'Oslo'",
    ],
  }
  const ROLES = ['redacted', 'hidden', 'rows', 'graded'] as const
  const CONDITIONS = [
    "ssn = 's1'",
    "ssn > 's1'",
    'ssn IS NULL',
    'age > 2',
    'age = 3',
    'age IS NOT NULL',
    "name = 'n1'",
    "name LIKE '%2'",
    'NOT name = ssn',
    "ssn >= 's1'",
    "ssn IN ('s1', name)",
    'age NOT BETWEEN 1 AND 2',
    "city = 'Oslo'",
    "city > 'Oslo'",
    'name ILIKE city',
  ]
  const OUTPUTS = [
    '*',
    'name',
    'name, ssn',
    'count(*)',
    'count(ssn)',
    'sum(age)',
    'min(ssn)',
    "redaction(ssn, 'PLAIN_TEXT')",
    'age',
  ]
  const cell = (prefix: string) => pick([0, 1, 2, 3].map((at) => `${prefix}${at}`))

  type Person = ReturnType<typeof drawPerson>

  function drawPerson(at: number) {
    const ssn = random() < 0.2 ? null : `s${at % 5}${at}`
    return { name: cell('n'), ssn, city: pick(['Oslo', 'Ulm', 'Rome']), age: pick([1, 2, 3, null]) }
  }

  /** Other values where the role sees none. Null shows at every level, so it stays if the column is not hidden. */
  function veil(role: (typeof ROLES)[number], person: Person, at: number): Person {
    // Also in another order.
    const ssn = person.ssn === null ? null : `other ${9 - at}`
    const age = person.age === null ? null : 7
    if (role === 'redacted') return { ...person, ssn, age }
    if (role === 'hidden') return { ...person, ssn: random() < 0.5 ? null : `t${at}`, age: 7 }
    if (person.city === 'Oslo') return person
    if (role === 'graded') return { name: `x${at}`, ssn, city: 'Bonn', age }
    return { name: cell('x'), ssn: random() < 0.5 ? null : `t${at}`, city: cell('c'), age: 9 }
  }

  async function openPair(role: (typeof ROLES)[number]): Promise<readonly [Queries, Queries]> {
    const rows = Array.from({ length: 8 }, (_, at) => drawPerson(at))
    const tables = { people: { ...PEOPLE, ssn: { type: 'STRING', searchable: true } } } as const
    const pair = [await openQueries(tables, { policy }), await openQueries(tables, { policy })] as const
    await pair[0].insert('people', rows)
    await pair[1].insert(
      'people',
      rows.map((person, at) => veil(role, person, at)),
    )
    return pair
  }

  function drawQuery(): string {
    const where = `${pick(CONDITIONS)} ${pick(['AND', 'OR'])} ${pick(CONDITIONS)}`
    const limit = `LIMIT ${pick([1, 3, 25])}`
    const column = () => pick(['name', 'ssn', 'age', 'city'])
    const some = random() < 0.5 ? '' : ` WHERE ${pick(CONDITIONS)}`
    if (random() < 0.2) return `SELECT ${column()} FROM people${some} ORDER BY ${column()}, ${column()} DESC ${limit}`
    if (random() < 0.2) {
      const by = column()
      return `SELECT ${by}, count(*), count(DISTINCT ${column()}) FROM people${some} GROUP BY ${by} ${limit}`
    }
    if (random() < 0.7) return `SELECT ${pick(OUTPUTS)} FROM people WHERE ${where} ${limit}`
    const [left, right] = [pick(['name', 'ssn', 'age']), pick(['name', 'ssn', 'age'])]
    const qualified = where.replaceAll(/\b(name|ssn|age|city)\b/g, 'people.$1')
    return `SELECT count(*), min(people.name) FROM people JOIN people b ON people.${left} = b.${right} WHERE ${qualified} ${limit}`
  }

  async function heard(queries: Queries, sql: string): Promise<string> {
    return JSON.stringify(await queries.query(sql).catch((error: unknown) => String(error)))
  }

  it('holds for random rows, policies and queries', async () => {
    let answered = 0
    for (let round = 0; round < 80; round++) {
      const role = pick(ROLES) ?? 'rows'
      const [one, other] = await openPair(role)
      for (let asked = 0; asked < 10; asked++) {
        const sql = drawQuery()
        const [first, second] = [await heard(one.as([role]), sql), await heard(other.as([role]), sql)]
        expect(second, `${role}: ${sql}`).toBe(first)
        if (first.startsWith('[{')) answered++
      }
    }
    expect(answered).toBeGreaterThan(100)
  })

  it('fails for a caller who sees the data', async () => {
    const [one, other] = [await openQueries({ people: PEOPLE }), await openQueries({ people: PEOPLE })]
    await one.insert('people', [{ ssn: 'a' }])
    await other.insert('people', [{ ssn: 'b' }])
    const sql = "SELECT count(*) FROM people WHERE ssn > 'a'"
    expect(await heard(one, sql)).not.toBe(await heard(other, sql))
  })
})
