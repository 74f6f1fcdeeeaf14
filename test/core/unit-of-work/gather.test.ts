/** Group commit: items of one event-loop turn are committed together, in order, and only a faulty item fails. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, it } from 'vitest'
import { outOfOrderError } from '../../../src/adapters/errors/storage-errors.ts'
import {
  ALONE,
  createGroupCommit,
  type GroupedInsert,
  gatherItems,
  groupInserts,
  runAsOne,
} from '../../../src/core/unit-of-work/gather.ts'
import { VaultError } from '../../../src/index.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'

const { scheduler } = SYSTEM_PORTS

/** An item: its weight, and whether it makes a list fail. */
interface Item {
  readonly name: number
  readonly weight: number
  readonly isBad?: boolean
}

const OWN_FAULT = new Error('one of them is at fault')
const OUTAGE = new VaultError('unavailable', 'the server is unreachable')

/** A sender that collects its lists, and fails those with a faulty item. */
function recording({ most: max = 10, fault = OWN_FAULT, isAlone = (): boolean => false } = {}) {
  const lists: number[][] = []
  const send = createGroupCommit<Item>(
    async (items) => {
      lists.push(items.map(({ name }) => name))
      await scheduler.yield()
      if (items.some(({ isBad }) => isBad)) throw fault
    },
    { scheduler, isAlone, maxWeight: max, weightOf: ({ weight }) => weight },
  )
  return { lists, send }
}

const itemsOf = (...weights: number[]): Item[] => weights.map((weight, name) => ({ name, weight }))

it('items of one event-loop turn are sent as one list in order, and items of a later turn as another', async () => {
  const { lists, send } = recording()
  await Promise.all(itemsOf(1, 1, 1).map(send))
  await send({ name: 9, weight: 1 })
  expect(lists).toEqual([[0, 1, 2], [9]])
})

it('an item that is the only one of its turn is sent at the end of it', async () => {
  const { lists, send } = recording()
  const first = send({ name: 0, weight: 1 })
  await scheduler.yield()
  await Promise.all([first, send({ name: 1, weight: 1 })])
  expect(lists).toEqual([[0], [1]])
})

it('a list of several items takes those of the turns that follow, until one brings none', async () => {
  const { lists, send } = recording()
  const sent = itemsOf(1, 1).map(send)
  for (const name of [2, 3, 4]) {
    await scheduler.yield()
    sent.push(send({ name, weight: 1 }))
  }
  await Promise.all(sent)
  sent.push(send({ name: 5, weight: 1 }))
  await Promise.all(sent)
  expect(lists).toEqual([[0, 1, 2, 3, 4], [5]])
})

it('a list goes after nine turns, also if each of them brings another item', async () => {
  const { lists, send } = recording({ most: 100 })
  const sent = itemsOf(1, 1).map(send)
  for (let name = 2; name < 20; name++) {
    await scheduler.yield()
    sent.push(send({ name, weight: 1 }))
  }
  await Promise.all(sent)
  expect(lists.flat()).toEqual(sent.map((_, name) => name))
  expect(lists[0]?.length).toBe(10)
})

it('items of one list get their own results, and one that runs by itself gets that of its own run', async () => {
  const asOne = {
    run: async (items: readonly Item[]) => items.map(({ name, isBad }) => (isBad ? ALONE : { value: `list ${name}` })),
  }
  const loop = { scheduler, isAlone: () => false, maxWeight: 10, weightOf: ({ weight }: Item) => weight }
  const get = gatherItems<Item, string>(asOne, async ({ name }) => `alone ${name}`, loop)
  const results = await Promise.all([...itemsOf(1, 1), { name: 2, weight: 1, isBad: true }, { name: 3, weight: 1 }].map(get))
  expect(results).toEqual(['list 0', 'list 1', 'alone 2', 'list 3'])
})

it('a list does not wait for the list before it', async () => {
  const lists: string[] = []
  let letGo = (): void => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const send = createGroupCommit<string>(
    async ([item = '']) => {
      lists.push(item)
      if (item === 'held') await held
    },
    { scheduler, isAlone: () => false, maxWeight: 10, weightOf: () => 1 },
  )
  const waiting = send('held')
  await scheduler.yield()
  await send('quick')
  expect(lists).toEqual(['held', 'quick'])
  letGo()
  await waiting
})

it('an item that is sent alone after its list failed has the asynchronous context of its caller', async () => {
  const context = new AsyncLocalStorage<string>()
  const sent: [item: string, caller: string | undefined][] = []
  const send = createGroupCommit<string>(
    async ([item = '', ...others]) => {
      if (others.length > 0) throw OWN_FAULT
      sent.push([item, context.getStore()])
    },
    { scheduler, isAlone: () => false, maxWeight: 10, weightOf: () => 1 },
  )
  await Promise.all(['a', 'b', 'c'].map((caller) => context.run(caller, () => send(caller))))
  expect(sent).toEqual([
    ['a', 'a'],
    ['b', 'b'],
    ['c', 'c'],
  ])
})

it('a list stays within its maximum weight, and a heavier item is sent alone', async () => {
  const { lists, send } = recording({ most: 5 })
  await Promise.all(itemsOf(2, 2, 2, 9, 1).map(send))
  expect(lists).toEqual([[0, 1], [2], [3], [4]])
})

