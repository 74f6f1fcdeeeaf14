/** Reads by value: who may compare and order by a column, what a cursor is of, what is recorded, and what changes meanwhile. */
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { type Caller, column, createVault, defineSchema, type PolicyFor } from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { callerOf, eventsBy } from '../../support/audit/audited-clients.ts'
import { asLoose, type Cells } from '../../support/vaults/open-untyped.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const SEALED = { index: 'sealed', redaction: 'PLAIN_TEXT' } as const
const schema = defineSchema({
  people: {
    name: column.string({ ...SEALED, token: 'random' }),
    email: column.string({ searchable: true, normalize: ['lowercase'], redaction: 'PLAIN_TEXT' }),
    born: column.date(SEALED),
    salary: column.integer({ redaction: 'PLAIN_TEXT' }),
    diagnosis: column.string({ ...SEALED, requires: ['purpose'] }),
    country: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
    code: column.string({ token: { kind: 'transient' } }),
  },
  pets: { born: column.date(SEALED) },
})

const PEOPLE: readonly Cells[] = [
  { name: 'Ann', email: 'Ann@acme.example', born: '1990-01-01', salary: 300, diagnosis: 'asthma', country: 'SE' },
  { name: 'Bo', email: 'bo@acme.example', born: '1980-01-01', salary: 100, diagnosis: 'gout', country: 'DE' },
  { name: 'Cilla', email: 'cilla@acme.example', born: null, salary: 200, diagnosis: null, country: 'SE' },
  { name: 'Dan', email: 'dan@acme.example', born: '1990-01-01', salary: null, diagnosis: 'gout', country: 'DE' },
]

async function open(
  policy: PolicyFor<(typeof schema)['tables']> = {},
  storage: StorageHandle = memoryStorage(),
  more: Cells = {},
) {
  const keys = localKeys({ key: TEST_SECRET })
  const vault = await createVault({ id: 'v1', schema, policy, storage, keys, ...more })
  const { records } = await asLoose(vault.as(OWNER)).insert(
    'people',
    PEOPLE.map((fields) => ({ fields })),
  )
  const ids = records.map(({ id }) => id)
  const as = (caller: Caller = OWNER) => asLoose(vault.as(caller))
  return { vault, ids, as }
}

type Session = ReturnType<typeof asLoose>

/** The names of the people that a read finds, or the code and message of its error. */
async function namesBy(session: Session, options: Cells): Promise<string> {
  try {
    const { records } = await session.get('people', { ...options, fields: ['name'] })
    return records.map(({ fields }) => fields.name).join()
  } catch (error) {
    const { code, message } = error as { readonly code: string; readonly message: string }
    return `${code} ${message}`
  }
}

async function nextOf(session: Session, options: Cells): Promise<string> {
  const page = (await session.get('people', options)) as { readonly next?: string }
  return page.next ?? ''
}

it('find values, lists, null, ranges and texts by how they begin, in any order', async () => {
  const { as } = await open()
  const found = (options: Cells) => namesBy(as(), options)
  expect(await found({ where: { born: { from: '1980-01-01', below: '1990-01-01' } } })).toBe('Bo')
  expect(await found({ where: { born: { above: '1980-01-01', to: '1990-01-01' } } })).toBe('Ann,Dan')
  expect(await found({ where: { born: null } })).toBe('Cilla')
  expect(await found({ where: { born: '1990-01-01', country: 'DE' } })).toBe('Dan')
  expect(await found({ where: { salary: [100, 200] }, orderBy: 'DESCENDING' })).toBe('Cilla,Bo')
  expect(await found({ where: { name: { prefix: 'C' } } })).toBe('Cilla')
  expect(await found({ orderBy: 'born' })).toBe('Bo,Ann,Dan,Cilla')
  expect(await found({ orderBy: { column: 'born', order: 'DESCENDING' }, limit: 3 })).toBe('Cilla,Ann,Dan')
  expect(await found({ orderBy: 'salary', offset: 1, limit: 2 })).toBe('Cilla,Ann')
})

it('look up a normalized value as a look-up does, beside other columns too', async () => {
  const { as } = await open()
  expect(await namesBy(as(), { where: { email: 'ANN@acme.example' } })).toBe('Ann')
  expect(await namesBy(as(), { where: { email: ['ANN@acme.example', 'BO@acme.example'] }, orderBy: 'born' })).toBe('Bo,Ann')
})

