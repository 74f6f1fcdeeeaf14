/** What the memory storage promises beyond the conformance suite. */

import { describe, expect, it, vi } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { Filter, PhysicalTable, Storage } from '../../../src/core/ports/storage.ts'

const NOTES: PhysicalTable = {
  name: 'notes',
  columns: [
    { name: 'tag', type: 'text' },
    { name: 'size', type: 'integer' },
    { name: 'plain', type: 'integer' },
  ],
  indexes: [
    { columns: ['tag'], unique: false },
    { columns: ['size'], unique: true },
  ],
}

const EVERY: Filter = { kind: 'all' }
const ALL = { order: 'asc', limit: 1_000_000 } as const

async function prepared(): Promise<ReturnType<typeof memoryStorage>> {
  const storage = memoryStorage()
  await storage.prepare([NOTES])
  return storage
}

describe('the memory storage', () => {
  it('rejects a write on the outer storage inside a transaction, which would deadlock, and accepts it afterwards', async () => {
    const storage = await prepared()
    const later = storage.transaction(async (inner) => {
      await expect(storage.insert('notes', [{ id: 7, tag: 'outer' }])).rejects.toMatchObject({ code: 'internal' })
      await inner.transaction((nested) => nested.insert('notes', [{ id: 8, tag: 'inner' }]))
      return () => storage.insert('notes', [{ id: 9, tag: 'later' }])
    })
    const [insertLater] = await Promise.all([later, storage.insert('notes', [{ id: 10, tag: 'beside' }])])
    await insertLater()
    expect((await storage.find('notes', EVERY, ALL)).map((row) => row.tag)).toEqual(['inner', 'later', 'beside'])
  })

  it('rejects malformed changes, also those of a commit, and does not throw at the call', async () => {
    const storage = await prepared()
    const rejected = [
      storage.commit(undefined as never),
      storage.commit({} as never),
      storage.update('notes', undefined as never),
    ]
    for (const { status } of await Promise.allSettled(rejected)) expect(status).toBe('rejected')
    expect(await storage.commit({ updates: [], inserts: [{ table: 'notes', rows: [{ id: 1, tag: 'later' }] }] })).toBe(true)
  })

  it('has no host transactions to join', () => {
    expect(() => memoryStorage().joinTransaction({})).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  })

  it('returns the committed rows to outer readers while a transaction is open, without waiting', async () => {
    const storage = await prepared()
    await storage.insert('notes', [
      { id: 1, tag: 'old' },
      { id: 2, tag: 'old' },
    ])
    await storage.transaction(async (inner) => {
      await inner.update('notes', [{ id: 1, version: 1, set: { tag: 'new' } }])
      await inner.delete('notes', { ids: [2] })
      await inner.insert('notes', [{ id: 3, tag: 'old' }])
      const old: Filter = { kind: 'compare', column: 'tag', operator: '=', value: 'old' }
      expect((await storage.find('notes', old, ALL)).map((row) => row.id)).toEqual([1, 2])
      expect((await storage.find('notes', EVERY, ALL)).map((row) => row.tag)).toEqual(['old', 'old'])
      expect((await storage.get('notes', [1, 2, 3])).map((row) => row?.tag)).toEqual(['old', 'old', undefined])
      expect(await storage.aggregate('notes', EVERY, [{ kind: 'count' }])).toEqual([2])
    })
    expect((await storage.find('notes', EVERY, ALL)).map((row) => row.tag)).toEqual(['new', 'old'])
  })

  it('shows outer readers the committed rows after a savepoint rolled back and its rows changed again', async () => {
    const storage = await prepared()
    await storage.insert('notes', [{ id: 1, tag: 'committed' }])
    await storage.transaction(async (outer) => {
      const nested = outer.transaction(async (inner) => {
        await inner.update('notes', [{ id: 1, version: 1, set: { tag: 'first' } }])
        expect((await storage.get('notes', [1]))[0]?.tag).toBe('committed')
        throw new Error('undo the savepoint')
      })
      await expect(nested).rejects.toThrow('undo the savepoint')
      await outer.update('notes', [{ id: 1, version: 1, set: { tag: 'second' } }])
      await outer.insert('notes', [{ id: 2, tag: 'second' }])
      expect((await storage.find('notes', EVERY, ALL)).map((row) => row.tag)).toEqual(['committed'])
    })
    expect((await storage.find('notes', EVERY, ALL)).map((row) => row.tag)).toEqual(['second', 'second'])
  })

  it('does not roll back later changes with a nested transaction that was not awaited', async () => {
    const storage = await prepared()
    let wake = (): void => {}
    const asleep = new Promise<void>((resolve) => {
      wake = resolve
    })
    let orphan: Promise<unknown> = Promise.resolve()
    await storage.transaction(async (inner) => {
      orphan = inner.transaction(async (nested) => {
        await asleep
        await nested.insert('notes', [{ id: 9 }])
      })
    })
    await storage.transaction(async (inner) => {
      await inner.insert('notes', [{ id: 1 }])
      wake()
      await expect(orphan).rejects.toMatchObject({ code: 'internal' })
    })
    expect((await storage.find('notes', EVERY, ALL)).map((row) => row.id)).toEqual([1])
  })

  it('removes tables prepared in a transaction that rolls back', async () => {
    const storage = await prepared()
    const rolledBack = storage.transaction(async (inner) => {
      await inner.insert('notes', [{ id: 1, tag: 'x' }])
      await inner.prepare([{ name: 'more', columns: [], indexes: [] }, wider()])
      await inner.insert('notes', [{ id: 2, extra: 'y' }])
      throw new Error('undo')
    })
    await expect(rolledBack).rejects.toThrow('undo')
    await expect(storage.get('more', [1])).rejects.toMatchObject({ code: 'internal' })
    await expect(storage.insert('notes', [{ id: 3, extra: 'y' }])).rejects.toMatchObject({ code: 'internal' })
    expect(await storage.find('notes', EVERY, ALL)).toEqual([])
  })

  it('rejects a cell that is not of the type of its column', async () => {
    const storage = await prepared()
    for (const cell of [2 ** 53, 0.5, Number.NaN, 2n ** 63n, 'text', new Uint8Array(1)]) {
      await expect(storage.insert('notes', [{ id: 1, size: cell }])).rejects.toMatchObject({
        code: 'internal',
        details: [{ table: 'notes', column: 'size' }],
      })
    }
  })

  it('evaluates = and in on indexed columns by index, in a time that does not grow with the table', async () => {
    const storage = await prepared()
    const rows = Array.from({ length: 50_000 }, (_, at) => ({ id: at + 1, tag: `t${at}`, size: at, plain: at }))
    await storage.insert('notes', rows)
    // The best of three: a busy machine makes some of them slow.
    const best = async (column: string) =>
      Math.min(await timeOf(storage, column), await timeOf(storage, column), await timeOf(storage, column))
    expect(await best('size')).toBeLessThan((await best('plain')) / 10)
  })

  it('releases deleted ids, and finds the remaining rows in order', async () => {
    const storage = await prepared()
    for (let round = 0; round < 50; round++) {
      const ids = await storage.reserveIds('notes', 20)
      await storage.insert(
        'notes',
        ids.toReversed().map((id) => ({ id })),
      )
      await storage.delete('notes', { ids: ids.slice(1) })
    }
    const left = (await storage.find('notes', EVERY, { order: 'desc', limit: 100 })).map((row) => row.id)
    expect(left).toEqual(Array.from({ length: 50 }, (_, at) => (49 - at) * 20 + 1))
  })
})

