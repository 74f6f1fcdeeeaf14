/** Turns of the event loop within long work. */
import { expect, it } from 'vitest'
import { createYielder } from '../../../src/core/maintenance/yielder.ts'

/** A yielder whose work takes a time for each part, and the number of its yields so far. */
function counted(nanosecondsOfPart: bigint) {
  let now = 0n
  let yields = 0
  const yielder = createYielder({ clock: { now: () => now }, scheduler: { yield: async () => void yields++ } })
  return {
    async work(parts: number, bytes: number): Promise<number> {
      for (let part = 0; part < parts; part++) {
        now += nanosecondsOfPart
        await yielder.worked(bytes)
      }
      return yields
    },
  }
}

it('work yields after five milliseconds', async () => {
  expect(await counted(1_000_000n).work(4, 0)).toBe(0)
  expect(await counted(1_000_000n).work(20, 0)).toBe(4)
  expect(await counted(9_000_000n).work(3, 0)).toBe(3)
})

it('work yields after a quarter of a mebibyte, also with a clock that does not move', async () => {
  expect(await counted(0n).work(255, 1024)).toBe(0)
  expect(await counted(0n).work(1024, 1024)).toBe(4)
  expect(await counted(0n).work(5, 200_000)).toBe(2)
})