describe('under a policy', () => {
  const clerk = callerOf('clerk')

  it('a masked column is neither compared nor orders records', async () => {
    const { as } = await open({ clerk: ['ALLOW READ ON people.name', 'ALLOW READ ON people.born WITH REDACTION = MASKED'] })
    for (const options of [{ where: { born: { from: '1985-01-01' } } }, { where: { born: '1990-01-01' } }, { orderBy: 'born' }])
      expect(await namesBy(as(clerk), options)).toMatch(/^forbidden .*"born" is used in .*requires READ in plain text/)
  })

  it('a hidden column is as one that does not exist', async () => {
    const { as } = await open({ clerk: ['ALLOW READ ON people.name, people.country'] })
    const reads = (name: string) => [
      { where: { [name]: { from: 'x' } } },
      { where: { [name]: null } },
      { where: { [name]: ['x'], country: 'SE' } },
      { orderBy: name },
    ]
    for (const [index, options] of reads('born').entries()) {
      const unknown = (await namesBy(as(clerk), reads('nope')[index] ?? {})).replaceAll('nope', 'born')
      expect(unknown).toMatch(/^invalid_request/)
      expect(await namesBy(as(clerk), options)).toBe(unknown)
    }
  })

  it('SEARCH allows = and nothing else', async () => {
    const { as } = await open({
      clerk: ['ALLOW READ ON people.name, people.country', 'ALLOW SEARCH ON people.born, people.email'],
    })
    expect(await namesBy(as(clerk), { where: { born: '1990-01-01' } })).toBe('Ann,Dan')
    expect(await namesBy(as(clerk), { where: { email: 'ANN@acme.example', country: 'SE' } })).toBe('Ann')
    for (const options of [{ where: { born: { to: '1990-01-01' } } }, { where: { born: null } }, { orderBy: 'born' }])
      expect(await namesBy(as(clerk), options)).toMatch(/^(?:forbidden|invalid_request)/)
  })

  it('records in which the column is not plain are not among those found, counted or behind a cursor', async () => {
    const { as } = await open({
      clerk: ["ALLOW READ ON people.* WHERE country = 'SE'", 'ALLOW READ ON people.* WITH REDACTION = MASKED'],
    })
    const session = as(clerk)
    expect(await namesBy(session, { redaction: 'PLAIN_TEXT', orderBy: 'born' })).toBe('Ann,Cilla')
    expect(await namesBy(session, { redaction: 'PLAIN_TEXT', where: { born: { from: '1900-01-01' } } })).toBe('Ann')
    expect(await namesBy(session, { redaction: 'PLAIN_TEXT', orderBy: 'born', offset: 1 })).toBe('Cilla')
    expect(await nextOf(session, { orderBy: 'born', limit: 2 })).toBe('')
  })

  it('a column that requires a purpose is compared with one only', async () => {
    const { as } = await open()
    const read = { where: { diagnosis: { prefix: 'g' } }, orderBy: 'diagnosis' }
    expect(await namesBy(as(), read)).toMatch(/^forbidden/)
    expect(await namesBy(as({ ...OWNER, purpose: 'TICKET-7' }), read)).toBe('Bo,Dan')
  })

  it('a transient value is not read', async () => {
    const { as } = await open()
    for (const options of [{ where: { code: 'x' } }, { where: { code: null } }, { orderBy: 'code' }])
      expect(await namesBy(as(), options)).toMatch(/^unprocessable .*transient/)
  })
})

