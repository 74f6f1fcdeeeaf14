/** The pages of the grid over a real vault: each record once, in its row, whatever is deleted meanwhile; few kept, aborted on leaving. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { createPages, type Identified, type LoadedPage, type Pages, type RowContent } from '../../../src/console/ui/grid/pages.ts'
import { column, defineSchema } from '../../../src/index.ts'
import { openFast } from '../../support/vaults/fast-ports.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const SIZE = 20

/** A vault with records, and a function that reads its pages. */
async function openTable(records: number) {
  const schema = defineSchema({ t: { n: column.integer({ redaction: 'PLAIN_TEXT' }) } })
  const session = (await openFast(memoryStorage(), schema)).as(OWNER)
  const fields = Array.from({ length: records }, (_, n) => ({ fields: { n } }))
  const ids = records === 0 ? [] : (await session.insert('t', fields)).records.map((one) => ('id' in one ? one.id : ''))
  let reads = 0
  const load = async (after: string | undefined, signal: AbortSignal): Promise<LoadedPage<Identified>> => {
    reads++
    return session.get('t', { limit: SIZE, signal, ...(after === undefined ? {} : { after }) })
  }
  return { session, ids, load, reads: () => reads }
}

/** Opens pages, and returns a function that looks at rows and waits until all that is wanted is read. */
function openPages(load: (after: string | undefined, signal: AbortSignal) => Promise<LoadedPage<Identified>>) {
  let changed = () => {}
  const pages: Pages<Identified> = createPages({ load, onChange: () => changed(), ahead: SIZE, kept: 4 })
  const look = async (first: number, last: number): Promise<void> => {
    pages.look(first, last)
    while (pages.isLoading) {
      await new Promise<void>((resolve) => {
        changed = resolve
      })
      pages.look(first, last)
    }
  }
  return { pages, look }
}

const idOf = (content: RowContent<Identified>): string | undefined => (typeof content === 'object' ? content.id : content)

it('reads every record once to the end, the next page one ahead, and keeps the nearest pages', async () => {
  const { ids, load, reads } = await openTable(250)
  const { pages, look } = openPages(load)
  const seen: (string | undefined)[] = []
  await look(0, 5)
  expect([pages.count, reads()]).toEqual([2 * SIZE, 2])
  for (let row = 0; row < pages.count; row++) {
    await look(row, Math.min(row + 5, pages.count - 1))
    seen.push(idOf(pages.at(row)))
  }
  expect([pages.isWhole, pages.count]).toEqual([true, 250])
  expect(seen).toEqual(ids)
  expect(reads()).toBe(Math.ceil(250 / SIZE))
  const held = Array.from({ length: 250 }, (_, row) => row).filter((row) => pages.at(row) !== undefined)
  expect(held.length).toBeLessThanOrEqual(4 * SIZE)
})

it('keeps each record in its row when others are deleted, also on pages that are read again', async () => {
  const { session, ids, load } = await openTable(120)
  const { pages, look } = openPages(load)
  for (let row = 0; row < pages.count || row === 0; row += 5) await look(row, row + 5)
  const gone = new Set([ids[3], ids[19], ids[20], ids[57]])
  await session.delete('t', [...gone].map(String))
  for (let row = 0; row < 120; row++) {
    await look(row, row)
    const id = ids[row]
    const content = idOf(pages.at(row))
    // A page that is still held has what it had.
    if (content === 'deleted') expect(gone).toContain(id)
    else expect(content).toBe(id)
  }
  pages.forget()
  expect([pages.count, pages.at(3)]).toEqual([120, undefined])
  await look(0, 30)
  expect([3, 4, 19, 20, 21].map((row) => idOf(pages.at(row)))).toEqual(['deleted', ids[4], 'deleted', 'deleted', ids[21]])
})

it('stops at a page that fails, and goes on after a retry', async () => {
  const { ids, load } = await openTable(100)
  let fails = false
  const { pages, look } = openPages((after, signal) => {
    if (fails) return Promise.reject(new Error('The server does not answer.'))
    return load(after, signal)
  })
  await look(0, 5)
  fails = true
  await look(25, 30)
  expect(pages.failure).toEqual(new Error('The server does not answer.'))
  expect([pages.count, pages.isWhole]).toEqual([2 * SIZE, false])
  fails = false
  await look(35, 39)
  expect(pages.count).toBe(2 * SIZE)
  pages.retry()
  await look(35, 39)
  expect([pages.failure, pages.count, idOf(pages.at(45))]).toEqual([undefined, 3 * SIZE, ids[45]])
})

it('aborts what it reads when it is closed, and takes no late page', async () => {
  const { load } = await openTable(100)
  const signals: AbortSignal[] = []
  const { pages } = openPages((after, signal) => {
    signals.push(signal)
    return load(after, signal)
  })
  pages.look(0, 5)
  pages.close()
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect([pages.count, pages.failure, pages.isLoading]).toEqual([0, undefined, false])
})

it('finds what was inserted behind the last page since, once it is read again', async () => {
  const { session, load } = await openTable(30)
  const { pages, look } = openPages(load)
  await look(0, 29)
  expect([pages.isWhole, pages.count]).toEqual([true, 30])
  const { records } = await session.insert(
    't',
    Array.from({ length: 15 }, (_, n) => ({ fields: { n } })),
  )
  pages.forget()
  await look(25, 30)
  await look(35, 44)
  expect([pages.isWhole, pages.count, idOf(pages.at(44))]).toEqual([true, 45, records.at(-1)?.id])
})

it('reads an empty table once', async () => {
  const { load, reads } = await openTable(0)
  const { pages, look } = openPages(load)
  await look(0, 40)
  expect([pages.count, pages.isWhole, reads()]).toEqual([0, true, 1])
})
