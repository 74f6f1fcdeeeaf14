/** Listings of events with many records: as many events are shown at once as have some thousand ids, and each is as a page of its own shows it. */
import { expect, it } from 'vitest'
import { column } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const TABLES = { notes: { text: column.string({ token: 'random' }) }, cards: { number: column.string({ searchable: true }) } }

onEachStorage('events of many records', (engine) => {
  it('are the same on a page of all, and each on a page of its own', async () => {
    const { vault } = await openLoose(engine.fresh().open(), TABLES)
    const session = vault.as(OWNER)
    const insert = async (table: string, column: string) => {
      const records = Array.from({ length: 1000 }, (_, index) => ({ fields: { [column]: `${table} ${index}` } }))
      return (await session.insert(table, records)).records.map(({ id = '' }) => id)
    }
    const notes = await insert('notes', 'text')
    const cards = await insert('cards', 'number')
    for (const count of [1000, 3, 700, 1, 999]) {
      const items = Array.from({ length: count }, (_, index) =>
        index % 2 === 0
          ? ({ get: 'notes', id: notes[index] ?? '' } as const)
          : ({ get: 'cards', id: cards[index] ?? '' } as const),
      )
      const { responses } = await session.batch(items)
      expect(responses).toHaveLength(count)
      await session.get('notes', { ids: notes.slice(0, count) })
    }

    const query = { filterOps: { accountID: vault.accountId, actionType: 'BATCH' }, limit: 100 } as const
    const whole = (await session.listEvents({ ...query, filterOps: { accountID: vault.accountId } })).events
    const counts = whole.map(({ request, response }) => response.nestedResponse?.length ?? request.resources.length)
    expect(counts).toEqual([...[999, 1, 700, 3, 1000].flatMap((count) => [count === 1 ? 2 : count + 1, count]), 1001, 1001])
    const byId = new Map(whole.map((event) => [event.context.changeID, event]))
    const batches = (await session.listEvents(query)).events
    expect(batches).toEqual(whole.filter(({ request }) => request.actionType === 'BATCH'))
    for (const { context, response } of batches) {
      const alone = await session.listEvents({
        filterOps: { accountID: vault.accountId, context: { changeID: context.changeID } },
      })
      expect(alone.events).toEqual([byId.get(context.changeID)])
      const ids = response.nestedResponse?.map(({ identifier }) => identifier)
      expect(ids).toEqual(ids?.map((_, index) => `RECORD/${(index % 2 === 0 ? notes : cards)[index]}`))
    }
    await vault.close()
  })
})
