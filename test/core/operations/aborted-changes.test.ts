/** Changes with a signal: aborted at any moment before the commit nothing is stored, and later the abort has no effect. */
import { expect, it } from 'vitest'
import type { Signal } from '../../../src/index.ts'
import { eventsBy, openClients } from '../../support/audit/audited-clients.ts'
import { bytesOf, openFileVault, pngOf } from '../../support/files/open-file-vault.ts'
import { abortedEverywhere } from '../../support/signals/aborted-at.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { interposedStorage } from '../../support/storages/interposed-storage.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const ANN = { name: 'Ann', email: 'ann@acme.example' }
const BO = { name: 'Bo', email: 'bo@acme.example' }

onEachStorage('a change with a signal', (engine) => {
  async function open() {
    const vault = await openClients(engine.fresh().open())
    const session = vault.as(OWNER)
    await session.insert('clients', [{ fields: ANN }])
    const names = async () => {
      const { records } = await session.get('clients', { redaction: 'PLAIN_TEXT', fields: ['name'] })
      return records.map(({ fields }) => fields.name)
    }
    return { vault, session, names }
  }
  type Clients = Awaited<ReturnType<typeof open>>['session']

  const changes: Readonly<Record<string, (session: Clients, signal: Signal) => Promise<unknown>>> = {
    'an insert': (session, signal) => session.insert('clients', [{ fields: BO }], { signal }),
    'an insert of many': (session, signal) => {
      const records = Array.from({ length: 500 }, () => ({ fields: { name: 'Bo' } }))
      return session.insert('clients', records, { signal })
    },
    'an upsert': (session, signal) =>
      session.insert('clients', [{ fields: { ...ANN, name: 'Bo' } }], { upsert: 'email', signal }),
    'an upsert of several': (session, signal) =>
      session.insert('clients', [{ fields: { ...ANN, name: 'Bo' } }, { fields: BO }], { upsert: 'email', signal }),
    'a batch': (session, signal) =>
      session.batch(
        [
          { insert: 'clients', fields: BO },
          { insert: 'clients', fields: { name: 'Bo' } },
          { get: 'clients', id: { response: 0 } },
        ],
        { signal, continueOnError: true },
      ),
  }

  it.each(Object.entries(changes))('as %s stores nothing before, and all after', async (_, change) => {
    const { vault, session, names } = await open()
    const unchanged = async () => expect(await names()).toEqual(['Ann'])
    const { aborts } = await abortedEverywhere((signal) => change(session, signal), unchanged)
    expect(aborts).toBeGreaterThan(0)
    expect((await names()).includes('Bo')).toBe(true)
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
    expect(await vault.verifyRecords()).toMatchObject({ ok: true })
  })

  it('records what was cancelled, without the signal', async () => {
    const { vault, session } = await open()
    const { error, events } = await eventsBy(vault, () =>
      session.insert('clients', [{ fields: BO }], { signal: AbortSignal.abort('Quetzalcoatl') }),
    )
    expect(error).toMatchObject({ code: 'cancelled', message: 'Insert failed. It was cancelled by its AbortSignal.' })
    expect(events).toHaveLength(1)
    expect(JSON.stringify(events)).toContain('It was cancelled by its AbortSignal.')
    expect(JSON.stringify(events)).not.toMatch(/Quetzalcoatl|"signal/)
  })

  it('has no effect when it is aborted after the commit, and keeps no listener', async () => {
    const { session, names } = await open()
    const controller = new AbortController()
    await session.insert('clients', [{ fields: BO }], { signal: controller.signal })
    controller.abort()
    expect(await names()).toEqual(['Ann', 'Bo'])
  })

  it('that is aborted after its last write rolls back', async () => {
    const { storage, interpose } = interposedStorage(engine.fresh().open())
    const session = (await openClients(storage)).as(OWNER)
    const { records } = await session.insert('clients', [{ fields: ANN }])
    const [{ id } = { id: '' }] = records
    const calls: ((signal: Signal) => Promise<unknown>)[] = [
      (signal) => session.insert('clients', [{ fields: { ...ANN, name: 'Bo' } }], { upsert: 'email', signal }),
      (signal) => session.batch([{ update: 'clients', id, fields: { name: 'Bo' } }], { signal }),
    ]
    for (const call of calls) {
      const controller = new AbortController()
      const isDone = interpose({
        isDue: ({ method, table }) => method === 'update' && table?.startsWith('records_') === true,
        work: async () => controller.abort(),
      })
      await expect(call(controller.signal)).rejects.toMatchObject({ code: 'cancelled' })
      expect(isDone()).toBe(true)
      expect((await session.getOne('clients', id, { redaction: 'PLAIN_TEXT' })).fields.name).toBe('Ann')
    }
  })

  it('rolls back alone among changes of one key that share a transaction', async () => {
    const { session, names } = await open()
    const controller = new AbortController()
    const upserts = Array.from({ length: 12 }, (_, index) =>
      session.insert('clients', [{ fields: { ...ANN, name: `Bo ${index}` } }], {
        upsert: 'email',
        ...(index % 2 === 0 ? {} : { signal: controller.signal }),
      }),
    )
    setImmediate(() => controller.abort())
    const ends = await Promise.allSettled(upserts)
    expect(ends.filter((end, index) => index % 2 === 0 && end.status === 'rejected')).toEqual([])
    expect(await names()).toHaveLength(1)
  })
})

onEachStorage('a file with a signal', (engine) => {
  it('is stored whole or not at all, wherever its upload is aborted', async () => {
    const { session, vault, blobs, fileRows, person } = await openFileVault(engine.fresh().open())
    const id = await person()
    const content = pngOf(300_000)
    async function* chunks() {
      for (let start = 0; start < content.length; start += 40_000) yield content.subarray(start, start + 40_000)
    }
    for (const target of [{ id }, {}]) {
      const [rows, keys, count] = [await fileRows(), blobs.keys().length, (await session.get('people')).records.length]
      const { result, aborts } = await abortedEverywhere(
        (signal) => session.uploadFile({ table: 'people', column: 'photo', file: chunks(), signal, ...target }),
        async () => {
          expect([await fileRows(), blobs.keys().length, (await session.get('people')).records.length]).toEqual([
            rows,
            keys,
            count,
          ])
        },
      )
      expect(aborts).toBeGreaterThan(8)
      expect(await bytesOf((await session.openFile('people', result.id, 'photo')).stream)).toEqual(Buffer.from(content))
    }
    await vault.close()
  })

  it('ends while the next chunk is waited for, and the source is closed', async () => {
    const { session, vault, fileRows } = await openFileVault(engine.fresh().open())
    const controller = new AbortController()
    let isClosed = false
    const file = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          setImmediate(() => controller.abort())
          return new Promise<never>(() => {})
        },
        async return() {
          isClosed = true
          return { done: true as const, value: undefined }
        },
      }),
    }
    await expect(session.uploadFile({ table: 'people', column: 'photo', file, signal: controller.signal })).rejects.toMatchObject(
      {
        code: 'cancelled',
        message: 'Upload failed. It was cancelled by its AbortSignal.',
      },
    )
    expect(isClosed).toBe(true)
    expect(await fileRows()).toBe(0)
    await vault.close()
  })

  it('by ticket ends too, and the ticket serves again', async () => {
    const { session, vault, person } = await openFileVault(engine.fresh().open())
    const id = await person()
    const { tickets } = await session.uploadTicket({ table: 'people', id, columns: ['photo'] })
    const { ticket } = tickets.photo
    const { aborts } = await abortedEverywhere((signal) => vault.uploadWithTicket(ticket, { file: pngOf(100), signal }))
    expect(aborts).toBeGreaterThan(2)
    const { ticket: opening } = await session.downloadTicket('people', id, 'photo')
    const opened = await vault.downloadWithTicket(opening, { signal: new AbortController().signal })
    expect((await bytesOf(opened.stream)).length).toBe(pngOf(100).length)
  })

  it('ends in place of the next chunk when its reading is aborted', async () => {
    const { session, vault } = await openFileVault(engine.fresh().open())
    const { id } = await session.uploadFile({ table: 'people', column: 'photo', file: pngOf(300_000) })
    const controller = new AbortController()
    const { stream } = await session.openFile('people', id, 'photo', { signal: controller.signal })
    let chunks = 0
    const read = async () => {
      for await (const _ of stream) if (++chunks === 2) controller.abort()
    }
    await expect(read()).rejects.toMatchObject({
      code: 'cancelled',
      message: 'Open file failed. It was cancelled by its AbortSignal.',
    })
    expect(chunks).toBe(2)
    await expect(session.openFile('people', id, 'photo', { signal: controller.signal })).rejects.toMatchObject({
      code: 'cancelled',
    })
    for (const signal of [5, {}, null] as never[])
      await expect(session.openFile('people', id, 'photo', { signal })).rejects.toMatchObject({ code: 'invalid_request' })
    await vault.close()
  })
})
