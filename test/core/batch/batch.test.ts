/** Batches: one transaction, one event, and for each item the result or the error of its own operation. */
import { expect, test } from 'vitest'
import { VaultError } from '../../../src/index.ts'
import { callerOf, eventsBy, eventsOf, listedBy, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const post = (email: string) => ({ insert: 'clients', fields: { name: 'Ann', email } }) as const
const read = (id: string) => ({ get: 'clients', id }) as const
const remove = (id: string) => ({ delete: 'clients', id }) as const
const rename = (id: string, name: string) => ({ update: 'clients', id, fields: { name } }) as const

const ROLLED_BACK = { code: 500, message: 'Rolled back with its transaction.' }
const NOT_RUN = { code: 500, message: 'Not run: the batch failed before this item.' }
const UUID = expect.stringMatching(/^[0-9a-f-]{36}$/)

onEachStorage('a batch', (engine) => {
  async function open(more = {}) {
    const vault = await openClients(engine.fresh().open(), more)
    const session = vault.as(OWNER)
    const [first] = (await session.insert('clients', [{ fields: { name: 'Eve', email: 'eve@acme.example' } }])).records
    return { vault, session, id: first?.id ?? '' }
  }

  test('returns what each operation returns, and records one event with a result for each item', async () => {
    const { vault, session, id } = await open()
    const single = await session.getOne('clients', id)
    const { answer, events } = await eventsBy(vault, () =>
      session.batch([read(id), { ...post('a@acme.example'), tokenization: true }, rename(id, 'Eva'), remove(id)]),
    )
    expect(answer).toEqual({
      responses: [
        { ok: true, value: single },
        { ok: true, value: { id: UUID, tokens: { name: UUID, email: UUID } } },
        { ok: true, value: { id, updatedAt: expect.stringMatching(/Z$/) } },
        { ok: true, value: { id, deleted: true } },
      ],
    })
    expect(events).toMatchObject([{ action: 'BATCH', resourceType: 'VAULT', code: 200, message: '', tables: ['clients'] }])
    expect(events[0]?.nested).toMatchObject([{ code: 200 }, { code: 200 }, { code: 200 }, { code: 200 }])
    expect(JSON.parse(events[0]?.nested?.[1]?.content ?? '')).toEqual({
      table: 'clients',
      records: [{ fields: { name: '*REDACTED*', email: '*REDACTED*' } }],
      tokenization: true,
    })
    expect(await session.get('clients')).toMatchObject({ records: [{ fields: { email: 'a@acme.example' } }] })
    expect((await vault.verifyAudit()).ok).toBe(true)
  })

  test('is found by the ids of its items, which nestedResponse names', async () => {
    const { session, id } = await open()
    const { responses } = await session.batch([read(id), post('a@acme.example')])
    const [, second] = responses
    const listed = (await listedBy(session)).find(({ request }) => request.actionType === 'BATCH')
    expect(listed?.response.nestedResponse).toMatchObject([
      { code: 200, message: '', identifier: `RECORD/${id}`, data: { content: expect.any(String) } },
      { code: 200, message: '', identifier: `RECORD/${second.value.id}` },
    ])
    const resourceIDs = [`RECORD/${second.value.id}`]
    const found = await session.listEvents({ filterOps: { accountID: 'v1', resourceIDs } })
    expect(found.events).toMatchObject([{ request: { actionType: 'BATCH' } }])
  })

  test('records the input of each item as its operation does', async () => {
    const { vault, session, id } = await open()
    const swapped = { insert: 'clients', fields: { email: 'c@acme.example', name: 'Cy' } } as const
    const order = { insert: 'orders', fields: { memo: 'a' } } as const
    const items = [
      ...[post('a@acme.example'), order, swapped, post('b@acme.example'), order, read(id)],
      ...[{ ...read(id), redaction: 'MASKED' } as const, read(id), rename(id, 'Eva'), order, remove(id)],
    ]
    await session.batch(items)
    const nested = (await listedBy(session)).flatMap(({ response }) => response.nestedResponse ?? [])
    const other = await openClients(engine.fresh().open())
    const single = other.as(OWNER)
    const [eve = { id: '' }] = (await single.insert('clients', [{ fields: { name: 'Eve', email: 'eve@acme.example' } }])).records
    for (const item of items) {
      if ('insert' in item) await single.perform('insert', { table: item.insert, records: [{ fields: item.fields }] })
      if ('get' in item) await single.getOne('clients', eve.id, 'redaction' in item ? { redaction: item.redaction } : {})
      if ('update' in item) await single.updateOne('clients', eve.id, item.fields)
      if ('delete' in item) await single.deleteOne('clients', eve.id)
    }
    const [, ...events] = await eventsOf(other)
    expect(nested.map(({ data }) => JSON.parse(data?.content ?? ''))).toEqual(
      events.map(({ content }) => JSON.parse(content ?? '')),
    )
    expect((await vault.verifyAudit()).ok).toBe(true)
  })

  test('stores of items that are alike what each has, and records them as one, but not those with other columns or options', async () => {
    const { vault, session } = await open()
    const { responses } = await session.batch([
      post('a@acme.example'),
      post('b@acme.example'),
      post('c@acme.example'),
      { ...post('d@acme.example'), tokenization: true },
      { ...post('e@acme.example'), tokenization: true },
      { insert: 'clients', fields: { email: 'f@acme.example', name: 'Bo' } },
    ])
    const nested = (await eventsOf(vault)).find(({ action }) => action === 'BATCH')?.nested
    const stored = responses.map(({ value }) => value)
    const ids = stored.map(({ id }) => id)
    const { records } = await session.get('clients', { ids, redaction: 'PLAIN_TEXT' })
    expect(records.map(({ fields }) => fields.email?.slice(0, 1)).join('')).toBe('abcdef')
    expect(stored.map((record) => 'tokens' in record)).toEqual([false, false, false, true, true, false])
    expect(nested).toMatchObject([{ items: 3 }, { items: 2 }, { code: 200 }])
    const contents = nested?.map(({ content }) => JSON.parse(content ?? '')) ?? []
    expect(contents.map(({ tokenization }) => tokenization)).toEqual([undefined, true, undefined])
    expect(contents.map((content) => Object.keys(content.records[0].fields).join())).toEqual([
      'name,email',
      'name,email',
      'email,name',
    ])
  })

  test('rolls back with its first failure, and names the item', async () => {
    const { vault, session, id } = await open()
    const { error, events } = await eventsBy(vault, () =>
      session.batch([post('a@acme.example'), read(id), post('eve@acme.example'), remove(id)]),
    )
    expect(error).toMatchObject({
      code: 'conflict',
      httpStatus: 422,
      details: [{ table: 'clients', column: 'email', index: 2 }],
    })
    expect(String(error)).toContain('Batch failed. Item 2: Insert failed. ')
    expect(events).toMatchObject([{ action: 'BATCH', code: 422 }])
    expect(events[0]?.nested).toMatchObject([ROLLED_BACK, { code: 200, message: '' }, { code: 422 }, NOT_RUN])
    expect(events[0]?.nested?.map(({ rows }) => rows !== undefined)).toEqual([true, true, false, false])
    expect((await session.get('clients')).records).toMatchObject([{ id }])
  })

  test.each([
    ['a number', 7, 'Batch failed. Item 1: An item must be an object.'],
    ['an item without a method', { id: 'x' }, 'Batch failed. Item 1: An item must have one of insert, update, get and delete'],
    ['an item with a member of another method', { ...read('x'), fields: {} }, 'Batch failed. Item 1: Get failed. fields cannot'],
  ])('names the batch once, and the item, for %s', async (_name, item, message) => {
    const { session, id } = await open()
    const items: unknown[] = [read(id), item]
    await expect(session.perform('batch', { items: items as never })).rejects.toThrow(message)
  })

  test('with continueOnError rolls back each failing item alone, also malformed ones', async () => {
    const { vault, session, id } = await open()
    const items = [
      post('eve@acme.example'),
      { get: 'clents', id },
      post('b@acme.example'),
      remove('x'),
      { insert: 'clients', id, fields: {} },
      remove(id),
    ]
    const { answer, events } = await eventsBy(vault, () =>
      session.perform('batch', { items: items as never, options: { continueOnError: true } }),
    )
    const single = await session.insert('clients', [{ fields: post('b@acme.example').fields }]).catch((error) => error)
    expect(single).toMatchObject({ code: 'conflict' })
    expect(answer).toMatchObject({
      responses: [
        { ok: false, error: { message: single.message, code: 'conflict', httpStatus: 422, details: single.details } },
        { ok: false, error: { code: 'not_found', message: expect.stringContaining('Get failed. Table "clents"') } },
        { ok: true },
        { ok: false, error: { code: 'not_found' } },
        { ok: false, error: { code: 'invalid_request', message: 'Insert failed. id cannot be combined with insert.' } },
        { ok: true },
      ],
    })
    expect(events).toMatchObject([
      {
        code: 200,
        nested: [{ code: 422 }, { code: 404, message: expect.stringContaining('*UNKNOWN*') }, {}, {}, { code: 400 }, {}],
      },
    ])
    expect((await session.get('clients')).records).toMatchObject([{ fields: { email: 'b@acme.example' } }])
  })

  test('reads what it wrote before, and upserts it', async () => {
    const { session } = await open()
    const fields = { email: 'a@acme.example', country: 'SE', name: 'Anna' }
    const { responses } = await session.batch([post('a@acme.example'), { insert: 'clients', fields, upsert: 'email' }])
    expect(responses[1]).toEqual(responses[0])
    expect((await session.get('clients')).records).toHaveLength(2)
  })

  test('refuses every item to a caller without grants', async () => {
    const { vault, id } = await open()
    const { answer, events } = await eventsBy(vault, () =>
      vault.as(callerOf('clerk')).batch([read(id), remove(id)], { continueOnError: true }),
    )
    expect(answer).toMatchObject({ responses: [{ error: { httpStatus: 401 } }, { error: { httpStatus: 401 } }] })
    expect(events).toMatchObject([{ code: 200, nested: [{ code: 401 }, { code: 401 }] }])
  })

  test('in a transaction that rolls back, is recorded as rolled back, and what it read as read', async () => {
    const { vault, id } = await open()
    const refusal = new Error('the work changed its mind')
    const work = vault.transaction(async (inside) => {
      await inside.as(OWNER).batch([read(id), remove(id)])
      throw refusal
    })
    await expect(work).rejects.toBe(refusal)
    expect((await eventsOf(vault)).at(-1)).toMatchObject({
      action: 'BATCH',
      ...ROLLED_BACK,
      nested: [{ code: 200 }, ROLLED_BACK],
    })
    expect((await vault.as(OWNER).get('clients')).records).toHaveLength(1)
  })

  test('works with the audit off', async () => {
    const { vault, session, id } = await open({ audit: 'off' })
    await expect(session.batch([remove(id), remove(id)])).rejects.toMatchObject({ code: 'not_found', details: [{ index: 1 }] })
    await session.batch([remove(id), post('a@acme.example')])
    expect((await session.get('clients')).records).toHaveLength(1)
    expect(await eventsOf(vault)).toEqual([])
  })

  test('ends where the storage is lost, also with continueOnError, and nothing is stored', async () => {
    const faulty = faultyStorage(engine.fresh().open())
    const vault = await openClients(faulty.storage)
    const session = vault.as(OWNER)
    let inserts = 0
    faulty.fail(({ method }) =>
      method === 'insert' && ++inserts === 2 ? new VaultError('unavailable', 'The storage is gone.') : undefined,
    )
    const work = session.batch([post('a@acme.example'), { ...post('b@acme.example'), tokenization: true }], {
      continueOnError: true,
    })
    await expect(work).rejects.toMatchObject({ code: 'unavailable' })
    faulty.mend()
    expect((await session.get('clients')).records).toEqual([])
  })
})
