/** Turns of the event loop within long work: when they are due, between slices of a list, beside what is waited for, and on walks of a table page by page. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { createPace, createPageSize, eachPage, inSlices, meanwhile, type PageWalk } from '../../../src/core/pace/pace.ts'
import type { Row, Storage } from '../../../src/core/ports/storage.ts'
import { at } from '../../../src/core/util/lists.ts'

/** Work that takes a time for each part, and the number of its turns so far. */
function counted(nanosecondsOfPart: bigint) {
  let now = 0n
  let yields = 0
  const pace = createPace({ clock: { now: () => now }, scheduler: { yield: async () => void yields++ } })
  return {
    async work(parts: number, bytes: number): Promise<number> {
      for (let part = 0; part < parts; part++) {
        now += nanosecondsOfPart
        await pace.worked(bytes)
      }
      return yields
    },
  }
}

it('work has a turn after five milliseconds', async () => {
  expect(await counted(1_000_000n).work(4, 0)).toBe(0)
  expect(await counted(1_000_000n).work(20, 0)).toBe(4)
  expect(await counted(9_000_000n).work(3, 0)).toBe(3)
})

it('work has a turn after a quarter of a mebibyte, also with a clock that does not move', async () => {
  expect(await counted(0n).work(255, 1024)).toBe(0)
  expect(await counted(0n).work(1024, 1024)).toBe(4)
  expect(await counted(0n).work(5, 200_000)).toBe(2)
})

it('slices grow while they are short, shrink when they are long, and have at least one row', async () => {
  let now = 0n
  const pace = createPace({ clock: { now: () => now }, scheduler: { yield: async () => {} } })
  const sizes: number[] = []
  for (const milliseconds of [1, 1, 5, 1, 1, 1, 1, 1, 9, 9]) {
    now += BigInt(milliseconds) * 1_000_000n
    await pace.turn()
    sizes.push(pace.size())
  }
  expect(sizes).toEqual([32, 64, 64, 128, 256, 512, 1000, 1000, 500, 250])
  for (let slice = 0; slice < 20; slice++) {
    now += 9_000_000n
    await pace.turn()
  }
  expect(pace.size()).toBe(1)
})

const KIB = 1024

/** Returns what happened: slices by their bounds, and turns. */
async function walk(bytes: readonly number[]): Promise<{ steps: string[]; results: readonly number[] }> {
  const steps: string[] = []
  const scheduler = {
    async yield() {
      steps.push('turn')
    },
  }
  const list = { count: bytes.length, bytesAt: (index: number) => at(bytes, index) }
  const results = await inSlices(list, scheduler, (start, end) => {
    steps.push(`${start}-${end}`)
    return bytes.slice(start, end).map((_, index) => start + index)
  })
  return { steps, results }
}

it.each([
  ['nothing', [], ['0-0']],
  ['short items are one slice', [10, 0, 10], ['0-3']],
  ['exactly a slice', [128 * KIB, 128 * KIB], ['0-2']],
  ['one byte more', [128 * KIB, 128 * KIB + 1], ['0-1', 'turn', '1-2']],
  ['an item of several slices', [10, 900 * KIB, 10], ['0-1', 'turn', '1-2', 'turn', '2-3']],
  ['many', new Array(7).fill(100 * KIB), ['0-2', 'turn', '2-4', 'turn', '4-6', 'turn', '6-7']],
])('%s', async (_, bytes, steps) => {
  expect(await walk(bytes)).toEqual({ steps, results: bytes.map((_, index) => index) })
})

it('is no promise if the list is one slice', () => {
  const scheduler = { yield: () => Promise.reject(new Error('no turn is due')) }
  expect(inSlices({ count: 2, bytesAt: () => 1 }, scheduler, (start, end) => [start, end])).toEqual([0, 2])
})

