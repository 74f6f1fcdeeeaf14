/** The system clock: nanoseconds, strictly rising, for any steps of the wall clock. */
import { expect, it } from 'vitest'
import { createClock, systemClock } from '../../../src/adapters/system/system.ts'

it('returns nanoseconds since 1970, close to the wall clock', () => {
  const before = BigInt(Date.now()) * 1_000_000n
  const now = systemClock.now()
  const after = BigInt(Date.now() + 1) * 1_000_000n
  expect(now >= before && now <= after).toBe(true)
})

it('returns no time twice', () => {
  let last = systemClock.now()
  for (let i = 0; i < 20_000; i++) {
    const now = systemClock.now()
    if (now <= last) expect.unreachable(`moment ${i} did not rise`)
    last = now
  }
  expect(last > 0n).toBe(true)
})

it('follows the wall clock forward and never goes back', () => {
  const wall = { now: 1000 }
  const clock = createClock(() => wall.now)
  expect(clock.now()).toBe(1_000_000_000n)
  expect(clock.now()).toBe(1_000_000_001n)
  wall.now = 400
  expect(clock.now()).toBe(1_000_000_002n)
  wall.now = 1001.7
  expect(clock.now()).toBe(1_001_000_000n)
})
