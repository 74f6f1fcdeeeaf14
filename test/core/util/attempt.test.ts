/** The retry loop: how often it tries, what it throws, and how long it pauses. */
import { describe, expect, it, vi } from 'vitest'
import { attempt, jitteredMs, type Reason, type Tries } from '../../../src/core/util/attempt.ts'

const BUSY = new Error('busy')
const busy = (more: Partial<Reason> = {}): Reason => ({
  is: (error) => error === BUSY,
  most: 3,
  ...more,
})

/** Work that fails with these errors, one after the other, and then succeeds. */
function failing(...errors: unknown[]) {
  const attempts: number[] = []
  const work = async ({ number }: Tries): Promise<string> => {
    attempts.push(number)
    if (errors.length > 0) throw errors.shift()
    return 'done'
  }
  return { attempts, work }
}

describe('attempt', () => {
  it('returns the result of the first attempt that succeeds', async () => {
    const { attempts, work } = failing(BUSY, BUSY)
    expect(await attempt([busy()], work)).toBe('done')
    expect(attempts).toEqual([1, 2, 3])
  })

  it('throws the last error after the last attempt, and runs nothing after it', async () => {
    const between: number[] = []
    const { attempts, work } = failing(BUSY, BUSY, BUSY, BUSY)
    await expect(attempt([busy({ between: async (count) => void between.push(count) })], work)).rejects.toBe(BUSY)
    expect(attempts).toEqual([1, 2, 3])
    expect(between).toEqual([1, 2])
  })

  it('throws the error that the reason makes of the last one', async () => {
    const lost = new Error('lost')
    const { work } = failing(BUSY, BUSY, BUSY)
    await expect(attempt([busy({ lastWord: () => lost })], work)).rejects.toBe(lost)
  })

  it('throws any other error at once', async () => {
    const other = new Error('other')
    const { attempts, work } = failing(BUSY, other)
    await expect(attempt([busy()], work)).rejects.toBe(other)
    expect(attempts).toEqual([1, 2])
  })

  it('counts the attempts of each reason, and asks for the reasons at the first failure', async () => {
    const full = new Error('full')
    const reasons = vi.fn(() => [busy(), { is: (error: unknown) => error === full, most: 2 }])
    expect(await attempt(reasons, failing().work)).toBe('done')
    expect(reasons).not.toHaveBeenCalled()
    expect(await attempt(reasons, failing(BUSY, full, BUSY).work)).toBe('done')
    await expect(attempt(reasons, failing(full, BUSY, full).work)).rejects.toBe(full)
    expect(reasons).toHaveBeenCalledTimes(2)
  })

  it('gives work what the attempt before it threw', async () => {
    const before: unknown[] = []
    await attempt([busy()], async ({ last }) => {
      before.push(last)
      if (before.length < 3) throw BUSY
    })
    expect(before).toEqual([undefined, BUSY, BUSY])
  })
})

it('returns a random part of a bound that doubles up to its limit', () => {
  const bounds = { firstMs: 4, maxMs: 20 }
  expect([1, 2, 3, 4, 5].map((attempt) => jitteredMs(attempt, bounds, 1))).toEqual([4, 8, 16, 20, 20])
  expect(jitteredMs(3, bounds, 0)).toBe(0)
  expect(jitteredMs(3, bounds, 0.5)).toBe(8)
})
