/** Work beside what is waited for: when it is done, and what its caller gets. */
import { expect, it } from 'vitest'
import { meanwhile } from '../../../src/core/records/meanwhile.ts'

/** A promise, a scheduler whose turn comes when asked, and what was done so far. */
function waiting() {
  let end: () => void = () => {}
  let fail: (error: Error) => void = () => {}
  let takeTurn: () => void = () => {}
  const waited = new Promise<void>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  const turn = new Promise<void>((resolve) => {
    takeTurn = resolve
  })
  const done: string[] = []
  const scheduler = { yield: () => turn }
  /** Lets everything run that waits for neither. */
  const pass = () => new Promise<void>((resolve) => setImmediate(resolve))
  return { waited, end, fail, takeTurn, done, scheduler, pass }
}

it('is done once, while something is waited for, and its result is returned after that', async () => {
  const { waited, end, takeTurn, done, scheduler, pass } = waiting()
  const result = meanwhile(scheduler, waited, () => done.push('work'))
  result.then(() => done.push('returned'))
  await pass()
  expect(done).toEqual([])
  takeTurn()
  await pass()
  expect(done).toEqual(['work'])
  end()
  expect(await result).toBe(1)
  expect(done).toEqual(['work', 'returned'])
})

it('is done after what is waited for, if that took no turn, and not again in the turn', async () => {
  const { waited, end, takeTurn, done, scheduler, pass } = waiting()
  end()
  expect(await meanwhile(scheduler, waited, () => done.push('work'))).toBe(1)
  takeTurn()
  await pass()
  expect(done).toEqual(['work'])
})

it('is not seen if what is waited for fails, before the work or after it', async () => {
  for (const worksFirst of [true, false]) {
    const { waited, fail, takeTurn, done, scheduler, pass } = waiting()
    const result = meanwhile(scheduler, waited, () => done.push('work'))
    const refused = expect(result).rejects.toThrow('not stored')
    if (worksFirst) takeTurn()
    await pass()
    fail(new Error('not stored'))
    await refused
    takeTurn()
    await pass()
    expect(done).toEqual(worksFirst ? ['work'] : [])
  }
})

it('fails only after what is waited for', async () => {
  const { waited, end, fail, takeTurn, scheduler, pass } = waiting()
  const work = () => {
    throw new Error('no result')
  }
  const results = [
    meanwhile(scheduler, waited, work),
    meanwhile(
      scheduler,
      waited.then(() => Promise.reject(new Error('not stored'))),
      work,
    ),
  ]
  const ended: string[] = []
  const errors = results.map((result) => result.catch((error: Error) => void ended.push(error.message)))
  takeTurn()
  await pass()
  expect(ended).toEqual([])
  end()
  await Promise.all(errors)
  expect(ended.sort()).toEqual(['no result', 'not stored'])
  fail(new Error('too late'))
})
