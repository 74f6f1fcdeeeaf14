/** Updates of many records: each record gets its own values, all or none, in order, with one event and one write of storage. */
import { expect, it } from 'vitest'
import type { Caller } from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { callerOf, eventsBy, openClients, PEOPLE } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const POLICY = {
  analyst: [
    'ALLOW READ ON clients.* WITH REDACTION = PLAIN_TEXT',
    'ALLOW UPDATE ON clients.* WHERE clients.country = ctx.country',
  ],
} as const

const analyst = (country: string): Caller => ({ ...callerOf('analyst'), context: { country } })

async function open(storage: StorageHandle) {
  const vault = await openClients(storage, { policy: POLICY })
  const owner = vault.as(OWNER)
  const { records } = await owner.insert(
    'clients',
    PEOPLE.map((fields) => ({ fields })),
  )
  const ids = records.map(({ id }) => id)
  const salaries = async () =>
    (await owner.get('clients', { redaction: 'PLAIN_TEXT', fields: ['salary'] })).records.map(({ fields }) => fields.salary)
  return { vault, owner, ids, salaries }
}

onEachStorage('update', (engine) => {
  it('writes to each record its own columns, and returns them in order with one event', async () => {
    const { vault, owner, ids } = await open(engine.fresh().open())
    const [anna = '', bert = '', cilla = ''] = ids
    const { answer, events } = await eventsBy(vault, () =>
      owner.update(
        'clients',
        [
          { id: cilla, fields: { salary: 301 } },
          { id: anna, fields: { name: 'Ann', country: null } },
          { id: bert, fields: { email: 'bo@acme.example', salary: 201 } },
        ],
        { tokenization: true },
      ),
    )
    const updatedAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/)
    expect(answer).toEqual({
      records: [
        { id: cilla, updatedAt, tokens: {} },
        { id: anna, updatedAt, tokens: { name: expect.any(String) } },
        { id: bert, updatedAt, tokens: { email: expect.any(String) } },
      ],
    })
    const { records } = await owner.get('clients', { redaction: 'PLAIN_TEXT' })
    expect(records.map(({ fields }) => fields)).toEqual([
      { ...PEOPLE[0], name: 'Ann', country: null, salary: 100 },
      { ...PEOPLE[1], email: 'bo@acme.example', salary: 201 },
      { ...PEOPLE[2], salary: 301 },
    ])
    expect(events).toMatchObject([{ action: 'UPDATE', code: 200, table: 'clients' }])
    expect(JSON.parse(events[0]?.content ?? '')).toEqual({
      table: 'clients',
      records: [
        { id: '*REDACTED*', fields: { salary: '*REDACTED*' } },
        { id: '*REDACTED*', fields: { name: '*REDACTED*', country: '*REDACTED*' } },
        { id: '*REDACTED*', fields: { email: '*REDACTED*', salary: '*REDACTED*' } },
      ],
      tokenization: true,
    })
  })

  it('changes nothing if one record fails, and names it by its index', async () => {
    const { owner, ids, salaries } = await open(engine.fresh().open())
    const [anna = '', bert = ''] = ids
    const good = { id: anna, fields: { salary: 1 } }
    const fails = async (bad: object, error: object) => {
      await expect(owner.update('clients', [good, bad as never])).rejects.toMatchObject(error)
    }
    await fails(
      { id: bert, fields: { email: 'anna@acme.example' } },
      { code: 'conflict', details: [{ column: 'email', index: 1 }] },
    )
    await fails({ id: bert, fields: { salary: 'x' } }, { code: 'unprocessable', details: [{ column: 'salary', index: 1 }] })
    await fails({ id: bert, fields: {} }, { code: 'invalid_request', details: [{ table: 'clients', index: 1 }] })
    await fails({ id: bert, fields: { name: null } }, { code: 'unprocessable', details: [{ column: 'name', index: 1 }] })
    await fails({ id: bert, fields: { salary: 2 }, tokens: { email: 'x' } }, { code: 'unprocessable' })
    await fails(
      { id: anna, fields: { salary: 2 } },
      { code: 'invalid_request', message: 'Update failed. records[1] and records[0] have the same id. Name each record once.' },
    )
    await fails(
      { id: '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11', fields: { salary: 2 } },
      {
        code: 'not_found',
        message: 'Update failed. No record of table "clients" has the id at records[1].',
        details: [{ table: 'clients', index: 1, id: '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11' }],
      },
    )
    await fails(null as never, { code: 'invalid_request' })
    expect(await salaries()).toEqual([100, 200, 300])
  })

  it('frees a unique value for a later record, in order', async () => {
    const { owner, ids } = await open(engine.fresh().open())
    const [anna = '', bert = ''] = ids
    await owner.update('clients', [
      { id: anna, fields: { email: 'moved@acme.example' } },
      { id: bert, fields: { email: 'anna@acme.example' } },
    ])
    const { records } = await owner.get('clients', { where: { email: 'anna@acme.example' } })
    expect(records.map(({ id }) => id)).toEqual([bert])
  })

  it('refuses a hidden record as one that does not exist, in whatever order they come', async () => {
    const { vault, ids, salaries } = await open(engine.fresh().open())
    const [anna = '', bert = ''] = ids
    const swede = vault.as(analyst('SE'))
    const missing = '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11'
    const refused = async (id: string, fields: object, isFirst: boolean) => {
      const changes = [
        { id, fields: { salary: 5 } },
        { id: anna, fields },
      ]
      const error: unknown = await swede
        .update('clients', (isFirst ? changes : changes.reverse()) as never)
        .catch((thrown: unknown) => thrown)
      return JSON.stringify([error, String(error)]).replaceAll(id, 'the id')
    }
    for (const isFirst of [true, false]) {
      for (const fields of [{ salary: 6 }, { country: 'DE' }]) {
        expect(await refused(bert, fields, isFirst)).toBe(await refused(missing, fields, isFirst))
      }
    }
    expect(await salaries()).toEqual([100, 200, 300])
    await swede.update('clients', [{ id: anna, fields: { salary: 6 } }])
    expect(await salaries()).toEqual([6, 200, 300])
  })

  it('runs again if another caller changes a record meanwhile, and keeps both changes', async () => {
    const { vault, owner, ids } = await open(engine.fresh().open())
    const one = ids.map((id, index) => ({ id, fields: { salary: 1000 + index } }))
    const other = ids.map((id, index) => ({ id, fields: { name: `new ${index}` } })).reverse()
    await Promise.all([owner.update('clients', one), vault.as(OWNER).update('clients', other), owner.update('clients', one)])
    const { records } = await owner.get('clients', { redaction: 'PLAIN_TEXT', fields: ['name', 'salary'] })
    expect(records.map(({ fields }) => fields)).toEqual(ids.map((_, index) => ({ name: `new ${index}`, salary: 1000 + index })))
  })

  it('refuses an empty list and more records than the limit, plainly', async () => {
    const storage = engine.fresh().open()
    const vault = await openClients(storage, { limits: { maxRecords: 2 } })
    const owner = vault.as(OWNER)
    await expect(owner.update('clients', [])).rejects.toMatchObject({
      message: 'Update failed. There are no records to update. Pass at least one.',
    })
    const change = { id: '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11', fields: { salary: 1 } }
    await expect(owner.update('clients', [change, change, change])).rejects.toMatchObject({ code: 'limit_exceeded' })
  })
})
