/** The yielder of a SQLite handle: scans go on one in a turn of the event loop, reads that have their answer all at once. */
import { describe, expect, it } from 'vitest'
import { createYielder } from '../../../src/adapters/sqlite/yielder.ts'

describe('createYielder', () => {
  it('gives each caller of ownTurn another turn, in which others run in between', async () => {
    const yielder = createYielder()
    const order: string[] = []
    const own = ['first', 'second', 'third'].map((name) => yielder.ownTurn().then(() => order.push(name)))
    const pushOther = (): void => {
      order.push('other')
      if (order.length < 6) setImmediate(pushOther)
    }
    setImmediate(pushOther)
    await Promise.all(own)
    expect(order).toEqual(['other', 'first', 'other', 'second', 'other', 'third'])
  })

  it('lets all callers of yield go on in one turn', async () => {
    const yielder = createYielder()
    const order: string[] = []
    const both = ['first', 'second'].map((name) => yielder.yield().then(() => order.push(name)))
    const last = new Promise<void>((resolve) =>
      setImmediate(() => {
        order.push('other')
        resolve()
      }),
    )
    await Promise.all([...both, last])
    expect(order).toEqual(['first', 'second', 'other'])
  })
})
