/** Deletions and updates by the value of a column: the records that a read by the column returns are changed, all or none, and no others. */
import { expect, it } from 'vitest'
import type { PolicyFor } from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { type Clients, callerOf, eventsBy, openClients } from '../../support/audit/audited-clients.ts'
import { type Engine, onEachStorage } from '../../support/storages/engines.ts'
import { interposedStorage, type Moment } from '../../support/storages/interposed-storage.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const POLICY = {
  swede: ["ALLOW READ, UPDATE, DELETE ON clients.* WITH REDACTION = PLAIN_TEXT WHERE country = 'SE'"],
  reader: ['ALLOW READ ON clients.* WITH REDACTION = PLAIN_TEXT', "ALLOW UPDATE, DELETE ON clients.* WHERE country = 'SE'"],
  unread: ['ALLOW SEARCH, UPDATE, DELETE ON clients.*'],
  unsearched: ['ALLOW READ, UPDATE, DELETE ON clients.*', 'DENY SEARCH ON clients.salary'],
  viewer: ['ALLOW READ ON clients.* WITH REDACTION = PLAIN_TEXT'],
  narrow: ['ALLOW READ, DELETE, UPDATE ON clients.country WITH REDACTION = PLAIN_TEXT'],
} as const satisfies PolicyFor<Clients>

const PEOPLE = [
  { name: 'Anna', email: 'anna@acme.example', country: 'SE', salary: 100 },
  { name: 'Bert', email: 'bert@acme.example', country: 'DE', salary: 100 },
  { name: 'Cilla', email: 'cilla@acme.example', country: 'SE', salary: 300 },
] as const

async function open(storage: StorageHandle, limits = {}) {
  const vault = await openClients(storage, { policy: POLICY, limits })
  const owner = vault.as(OWNER)
  const { records } = await owner.insert(
    'clients',
    PEOPLE.map((fields) => ({ fields })),
  )
  const stored = async () =>
    (await owner.get('clients', { redaction: 'PLAIN_TEXT' })).records.map(({ fields }) => [fields.name, fields.salary])
  return { vault, owner, stored, ids: records.map(({ id }) => id) }
}

const UNCHANGED = [
  ['Anna', 100],
  ['Bert', 100],
  ['Cilla', 300],
]

onEachStorage('deleteWhere', (engine) => {
  it('deletes the records with one of the values, returns their ids, and records one event', async () => {
    const { vault, owner, ids, stored } = await open(engine.fresh().open())
    const where = { salary: [100n, 5n] } as const
    const { answer, events } = await eventsBy(vault, () => owner.deleteWhere('clients', where))
    expect(answer).toEqual({ ids: ids.slice(0, 2) })
    expect(await stored()).toEqual([['Cilla', 300]])
    expect(events).toMatchObject([{ action: 'DELETE', code: 200, table: 'clients', rows: [{ table: 'clients' }] }])
    expect(JSON.parse(events[0]?.content ?? '')).toEqual({
      table: 'clients',
      where: { salary: [{ each: '*REDACTED*', times: 2 }] },
    })
    expect(await owner.deleteWhere('clients', where)).toEqual({ ids: [] })
  })

  it.each([
    ['unique', { email: 'bert@acme.example' }],
    ['indexed and plain', { country: 'DE' }],
  ] as const)('looks up a column that is %s', async (_, where) => {
    const { owner, ids } = await open(engine.fresh().open())
    expect(await owner.deleteWhere('clients', where)).toEqual({ ids: [ids[1]] })
  })

  it('deletes nothing if more records have the values than the limit', async () => {
    const { owner, stored } = await open(engine.fresh().open(), { maxRecords: 3 })
    await owner.insert('clients', [{ fields: { name: 'Dan', salary: 100 } }])
    await owner.insert('clients', [{ fields: { name: 'Eva', salary: 100 } }])
    await expect(owner.deleteWhere('clients', { salary: 100 })).rejects.toMatchObject({
      code: 'limit_exceeded',
      message:
        'Delete failed. More than 3 records of table "clients" have these values. Pass fewer values, or raise limits.maxRecords.',
    })
    expect(await stored()).toHaveLength(5)
  })

  it('works in a transaction, and is rolled back with it', async () => {
    const { vault, stored, ids } = await open(engine.fresh().open())
    const undo = new Error('undo')
    const work = vault.transaction(async (inside) => {
      const session = inside.as(OWNER)
      const where = { salary: 100 } as const
      expect((await session.updateWhere('clients', where, { name: 'X' })).records).toHaveLength(2)
      expect(await session.deleteWhere('clients', where)).toEqual({ ids: ids.slice(0, 2) })
      throw undo
    })
    await expect(work).rejects.toBe(undo)
    expect(await stored()).toEqual(UNCHANGED)
  })
})

