/** The retry loop: how often it tries, what it throws, and how long it pauses. */
import { describe, expect, it } from 'vitest'
import { jitteredMs, type RetryPolicy, retry } from '../../../src/core/util/retry.ts'

const BUSY = new Error('busy')
const policy = (more: Partial<RetryPolicy> = {}): RetryPolicy => ({
  maxAttempts: 3,
  shouldRetry: (error) => error === BUSY,
  ...more,
})

/** Work that fails with these errors, one after the other, and then succeeds. */
function failing(...errors: unknown[]) {
  const attempts: number[] = []
  const work = async (attempt: number): Promise<string> => {
    attempts.push(attempt)
    if (errors.length > 0) throw errors.shift()
    return 'done'
  }
  return { attempts, work }
}

describe('retry', () => {
  it('returns the result of the first attempt that succeeds', async () => {
    const { attempts, work } = failing(BUSY, BUSY)
    expect(await retry(policy(), work)).toBe('done')
    expect(attempts).toEqual([1, 2, 3])
  })

  it('throws the last error after the last attempt, and runs nothing after it', async () => {
    const between: number[] = []
    const { attempts, work } = failing(BUSY, BUSY, BUSY, BUSY)
    await expect(retry(policy({ between: async (attempt) => void between.push(attempt) }), work)).rejects.toBe(BUSY)
    expect(attempts).toEqual([1, 2, 3])
    expect(between).toEqual([1, 2])
  })

  it('throws the error that the policy makes of the last one', async () => {
    const lost = new Error('lost')
    const { work } = failing(BUSY, BUSY, BUSY)
    await expect(retry(policy({ exhausted: () => lost }), work)).rejects.toBe(lost)
  })

  it('throws any other error at once', async () => {
    const other = new Error('other')
    const { attempts, work } = failing(BUSY, other)
    await expect(retry(policy(), work)).rejects.toBe(other)
    expect(attempts).toEqual([1, 2])
  })
})

it('returns a random part of a bound that doubles up to its limit', () => {
  const bounds = { firstMs: 4, maxMs: 20 }
  expect([1, 2, 3, 4, 5].map((attempt) => jitteredMs(attempt, bounds, 1))).toEqual([4, 8, 16, 20, 20])
  expect(jitteredMs(3, bounds, 0)).toBe(0)
  expect(jitteredMs(3, bounds, 0.5)).toBe(8)
})
