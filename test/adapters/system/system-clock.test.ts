/** The system's clock: nanoseconds, strictly rising, whatever the wall clock does. */
import { expect, test } from 'vitest'
import { createClock, systemClock } from '../../../src/adapters/system/system-clock.ts'

test('it tells nanoseconds since 1970, close to the wall clock', () => {
  const before = BigInt(Date.now()) * 1_000_000n
  const told = systemClock.now()
  const after = BigInt(Date.now() + 1) * 1_000_000n
  expect(told >= before && told <= after).toBe(true)
})

test('no moment is returned twice, however fast it is read', () => {
  let last = systemClock.now()
  for (let i = 0; i < 20_000; i++) {
    const told = systemClock.now()
    if (told <= last) expect.unreachable(`moment ${i} did not rise`)
    last = told
  }
  expect(last > 0n).toBe(true)
})

test('it follows the wall clock forwards and never steps back with it', () => {
  const wall = { now: 1000 }
  const clock = createClock(() => wall.now)
  expect(clock.now()).toBe(1_000_000_000n)
  expect(clock.now()).toBe(1_000_000_001n)
  wall.now = 400
  expect(clock.now()).toBe(1_000_000_002n)
  wall.now = 1001.7
  expect(clock.now()).toBe(1_001_000_000n)
})
