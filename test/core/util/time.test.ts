/** Which lists go without a turn of the event loop. */
import { expect, it } from 'vitest'
import { createTurnSaver } from '../../../src/core/util/time.ts'

it('the first list takes its turn, and eight after one that stayed alone go without', () => {
  const turns = createTurnSaver()
  const saved = Array.from({ length: 20 }, () => {
    const isSaved = turns.saves()
    turns.noteLength(1)
    return isSaved
  })
  const cycle = [false, ...Array.from({ length: 8 }, () => true)]
  expect(saved).toEqual([...cycle, ...cycle, false, true])
})

it('after a list of several, each takes its turn until one stays alone', () => {
  const turns = createTurnSaver()
  const saved = [1, 1, 2, 2, 3, 1, 1].map((length) => {
    const isSaved = turns.saves()
    turns.noteLength(length)
    return isSaved
  })
  expect(saved).toEqual([false, true, true, false, false, false, true])
})