onEachStorage('updateWhere', (engine) => {
  it('writes the values over the records with one of the values, and returns these with their tokens', async () => {
    const { vault, owner, ids, stored } = await open(engine.fresh().open())
    const where = { salary: 100 } as const
    const fields = { name: 'Same', salary: 101 } as const
    const { answer, events } = await eventsBy(vault, () => owner.updateWhere('clients', where, fields, { tokenization: true }))
    const written = { updatedAt: expect.any(String), tokens: { name: expect.any(String) } }
    expect(answer).toEqual({
      records: [
        { id: ids[0], ...written },
        { id: ids[1], ...written },
      ],
    })
    expect(await stored()).toEqual([
      ['Same', 101],
      ['Same', 101],
      ['Cilla', 300],
    ])
    expect(events).toMatchObject([{ action: 'UPDATE', code: 200, table: 'clients' }])
    expect(JSON.parse(events[0]?.content ?? '')).toEqual({
      table: 'clients',
      where: { salary: '*REDACTED*' },
      fields: { name: '*REDACTED*', salary: '*REDACTED*' },
      tokenization: true,
    })
    expect(await owner.updateWhere('clients', where, fields)).toEqual({ records: [] })
  })

  it('changes nothing if a value cannot be stored in each record', async () => {
    const { owner, stored } = await open(engine.fresh().open())
    const where = { salary: 100 } as const
    const fails = (fields: object) => owner.updateWhere('clients', where, fields)
    await expect(fails({ email: 'one@acme.example' })).rejects.toMatchObject({ code: 'conflict', details: [{ column: 'email' }] })
    await expect(fails({ name: null })).rejects.toMatchObject({ code: 'unprocessable' })
    await expect(fails({ nam: 'X' })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(fails({})).rejects.toMatchObject({ code: 'invalid_request' })
    expect(await stored()).toEqual(UNCHANGED)
  })
})

const WHERE = { salary: 100 } as const

onEachStorage('both', (engine) => {
  const changes = {
    deleteWhere: (session: Awaited<ReturnType<typeof open>>['owner'], where: object) =>
      session.deleteWhere('clients', where as never),
    updateWhere: (session: Awaited<ReturnType<typeof open>>['owner'], where: object) =>
      session.updateWhere('clients', where as never, { name: 'X' }),
  }

  it.each(Object.entries(changes))('%s reaches only records that the caller can read', async (_, change) => {
    const { vault, stored } = await open(engine.fresh().open())
    await change(vault.as(callerOf('swede')), WHERE)
    expect(await stored()).toContainEqual(['Bert', 100])
    expect(await stored()).not.toContainEqual(['Anna', 100])
  })

  it.each(Object.entries(changes))('%s is refused where reading by the column or the change is', async (_, change) => {
    const { vault, stored, ids } = await open(engine.fresh().open())
    const refused = (role: keyof typeof POLICY, where: object = WHERE) => change(vault.as(callerOf(role)), where)
    await expect(refused('unread')).rejects.toMatchObject({ code: 'forbidden' })
    await expect(refused('unsearched')).rejects.toMatchObject({ code: 'forbidden' })
    await expect(refused('viewer')).rejects.toMatchObject({ code: 'forbidden' })
    await expect(refused('narrow')).rejects.toMatchObject({ code: 'invalid_request' })
    // One of the two records can be read and not changed: it is named, because the caller can read its id.
    await expect(refused('reader')).rejects.toMatchObject({ code: 'not_found', details: [{ table: 'clients', id: ids[1] }] })
    await expect(refused('viewer', { name: 'Anna' })).rejects.toMatchObject({ code: 'forbidden' })
    expect(await stored()).toEqual(UNCHANGED)
  })

  it.each(Object.entries(changes))('%s refuses malformed input, and members that it does not have', async (_, change) => {
    const { owner, stored } = await open(engine.fresh().open())
    const refused = (where: object) => change(owner, where)
    await expect(refused({ name: 'Anna' })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(refused({ salary: [] })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(refused({})).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(refused({ salary: 'x' })).rejects.toMatchObject({ code: 'unprocessable' })
    await expect(refused({ salary: undefined })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(refused([])).rejects.toMatchObject({ code: 'invalid_request' })
    // A second member may be a misspelt limit, and a second column would not narrow the first.
    for (const more of [{ limit: 1 }, { country: 'SE' }])
      await expect(refused({ ...WHERE, ...more })).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining('where has more than one column. Look up one of them'),
      })
    expect(await stored()).toEqual(UNCHANGED)
  })

  it('name what is wrong with the records that they are given, before an argument that is then at a wrong place', async () => {
    const { vault, owner, stored } = await open(engine.fresh().open())
    const session = vault.as(OWNER) as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
    const messageOf = (method: string, ...args: unknown[]) =>
      session[method]?.('clients', ...args).then(
        () => 'none',
        (error: Error) => error.message,
      )
    const where = 'where must be an object with one column, and its value or a list of values: { column: value }.'
    expect(await messageOf('updateWhere', 'salary', [100], { name: 'X' })).toBe(`Update failed. ${where}`)
    expect(await messageOf('deleteWhere', 'salary', [100])).toBe(`Delete failed. ${where}`)
    const missing = 'Column "salary" of where is undefined. Give it a value.'
    expect(await messageOf('deleteWhere', { salary: undefined })).toBe(`Delete failed. ${missing}`)
    const { records } = await owner.get('clients')
    const named = await messageOf('update', records[0]?.id, { name: 'X' })
    expect(named).toBe('Update failed. Expected a non-empty array of records.')
    const asked = 'Name records by { ids }, or by { where: { column: value } }.'
    expect(await messageOf('get', [records[0]?.id])).toBe(`Get failed. The options must be an object. ${asked}`)
    expect(await messageOf('get', { columnName: 'salary' })).toContain(`Unknown option "columnName". ${asked}`)
    expect(await stored()).toEqual(UNCHANGED)
  })

  it.each(Object.entries(changes))('%s leaves a record alone that lost the value meanwhile', async (_, change) => {
    const { session, owner, hasCome } = await openRaced(engine)
    await change(session, WHERE)
    expect(hasCome()).toBe(true)
    const { records } = await owner.get('clients', { redaction: 'PLAIN_TEXT', fields: ['name', 'salary'] })
    expect(records.map(({ fields }) => fields)).toContainEqual({ name: 'Bert', salary: 999 })
    expect(records.map(({ fields }) => fields)).not.toContainEqual({ name: 'Anna', salary: 100 })
  })
})

/** A vault in which another writer changes the second record as late as possible: after it was found, if transactions are concurrent. */
async function openRaced(engine: Engine) {
  const place = engine.fresh()
  const { storage, interpose } = interposedStorage(place.open())
  const { owner, ids } = await open(place.open())
  const session = (await openClients(storage, { policy: POLICY })).as(OWNER)
  const isLast = ({ method, table }: Moment): boolean =>
    storage.transactions === 'concurrent' ? table?.endsWith('clients') === true : method === 'begin'
  const hasCome = interpose({
    isDue: isLast,
    work: async () => void (await owner.updateOne('clients', ids[1] ?? '', { salary: 999 })),
  })
  return { session, owner, hasCome }
}