it('ends with the first slice that fails', async () => {
  const scheduler = { yield: async () => undefined }
  const done: number[] = []
  const work = (start: number) => {
    if (start === 2) throw new Error('the fault of this test')
    done.push(start)
    return [start]
  }
  await expect(inSlices({ count: 5, bytesAt: () => 300 * KIB }, scheduler, work)).rejects.toThrow('the fault of this test')
  expect(done).toEqual([0, 1])
})

/** A promise, a pace whose turns come when asked, and what was done so far. */
function waiting() {
  let end: () => void = () => {}
  let fail: (error: Error) => void = () => {}
  const waited = new Promise<void>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  const turns: (() => void)[] = []
  const done: string[] = []
  /** Work of which no turn is due after what is waited for. */
  const pace = { turn: () => new Promise<void>((resolve) => turns.push(resolve)), worked: () => Promise.resolve() }
  /** Lets everything run that waits for neither. */
  const pass = () => new Promise<void>((resolve) => setImmediate(resolve))
  const takeTurn = async () => {
    for (const turn of turns.splice(0)) turn()
    await pass()
  }
  /** Work of this many slices. */
  const slices = (count: number) => {
    let next = 0
    return () => {
      done.push(`slice ${next++}`)
      return next < count
    }
  }
  return { waited, end, fail, takeTurn, done, pace, pass, slices }
}

it('is done once, while something is waited for, and its caller waits for that', async () => {
  const { waited, end, takeTurn, done, pace, pass, slices } = waiting()
  const both = meanwhile(pace, waited, slices(1)).then(() => done.push('returned'))
  await pass()
  expect(done).toEqual([])
  await takeTurn()
  await takeTurn()
  expect(done).toEqual(['slice 0'])
  end()
  await both
  expect(done).toEqual(['slice 0', 'returned'])
})

it('is done after what is waited for, if that took no turn, and not again in the turn', async () => {
  const { waited, end, takeTurn, done, pace, slices } = waiting()
  end()
  await meanwhile(pace, waited, slices(1))
  await takeTurn()
  expect(done).toEqual(['slice 0'])
})

it('is done a slice in a turn, each slice once, wherever the waiting ends', async () => {
  for (const endsBefore of [0, 1, 2, 3, 4]) {
    const { waited, end, takeTurn, done, pace, pass, slices } = waiting()
    let isOver = false
    const both = meanwhile(pace, waited, slices(3)).then(() => {
      isOver = true
    })
    let seen = 0
    for (let turn = 0; !isOver; turn++) {
      if (turn === endsBefore) end()
      await pass()
      await takeTurn()
      expect(done.length - seen).toBeLessThanOrEqual(turn === endsBefore ? 2 : 1)
      seen = done.length
    }
    await both
    await takeTurn()
    expect(done).toEqual(['slice 0', 'slice 1', 'slice 2'])
  }
})

it('does nothing more once what is waited for fails, before the work, within it or after it', async () => {
  for (const before of [0, 1, 2, 3]) {
    const { waited, fail, takeTurn, done, pace, pass, slices } = waiting()
    const refused = expect(meanwhile(pace, waited, slices(2))).rejects.toThrow('not stored')
    for (let turn = 0; turn < before; turn++) await takeTurn()
    await pass()
    fail(new Error('not stored'))
    await refused
    await takeTurn()
    await takeTurn()
    expect(done).toEqual(['slice 0', 'slice 1'].slice(0, before))
  }
})

it('fails only after what is waited for', async () => {
  const { waited, end, takeTurn, pace, pass } = waiting()
  const work = () => {
    throw new Error('no result')
  }
  const results = [
    meanwhile(pace, waited, work),
    meanwhile(
      pace,
      waited.then(() => Promise.reject(new Error('not stored'))),
      work,
    ),
  ]
  const ended: string[] = []
  const errors = results.map((result) => result.catch((error: Error) => void ended.push(error.message)))
  await takeTurn()
  await pass()
  expect(ended).toEqual([])
  end()
  await Promise.all(errors)
  expect(ended.sort()).toEqual(['no result', 'not stored'])
})