it('random items are sent in order in lists within the limits, and each fails only by its own error', async () => {
  const random = seededRandom('commit together')
  for (let round = 0; round < 200; round++) {
    const { lists, send } = recording({ most: 8 })
    const items = Array.from({ length: 1 + Math.floor(random() * 20) }, (_, name) => ({
      name,
      weight: 1 + Math.floor(random() * 6),
      isBad: random() < 0.1,
    }))
    const outcomes = await Promise.allSettled(items.map(send))
    expect(outcomes.map(({ status }) => status === 'rejected')).toEqual(items.map(({ isBad }) => isBad))
    // The lists as first sent; items retried alone follow them.
    const seen = new Set<number>()
    const firstTries = lists.filter((list) => list.every((name) => !seen.has(name) && seen.add(name)))
    expect(firstTries.flat()).toEqual(items.map(({ name }) => name))
    const weights = firstTries.map((list) => list.reduce((sum, name) => sum + (items[name]?.weight ?? 0), 0))
    for (const [index, weight] of weights.entries()) expect(weight <= 8 || firstTries[index]?.length === 1).toBe(true)
  }
})

it('an outage fails every item of a list and sends none again', async () => {
  const { lists, send } = recording({ fault: OUTAGE })
  const outcomes = await Promise.allSettled([...itemsOf(1, 1), { name: 2, weight: 1, isBad: true }].map(send))
  expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason)).toEqual([OUTAGE, OUTAGE, OUTAGE])
  expect(lists).toEqual([[0, 1, 2]])
})

it('a failing item that was sent alone is not sent again', async () => {
  const { lists, send } = recording()
  await expect(send({ name: 0, weight: 1, isBad: true })).rejects.toBe(OWN_FAULT)
  expect(lists).toEqual([[0]])
})

/** Sends items one after the other, and returns for each whether it was on its way at once. */
async function sendSequentially({ lists, send }: ReturnType<typeof recording>, count: number): Promise<boolean[]> {
  const atOnce: boolean[] = []
  for (let i = 0; i < count; i++) {
    const before = lists.length
    const sent = send({ name: i, weight: 1 })
    atOnce.push(lists.length > before)
    await sent
  }
  return atOnce
}

describe('a call that is alone', () => {
  it('is sent at once after one that was alone, and every ninth waits for a turn of the event loop', async () => {
    const atOnce = await sendSequentially(recording({ isAlone: () => true }), 27)
    const cycle = [false, ...Array.from({ length: 8 }, () => true)]
    expect(atOnce).toEqual([...cycle, ...cycle, ...cycle])
  })

  it('waits while the lists before had several items: calls that act in one turn each seem to be alone', async () => {
    const commit = recording({ isAlone: () => true })
    for (let round = 0; round < 3; round++) await Promise.all([1, 2, 3].map((name) => commit.send({ name, weight: 1 })))
    expect(commit.lists).toEqual([
      [1, 2, 3],
      [1, 2, 3],
      [1, 2, 3],
    ])
  })

  it('fails with its own error, and is sent once', async () => {
    const commit = recording({ isAlone: () => true })
    await commit.send({ name: 0, weight: 1 })
    await expect(commit.send({ name: 1, weight: 1, isBad: true })).rejects.toBe(OWN_FAULT)
    expect(commit.lists).toEqual([[0], [1]])
  })
})

it('calls that are not alone share a list, also after one that was', async () => {
  let inProgress = 1
  const commit = recording({ isAlone: () => inProgress <= 1 })
  await sendSequentially(commit, 2)
  inProgress = 3
  await Promise.all([5, 6, 7].map((name) => commit.send({ name, weight: 1 })))
  expect(commit.lists).toEqual([[0], [1], [5, 6, 7]])
})

it('ids that came too late fail the inserts of their table, and no other of the same commit', async () => {
  const insertOf = (table: string, id: number): GroupedInsert => ({ batches: [{ table, rows: [{ id }] }], generation: 1 })
  const lists: string[] = []
  const insert = groupInserts<GroupedInsert>({ scheduler, isAlone: () => false }, async (inserts) => {
    const tables = inserts.flatMap(({ batches }) => batches.map(({ table }) => table))
    lists.push(tables.join(' '))
    if (tables.includes('ordered')) throw outOfOrderError('ordered')
  })
  const ends = await Promise.allSettled([
    insert(insertOf('ordered', 1)),
    insert(insertOf('keys', 1)),
    insert(insertOf('ordered', 2)),
  ])
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected'])
  expect(lists).toEqual(['ordered keys ordered', 'keys'])
})

it('a fault of several is the error of those that it is about, of all if it may be stored, and of none otherwise', async () => {
  const endsOf = (error: unknown, items: readonly string[], isFaultOf?: (error: unknown, item: string) => boolean) =>
    runAsOne<string, void>({ run: () => Promise.reject(error), isFaultOf }, items)
  expect(await endsOf(OWN_FAULT, ['a', 'b'])).toEqual([ALONE, ALONE])
  expect(await endsOf(OWN_FAULT, ['a', 'b'], (_, item) => item === 'b')).toEqual([ALONE, { error: OWN_FAULT }])
  expect(await endsOf(OUTAGE, ['a', 'b'])).toEqual([{ error: OUTAGE }, { error: OUTAGE }])
  expect(await endsOf(OWN_FAULT, ['a'])).toEqual([{ error: OWN_FAULT }])
})