function wider(): PhysicalTable {
  return { ...NOTES, columns: [...NOTES.columns, { name: 'extra', type: 'text' }] }
}

/** Milliseconds for 20 lookups of one value. */
async function timeOf(storage: Storage, column: string): Promise<number> {
  const begun = performance.now()
  for (let value = 0; value < 20; value++) {
    const found = await storage.find('notes', { kind: 'compare', column, operator: '=', value: value * 7 }, ALL)
    expect(found.map((row) => row.id)).toEqual([value * 7 + 1])
  }
  return performance.now() - begun
}

/** Opens a storage with this many rows: every tag twice, and every second row of the size class 1. */
async function filled(rows: number): Promise<Storage> {
  const storage = memoryStorage()
  await storage.prepare([{ ...NOTES, indexes: [...NOTES.indexes, { columns: ['plain'], unique: false }] }])
  const row = (id: number) => ({ id, tag: `t${Math.ceil(id / 2)}`, size: id, plain: id % 2 })
  await storage.insert(
    'notes',
    Array.from({ length: rows }, (_, index) => row(index + 1)),
  )
  return storage
}

/** Reads every row that matches, a page of 64 at a time, and returns how many. */
async function walked(storage: Pick<Storage, 'find'>, filter: Filter): Promise<number> {
  let count = 0
  for (let after = 0; ; ) {
    const rows = await storage.find('notes', filter, { order: 'asc', limit: 64, after })
    count += rows.length
    const last = rows.at(-1)
    if (last === undefined) return count
    after = last.id
  }
}