it('waits for a turn after what is waited for, if that held the event loop', async () => {
  const { waited, end, takeTurn, done, pace, pass, slices } = waiting()
  const held = { ...pace, worked: pace.turn }
  end()
  const both = meanwhile(held, waited, slices(2)).then(() => done.push('returned'))
  await pass()
  expect(done).toEqual([])
  await takeTurn()
  expect(done).toEqual(['slice 0'])
  await takeTurn()
  await both
  expect(done).toEqual(['slice 0', 'slice 1', 'returned'])
})

const TABLE = { name: 'things', columns: [{ name: 'n', type: 'integer' }], indexes: [] } as const

async function filled(count: number): Promise<Storage> {
  const storage = memoryStorage()
  await storage.prepare([TABLE])
  await storage.insert(
    'things',
    Array.from({ length: count }, (_, index) => ({ id: index + 1, n: index % 2 })),
  )
  return storage
}

async function idsOf(storage: Storage, walk: PageWalk): Promise<number[][]> {
  const pages: number[][] = []
  for await (const rows of eachPage(storage, 'things', walk)) pages.push(rows.map(({ id }) => id))
  return pages
}

describe('eachPage', () => {
  it.each([
    [0, 3, []],
    [2, 3, [[1, 2]]],
    [3, 3, [[1, 2, 3]]],
    [7, 3, [[1, 2, 3], [4, 5, 6], [7]]],
  ])('of %i rows by %i yields no empty page', async (count, size, pages) => {
    expect(await idsOf(await filled(count), { size })).toEqual(pages)
  })

  it('goes downwards, after an id, and through a filter', async () => {
    const storage = await filled(6)
    expect(await idsOf(storage, { size: 2, order: 'desc' })).toEqual([
      [6, 5],
      [4, 3],
      [2, 1],
    ])
    expect(await idsOf(storage, { size: 2, after: 3 })).toEqual([[4, 5], [6]])
    const even = { kind: 'compare', column: 'n', operator: '=', value: 1 } as const
    expect(await idsOf(storage, { size: 2, filter: even })).toEqual([[2, 4], [6]])
  })

  it('reads rows ahead as they are then, and none twice', async () => {
    const storage = await filled(4)
    const seen: number[] = []
    for await (const rows of eachPage(storage, 'things', { size: 2 })) {
      seen.push(...rows.map(({ id }) => id))
      await storage.delete('things', { ids: [1, 3] })
      if (seen.length < 5) await storage.insert('things', [{ id: 10 + seen.length, n: 0 }])
    }
    expect(seen).toEqual([1, 2, 4, 12, 14])
  })

  it('yields to the event loop between two pages where it has a scheduler', async () => {
    let turns = 0
    await idsOf(await filled(5), { size: 2, scheduler: { yield: async () => void turns++ } })
    expect(turns).toBe(2)
  })
})

const rows = (count: number, bytes: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({ id: index + 1, version: 1, body: new Uint8Array(bytes) }))

/** The sizes of pages of rows of these lengths. */
function sizesOf(lengths: readonly number[], options?: Parameters<typeof createPageSize>[0]): number[] {
  const size = createPageSize(options)
  return lengths.map((bytes) => {
    const next = size.next()
    size.read(rows(next, bytes))
    return next
  })
}

it('pages of short rows grow to the maximum, and no faster than four times', () => {
  expect(sizesOf([100, 100, 100, 100])).toEqual([16, 64, 128, 128])
  expect(sizesOf([100, 100, 100], { first: 4, max: 40 })).toEqual([4, 16, 40])
})

it('pages of long rows have a quarter of a mebibyte, and at least one row', () => {
  expect(sizesOf([0, 16 * 1024, 16 * 1024, 200_000, 200_000, 2_000_000, 2_000_000])).toEqual([16, 64, 16, 16, 1, 1, 1])
})

it('pages grow again after long rows, and an empty page changes nothing', () => {
  expect(sizesOf([200_000, 10, 10, 10, 10])).toEqual([16, 1, 4, 16, 64])
  const size = createPageSize()
  size.read([])
  expect(size.next()).toBe(16)
})
