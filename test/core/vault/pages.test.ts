/** Pages of a session: one audited read each, read when it is asked for, and nothing left open. */
import { expect, it } from 'vitest'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { callerOf, eventsBy, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

onEachStorage('the pages of a read', (engine) => {
  async function open(count = 5) {
    const vault = await openClients(engine.fresh().open(), { policy: { none: [] } })
    const owner = vault.as(OWNER)
    const named = Array.from({ length: count }, (_, index) => ({ fields: { name: String(index), country: 'SE' } }))
    if (count > 0) await owner.insert('clients', named)
    return { vault, owner }
  }

  it('are those of get, each with an event of its own', async () => {
    const { vault, owner } = await open()
    const { answer, events } = await eventsBy(vault, async () => {
      const pages: string[] = []
      for await (const page of owner.pages('clients', { limit: 2, redaction: 'PLAIN_TEXT', fields: ['name'] }))
        pages.push(page.records.map(({ fields }) => fields.name).join(''))
      return pages
    })
    expect(answer).toEqual(['01', '23', '4'])
    expect(events.map(({ action }) => action)).toEqual(['GET', 'GET', 'GET'])
  })

  it('begin after a cursor, and end where the loop ends', async () => {
    const { vault, owner } = await open()
    const { next: after = '' } = await owner.get('clients', { limit: 1 })
    const { events } = await eventsBy(vault, async () => {
      for await (const { records } of owner.pages('clients', { after, limit: 3 })) {
        expect(records).toHaveLength(3)
        break
      }
    })
    expect(events).toHaveLength(1)
    await vault.close()
  })

  it('are read only when they are asked for, and one of nothing is read too', async () => {
    const { vault, owner } = await open(0)
    const pages = owner.pages('clients')
    expect((await eventsBy(vault, async () => pages.return(undefined))).events).toEqual([])
    const found: unknown[] = []
    for await (const page of owner.pages('clients')) found.push(page)
    expect(found).toEqual([{ records: [] }])
  })

  it('of a resumable read end with the page that is not full, and have a cursor', async () => {
    const { owner } = await open(4)
    for (const [limit, sizes] of [
      [3, [3, 1]],
      [2, [2, 2, 0]],
    ] as const) {
      const found: number[] = []
      let after = ''
      for await (const { records, next } of owner.pages('clients', { limit, resumable: true })) {
        found.push(records.length)
        after = next
      }
      expect(found).toEqual(sizes)
      expect((await owner.get('clients', { after })).records).toEqual([])
    }
  })

  it('do not change with the options that were passed', async () => {
    const { owner } = await open()
    const options: { limit: number; where: { country: string } } = {
      limit: 2,
      where: { country: 'SE' },
    }
    let count = 0
    for await (const { records } of owner.pages('clients', options)) {
      count += records.length
      options.limit = 1
      Object.assign(options, { orderBy: 'DESCENDING' })
    }
    expect(count).toBe(5)
  })

  it('throw what get throws, at the page where it is', async () => {
    const { vault, owner } = await open()
    const pages = vault.as(callerOf('none')).pages('clients')
    await expect(pages.next()).rejects.toMatchObject({ code: 'forbidden', message: expect.stringContaining('Get failed.') })
    await expect(owner.pages('clients', { limit: 0 }).next()).rejects.toMatchObject({ code: 'out_of_range' })
    await expect(owner.pages('clients', 5 as never).next()).rejects.toMatchObject({ code: 'invalid_request' })
    const { next: after = '' } = await owner.get('clients', { limit: 1 })
    const wrong = owner.pages('clients', { after, orderBy: 'DESCENDING' })
    await expect(wrong.next()).rejects.toMatchObject({ code: 'invalid_request' })
    const closing = owner.pages('clients', { limit: 1 })
    await closing.next()
    await vault.close()
    await expect(closing.next()).rejects.toMatchObject({ code: 'failed_precondition' })
  })

  it('end with cancelled at the page after an abort', async () => {
    const { owner } = await open()
    const controller = new AbortController()
    const pages = owner.pages('clients', { limit: 2, signal: controller.signal })
    expect((await pages.next()).done).toBe(false)
    controller.abort()
    await expect(pages.next()).rejects.toMatchObject({
      code: 'cancelled',
      message: 'Get failed. It was cancelled by its AbortSignal.',
    })
    expect((await pages.next()).done).toBe(true)
  })

  it('can be read inside a transaction, which sees what it stored', async () => {
    const { vault } = await open()
    await vault.transaction(async (inner) => {
      const session = inner.as(OWNER)
      const sizes: number[] = []
      for await (const { records } of session.pages('clients', { limit: 4 })) {
        sizes.push(records.length)
        if (sizes.length === 1) await session.insert('clients', [{ fields: { name: 'x' } }])
      }
      expect(sizes).toEqual([4, 2])
    })
  })
})

onEachStorage('a read of hidden records', (engine) => {
  it('ends between two reads of the storage once it is aborted', async () => {
    const controller = new AbortController()
    let finds = 0
    const sound = engine.fresh().open()
    const storage: StorageHandle = {
      ...sound,
      async find(table, filter, page) {
        if (table.startsWith('records_') && ++finds === 3) controller.abort()
        return sound.find(table, filter, page)
      },
    }
    const vault = await openClients(storage, { policy: { rich: ['ALLOW READ ON clients.* WHERE clients.salary > 100'] } })
    const poor = Array.from({ length: 300 }, () => ({ fields: { name: 'x', salary: 1 } }))
    await vault.as(OWNER).insert('clients', poor)
    finds = 0
    await expect(vault.as(callerOf('rich')).get('clients', { signal: controller.signal })).rejects.toMatchObject({
      code: 'cancelled',
    })
    expect(finds).toBe(3)
  })
})