describe('a cursor', () => {
  const read = { where: { country: ['SE', 'DE'] }, orderBy: 'born', limit: 1 }

  it('is of one read, and shows nothing of its value', async () => {
    const { as } = await open()
    const after = await nextOf(as(), read)
    const other = await nextOf(as(), { ...read, after })
    expect(after).toHaveLength(other.length)
    expect(Buffer.from(after, 'base64url').includes('1980')).toBe(false)
    expect(await namesBy(as(), { ...read, limit: 2, after })).toBe('Ann,Dan')
    expect(await namesBy(as(), { ...read, where: { country: ['DE', 'SE', 'SE'] }, after })).toBe('Ann')
    const elsewhere: readonly Cells[] = [
      { ...read, where: { country: 'SE' } },
      { ...read, where: {} },
      { ...read, where: { country: ['SE', 'DE'], born: { to: '2000-01-01' } } },
      { ...read, orderBy: 'salary' },
      { ...read, orderBy: { column: 'born', order: 'DESCENDING' } },
      { ...read, orderBy: 'ASCENDING' },
      { limit: 1 },
    ]
    for (const options of elsewhere) expect(await namesBy(as(), { ...options, after })).toMatch(/^invalid_request/)
    const flipped = Buffer.from(after, 'base64url')
    flipped[60] = (flipped[60] ?? 0) ^ 1
    for (const text of ['', 'x', after.slice(1), flipped.toString('base64url')])
      expect(await namesBy(as(), { ...read, after: text })).toMatch(/^invalid_request/)
    await expect(as().get('pets', { orderBy: 'born', after })).rejects.toMatchObject({ code: 'invalid_request' })
    const byId = await nextOf(as(), { where: read.where, limit: 1 })
    expect(await namesBy(as(), { ...read, after: byId })).toMatch(/^invalid_request/)
    const inOrder = await nextOf(as(), { where: { salary: { from: 0 } }, limit: 1 })
    expect(await namesBy(as(), { where: { salary: { from: 0 } }, after: inOrder })).toBe('Bo,Cilla')
    expect(await namesBy(as(), { where: { salary: { from: 1 } }, after: inOrder })).toMatch(/^invalid_request/)
  })

  it('goes on where its record was deleted or has another value, after a rotation, and not for a caller who may no longer compare', async () => {
    const { vault, as, ids } = await open({ clerk: ['ALLOW READ ON people.name'] })
    const after = await nextOf(as(), read)
    await as().delete('people', [ids[1] ?? ''])
    await vault.rotateKeys()
    expect(await namesBy(as(), { ...read, limit: 5, after })).toBe('Ann,Dan,Cilla')
    const second = await nextOf(as(), { ...read, after })
    await as().updateOne('people', ids[0] ?? '', { born: '2020-01-01' })
    expect(await namesBy(as(), { ...read, limit: 5, after: second })).toBe('Dan,Ann,Cilla')
    expect(await namesBy(as(callerOf('clerk')), { orderBy: 'born', after })).toMatch(/^invalid_request .*born/)
  })

  it('of a handle that rotated the keys is known to another one', async () => {
    const storage = memoryStorage()
    const one = await open({}, storage)
    const other = await createVault({ id: 'v1', schema, storage, keys: localKeys({ key: TEST_SECRET }) })
    await one.vault.rotateKeys()
    const after = await nextOf(one.as(), { orderBy: 'name', limit: 2 })
    expect(await namesBy(asLoose(other.as(OWNER)), { orderBy: 'name', after })).toBe('Cilla,Dan')
  })
})

it('leave out a record that another caller changed after it was found', async () => {
  const sound = memoryStorage()
  const storage: StorageHandle = {
    ...sound,
    async get(table, ids) {
      await hook?.()
      return sound.get(table, ids)
    },
  }
  let hook: (() => Promise<unknown>) | undefined
  const { as, ids } = await open({}, storage)
  for (const [fields, found] of [
    [{ name: 'Anna' }, 'Anna,Dan'],
    [{ born: '1991-01-01' }, 'Dan'],
    [{ born: null }, 'Dan'],
  ] as const) {
    hook = async () => {
      hook = undefined
      await as().updateOne('people', ids[0] ?? '', fields)
    }
    expect(await namesBy(as(), { where: { born: '1990-01-01' }, orderBy: 'born' })).toBe(found)
    await as().updateOne('people', ids[0] ?? '', PEOPLE[0] ?? {})
  }
})

it('end at the budget of the vault, and at an abort', async () => {
  const { as } = await open({}, memoryStorage(), { limits: { maxRowsRead: 3 } })
  expect(await namesBy(as(), { orderBy: 'salary' })).toMatch(/^limit_exceeded .*3 rows/)
  expect(await namesBy(as(), { where: { country: 'SE' }, orderBy: 'salary' })).toBe('Cilla,Ann')
  expect(await namesBy(as(), { orderBy: 'salary', signal: { aborted: true } })).toMatch(/^cancelled/)
})

it('are recorded with their columns and records, and without values', async () => {
  const { vault, as } = await open()
  const { events } = await eventsBy(vault, async () => {
    await as().get('people', {
      where: { born: { from: '1985-01-01' }, name: ['Ann', 'Bo'], email: null },
      orderBy: { column: 'born', order: 'DESCENDING' },
    })
    await as().get('people', { where: { born: { from: '1985-01-01' } }, orderBy: 'salary', limit: 1 })
    await as()
      .get('people', { orderBy: 'secret' })
      .catch(() => undefined)
  })
  const [first, second, third] = events.map(({ content = '' }) => JSON.parse(content) as Cells)
  expect(first).toMatchObject({ orderBy: { column: 'born', order: 'DESCENDING' } })
  expect(Object.keys(first?.where ?? {})).toEqual(['born', 'name', 'email'])
  expect(second).toMatchObject({ where: { born: '*REDACTED*' }, orderBy: 'salary', limit: 1 })
  expect(third).toMatchObject({ orderBy: '*REDACTED*' })
  expect(JSON.stringify(events)).not.toMatch(/1985|Ann|secret/)
  // The first record is the first row of its table.
  expect(events[1]?.rows).toEqual([{ table: 'people', runs: [[1, 1]] }])
})
