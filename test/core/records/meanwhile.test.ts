/** Work beside what is waited for: when its slices are done, and what its caller gets. */
import { expect, it } from 'vitest'
import { meanwhile } from '../../../src/core/records/meanwhile.ts'

/** A promise, a scheduler whose turns come when asked, and what was done so far. */
function waiting() {
  let end: () => void = () => {}
  let fail: (error: Error) => void = () => {}
  const waited = new Promise<void>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  const turns: (() => void)[] = []
  const done: string[] = []
  const scheduler = { yield: () => new Promise<void>((resolve) => turns.push(resolve)) }
  /** Work of which no turn is due after what is waited for. */
  const turnTaking = { scheduler, yielder: { worked: () => Promise.resolve() } }
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
  return { waited, end, fail, takeTurn, done, turnTaking, pass, slices }
}

it('is done once, while something is waited for, and its caller waits for that', async () => {
  const { waited, end, takeTurn, done, turnTaking, pass, slices } = waiting()
  const both = meanwhile(turnTaking, waited, slices(1)).then(() => done.push('returned'))
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
  const { waited, end, takeTurn, done, turnTaking, slices } = waiting()
  end()
  await meanwhile(turnTaking, waited, slices(1))
  await takeTurn()
  expect(done).toEqual(['slice 0'])
})

it('is done a slice in a turn, each slice once, wherever the waiting ends', async () => {
  for (const endsBefore of [0, 1, 2, 3, 4]) {
    const { waited, end, takeTurn, done, turnTaking, pass, slices } = waiting()
    let isOver = false
    const both = meanwhile(turnTaking, waited, slices(3)).then(() => {
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
    const { waited, fail, takeTurn, done, turnTaking, pass, slices } = waiting()
    const refused = expect(meanwhile(turnTaking, waited, slices(2))).rejects.toThrow('not stored')
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
  const { waited, end, takeTurn, turnTaking, pass } = waiting()
  const work = () => {
    throw new Error('no result')
  }
  const results = [
    meanwhile(turnTaking, waited, work),
    meanwhile(
      turnTaking,
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
  const { waited, end, takeTurn, done, turnTaking, pass, slices } = waiting()
  const held = { ...turnTaking, yielder: { worked: turnTaking.scheduler.yield } }
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