describe('a walk over pages of the memory storage', () => {
  const ROWS = 4000

  it('looks at each of many values once, however many pages there are', async () => {
    const storage = await filled(ROWS)
    let reads = 0
    const values = new Proxy(
      Array.from({ length: ROWS / 2 }, (_, index) => `t${index + 1}`),
      {
        get(list, name, receiver) {
          if (typeof name === 'string' && /^\d+$/.test(name)) reads++
          return Reflect.get(list, name, receiver)
        },
      },
    )
    expect(await walked(storage, { kind: 'in', column: 'tag', values })).toBe(ROWS)
    expect(reads).toBeLessThanOrEqual(3 * values.length)
  })

  it.each<readonly [string, Filter]>([
    ['one value of an index', { kind: 'compare', column: 'plain', operator: '=', value: 1 }],
    ['many values', { kind: 'in', column: 'size', values: Array.from({ length: ROWS }, (_, index) => ROWS - index) }],
    ['many ids', { kind: 'in', column: 'id', values: Array.from({ length: ROWS }, (_, index) => ROWS - index) }],
  ])('puts each row in order once, for %s', async (_title, filter) => {
    const storage = await filled(ROWS)
    const sort = vi.spyOn(Array.prototype, 'sort')
    try {
      const found = await walked(storage, filter)
      expect(found).toBeGreaterThanOrEqual(ROWS / 2)
      const sorted = sort.mock.contexts.reduce((sum: number, list) => sum + (Array.isArray(list) ? list.length : 0), 0)
      expect(sorted).toBeLessThanOrEqual(2 * found)
    } finally {
      sort.mockRestore()
    }
  })

  it('sees rows that change, come and go between two pages with one filter', async () => {
    const storage = await filled(200)
    const filter: Filter = { kind: 'in', column: 'tag', values: Array.from({ length: 100 }, (_, index) => `t${index + 1}`) }
    const idsAfter = async (after: number) =>
      (await storage.find('notes', filter, { order: 'asc', limit: 3, after })).map(({ id }) => id)
    expect(await idsAfter(10)).toEqual([11, 12, 13])
    await storage.update('notes', [{ id: 12, version: 1, set: { tag: 'other' } }])
    await storage.delete('notes', { ids: [13] })
    expect(await idsAfter(10)).toEqual([11, 14, 15])
    await storage.insert('notes', [{ id: 13, tag: 't7', size: 13 }])
    await storage.update('notes', [{ id: 12, version: 2, set: { tag: 't6' } }])
    expect(await idsAfter(10)).toEqual([11, 12, 13])
    const failed = storage.transaction(async (inner) => {
      await inner.delete('notes', { ids: [12] })
      expect(await idsAfter(10)).toEqual([11, 12, 13])
      expect((await inner.find('notes', filter, { order: 'asc', limit: 2, after: 10 })).map(({ id }) => id)).toEqual([11, 13])
      throw new Error('rolled back')
    })
    await expect(failed).rejects.toThrow('rolled back')
    expect(await idsAfter(10)).toEqual([11, 12, 13])
  })

  it('finds the rows of one key in order when many leave it, and come back', async () => {
    const storage = await filled(600)
    const filter: Filter = { kind: 'compare', column: 'plain', operator: '=', value: 1 }
    const ids = async () => (await storage.find('notes', filter, ALL)).map(({ id }) => id)
    const odd = Array.from({ length: 300 }, (_, index) => 2 * index + 1)
    const gone = odd.filter((id) => id > 20)
    await storage.update(
      'notes',
      gone.map((id) => ({ id, version: 1, set: { plain: 0 } })),
    )
    expect(await ids()).toEqual(odd.slice(0, 10))
    await storage.update(
      'notes',
      [...gone].reverse().map((id) => ({ id, version: 2, set: { plain: 1 } })),
    )
    expect(await ids()).toEqual(odd)
  })
})
