/** Long batches: their groups are prepared before the transaction, and their results are those of a batch that runs in it. */
import { expect, test } from 'vitest'
import { column } from '../../../src/index.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const COUNT = 80
const SCHEMA = {
  notes: {
    key: column.string({ unique: true, redaction: 'PLAIN_TEXT' }),
    seat: column.string({ unique: true, redaction: 'PLAIN_TEXT' }),
    text: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }),
  },
}
const numbers = Array.from({ length: COUNT }, (_, index) => index)
const post = (fields: Record<string, string>, more: { upsert?: string; onConflict?: 'ignore'; tokenization?: boolean } = {}) =>
  ({ insert: 'notes', fields, ...more }) as const
const note = (index: number, text = 'new') => ({ key: `key ${index}`, seat: `seat ${index}`, text })

onEachStorage('a long batch', (engine) => {
  async function open() {
    const { vault } = await openLoose(engine.fresh().open(), SCHEMA)
    const session = vault.as(OWNER)
    const all = async () => (await session.get('notes', { limit: 500 })).records.map(({ fields }) => fields)
    const { records } = await session.insert('notes', [{ fields: note(1000, 'old') }, { fields: note(1001, 'old') }])
    const [id = '', other = ''] = records.map((record) => record.id ?? '')
    return { vault, session, all, id, other }
  }

  test('of all methods stores and answers what each item does, with one event', async () => {
    const { vault, session, all, id, other } = await open()
    const before = (await eventsOf(vault)).length
    const items = [
      ...numbers.map((index) => post(note(index), { tokenization: true })),
      { update: 'notes', id, fields: { text: 'changed' } } as const,
      { delete: 'notes', id: other } as const,
    ]
    const { responses } = await session.batch(items)
    expect(responses).toHaveLength(COUNT + 2)
    expect(responses.every(({ ok }) => ok)).toBe(true)
    expect(responses.at(-1)).toEqual({ ok: true, value: { id: other, deleted: true } })
    expect(await all()).toEqual(
      [{ ...note(1000, 'changed'), id: expect.anything() }, ...numbers.map((index) => note(index))].map((fields) =>
        expect.objectContaining({ key: fields.key, text: fields.text }),
      ),
    )
    const events = (await eventsOf(vault)).slice(before).filter(({ action }) => action === 'BATCH')
    expect(events).toMatchObject([{ code: 200 }])
    expect((await vault.verifyAudit()).ok).toBe(true)
    const [first] = responses
    const inserted: unknown = first?.ok === true ? first.value : undefined
    expect(inserted).toMatchObject({ tokens: { text: expect.any(String) } })
  })

  test('of upserts changes what exists and inserts the rest', async () => {
    const { session, all } = await open()
    const items = [...numbers, 1000, 1001].map((index) => post(note(index), { upsert: 'key' }))
    await session.batch(items)
    expect(await all()).toMatchObject([1000, 1001, ...numbers].map((index) => note(index)))
  })

  test('of upserts of one key does them one after the other', async () => {
    const { session, all } = await open()
    const items = numbers.map((index) => post({ key: 'same', text: `text ${index}` }, { upsert: 'key' }))
    const { responses } = await session.batch(items)
    const ids = responses.map((response) => (response.ok ? response.value.id : undefined))
    expect(new Set(ids).size).toBe(1)
    expect(await all()).toMatchObject([note(1000, 'old'), note(1001, 'old'), { key: 'same', text: `text ${COUNT - 1}` }])
  })

  test('of upserts answers each item with its own record and tokens, and records its own row', async () => {
    const { session } = await open()
    // The existing ones are neither first nor last.
    const order = [...numbers.slice(0, 20), 1000, ...numbers.slice(20, 50), 1001, ...numbers.slice(50)]
    const { responses } = await session.batch(order.map((index) => post(note(index), { upsert: 'key', tokenization: true })))
    const records = responses.flatMap((response) => (response.ok ? [response.value] : []))
    expect(records).toHaveLength(order.length)
    const ids = records.map(({ id = '' }) => id)
    const read = await session.get('notes', { ids })
    expect(read.records.map(({ fields }) => fields)).toMatchObject(order.map((index) => note(index)))
    const shown = await session.get('notes', { ids, tokenization: true })
    expect(records).toMatchObject(shown.records.map(({ fields }) => ({ tokens: { text: fields?.text } })))
    const { events } = await session.listEvents({ filterOps: { accountID: 'v1', resourceIDs: [`RECORD/${ids[20]}`] } })
    const batch = events.find(({ request }) => request.actionType === 'BATCH')
    expect(batch?.response.nestedResponse?.map(({ identifier }) => identifier)).toEqual(ids.map((id) => `RECORD/${id}`))
  })

  test('of upserts refuses one that wants the value of a later one, and does one that wants that of an earlier one', async () => {
    const { session, all } = await open()
    const upserts = (more: readonly (readonly [key: string, seat: string])[]) => [
      ...numbers.map((index) => post(note(index), { upsert: 'key' })),
      ...more.map(([key, seat]) => post({ key, seat, text: 'moved' }, { upsert: 'key' })),
    ]
    const taking = ['late', 'seat 1000'] as const
    const freeing = ['key 1000', 'another'] as const
    const refused = session.batch(upserts([taking, freeing]))
    await expect(refused).rejects.toMatchObject({ code: 'conflict', details: [{ index: COUNT }] })
    expect(await all()).toHaveLength(2)
    await session.batch(upserts([freeing, taking]))
    expect(await all()).toHaveLength(COUNT + 3)
    expect((await all()).at(-1)).toMatchObject({ key: 'late', seat: 'seat 1000' })
  })

  test('of upserts exchanges no values of existing records that no order of them would', async () => {
    const { session, all } = await open()
    const items = [
      ...numbers.map((index) => post(note(index), { upsert: 'key' })),
      post({ key: 'key 1000', seat: 'seat 1001' }, { upsert: 'key' }),
      post({ key: 'key 1001', seat: 'seat 1000' }, { upsert: 'key' }),
    ]
    await expect(session.batch(items)).rejects.toMatchObject({ code: 'conflict', details: [{ index: COUNT }] })
    expect(await all()).toHaveLength(2)
  })

  test('of upserts keeps the order of inserts that can be left out', async () => {
    const { session, all } = await open()
    const items = [
      ...numbers.map((index) => post(note(index), { upsert: 'key' })),
      post({ key: 'key 5', seat: 'x', text: 'ignored' }, { onConflict: 'ignore' }),
      post({ key: 'key 2000', seat: 'y', text: 'kept' }, { onConflict: 'ignore' }),
      post({ key: 'key 2000', text: 'changed' }, { upsert: 'key' }),
    ]
    const { responses } = await session.batch(items)
    expect(responses.at(COUNT)).toMatchObject({ value: { ignored: true } })
    expect((await all()).at(-1)).toMatchObject({ key: 'key 2000', seat: 'y', text: 'changed' })
  })

  test('inserts a record whose value an item before it frees', async () => {
    const { session, all } = await open()
    const items = [
      ...numbers.map((index) => post(note(index))),
      post({ key: 'key 1000', seat: 'another' }, { upsert: 'key' }),
      post({ key: 'late', seat: 'seat 1000', text: 'late' }, { onConflict: 'ignore' }),
    ]
    const { responses } = await session.batch(items)
    expect(responses.at(-1)).not.toMatchObject({ value: { ignored: true } })
    expect((await all()).at(-1)).toMatchObject({ key: 'late', seat: 'seat 1000' })
  })

  test('names a refused item and stores nothing, or goes on without it', async () => {
    const { session, all } = await open()
    const items = numbers.map((index) => post(index === 70 ? note(1000) : note(index)))
    await expect(session.batch(items)).rejects.toMatchObject({ code: 'conflict', details: [{ index: 70 }] })
    expect(await all()).toHaveLength(2)
    const { responses } = await session.batch(items, { continueOnError: true })
    expect(responses.flatMap(({ ok }, index) => (ok ? [] : [index]))).toEqual([70])
    expect(await all()).toHaveLength(COUNT + 1)
  })

  test('that others run beside changes all of its records, as they do', async () => {
    const { session, all } = await open()
    const { records } = await session.insert(
      'notes',
      numbers.map((index) => ({ fields: note(index) })),
    )
    const changes = (text: string) => records.map(({ id = '' }) => ({ update: 'notes', id, fields: { text } }) as const)
    await Promise.all(['one', 'two', 'three'].map((text) => session.batch(changes(text))))
    const texts = new Set((await all()).slice(2).map((fields) => Reflect.get(fields ?? {}, 'text')))
    expect(texts.size).toBe(1)
  })

  test('that is aborted stores nothing', async () => {
    const { session, all } = await open()
    const controller = new AbortController()
    const items = numbers.map((index) => post(note(index)))
    const running = session.batch(items, { signal: controller.signal })
    controller.abort()
    await expect(running).rejects.toMatchObject({ code: 'cancelled' })
    expect(await all()).toHaveLength(2)
  })
})
