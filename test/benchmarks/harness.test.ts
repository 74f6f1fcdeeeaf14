/** Medians, round order and ratios of the benchmarks, on a clock that the test moves, and the variants that make calls. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compare,
  compareSizes,
  maxEventLoopDelay,
  measure,
  median,
  medianRatio,
  orderOf,
} from '../../benchmarks/measuring/harness.ts'
import { CALLERS, runConcurrently } from '../../benchmarks/measuring/run-concurrently.ts'
import { sequentialCalls } from '../../benchmarks/measuring/sequential-calls.ts'
import { at } from '../../src/core/util/at.ts'

const SEED = 7

describe('the median', () => {
  it('is the middle value of an odd list and the mean of the two middle values of an even list', () => {
    expect(median([9, 1, 5])).toBe(5)
    expect(median([10, 1, 4, 2])).toBe(3)
    expect(median([3])).toBe(3)
  })

  it('has at least half of the values at or below it and at or above it, in any order', () => {
    const values = fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(values, (list) => {
        const middle = median(list)
        const atMost = list.filter((value) => value <= middle).length
        const atLeast = list.filter((value) => value >= middle).length
        return atMost * 2 >= list.length && atLeast * 2 >= list.length && median([...list].reverse()) === middle
      }),
      { seed: SEED },
    )
  })

  it('of an empty list throws', () => {
    expect(() => median([])).toThrow('no median')
  })
})

describe('measuring', () => {
  /** Variants with given durations in milliseconds, on their own clock. */
  function staged(milliseconds: Readonly<Record<string, readonly number[]>>) {
    let time = 0
    const log: string[] = []
    const variants = Object.entries(milliseconds).map(([name, times]) => {
      let run = 0
      return {
        name,
        prepare() {
          log.push(`prepare ${name}`)
          time += 1000
        },
        run() {
          log.push(`run ${name}`)
          time += at(times, run++)
          return 10
        },
      }
    })
    return { variants, log, now: () => time }
  }

  it('runs every variant in every round, rotates the order, and discards the warm-up rounds', async () => {
    const { variants, log, now } = staged({ a: [999, 10, 20], b: [999, 40, 40] })
    const measured = await measure(variants, { warmups: 1, rounds: 2, now })
    expect(log.filter((line) => line.startsWith('run'))).toEqual(['run a', 'run b', 'run b', 'run a', 'run a', 'run b'])
    expect(measured).toEqual([
      { name: 'a', rates: [1000, 500] },
      { name: 'b', rates: [250, 250] },
    ])
  })

  it('does not time prepare', async () => {
    const { variants, now } = staged({ a: [5] })
    const [measured] = await measure(variants, { warmups: 0, rounds: 1, now })
    expect(measured?.rates).toEqual([2000])
  })

  it('awaits an asynchronous variant', async () => {
    let time = 0
    const late = { name: 'late', run: () => Promise.resolve().then(() => (time += 100)) }
    const [measured] = await measure([late], { warmups: 0, rounds: 2, now: () => time })
    expect(measured?.rates).toEqual([1000, 2000])
  })

  it('throws if a variant takes no time or does nothing', async () => {
    const idle = { name: 'idle', run: () => 0 }
    await expect(measure([idle], { warmups: 0, rounds: 1 })).rejects.toThrow('idle took no time or did nothing')
    const instant = { name: 'instant', run: () => 1 }
    await expect(measure([instant], { warmups: 0, rounds: 1, now: () => 1 })).rejects.toThrow('instant took no time')
  })

  it('gives every variant every position equally often', () => {
    const orders = [0, 1, 2].map((round) => orderOf(3, round))
    expect(orders).toEqual([
      [0, 1, 2],
      [1, 2, 0],
      [2, 0, 1],
    ])
  })
})

describe('comparing', () => {
  const subject = { benchmark: 'insert', storage: 'sqlite', rows: 10, target: 0.5 } as const

  it('uses the median of the ratios within each round', () => {
    const ours = { name: 'ours', rates: [50, 5, 60] }
    const baseline = { name: 'baseline', rates: [100, 10, 100] }
    expect(medianRatio(ours, baseline)).toBe(0.5)
    expect(compare(subject, ours, baseline)).toEqual({
      ...subject,
      figure: 50,
      baseline: 'baseline',
      baselineFigure: 100,
      ratio: 0.5,
    })
  })

  it('throws if the numbers of rounds differ', () => {
    expect(() => medianRatio({ name: 'a', rates: [1] }, { name: 'b', rates: [1, 2] })).toThrow(
      'a and b were not measured together',
    )
  })

  it('marks sizes as lower-is-better', () => {
    const entry = compareSizes(subject, { figure: 30, baseline: 'plain', baselineFigure: 20, unit: 'bytes/record' })
    expect(entry).toMatchObject({
      ratio: 1.5,
      unit: 'bytes/record',
      lowerIsBetter: true,
      figure: 30,
      baselineFigure: 20,
    })
  })
})

describe('sequential calls', () => {
  it('count operations, await promises, and receive new items for every run', async () => {
    const received: number[] = []
    let drawn = 0
    const variant = sequentialCalls({
      name: 'calls',
      prepareItems: () => [drawn++, drawn++],
      call: (item: number) => Promise.resolve().then(() => received.push(item)),
      operationsPerCall: 5,
    })
    for (let run = 0; run < 2; run++) {
      variant.prepare?.()
      expect(await variant.run()).toBe(10)
    }
    expect(received).toEqual([0, 1, 2, 3])
  })
})

describe('concurrent callers', () => {
  it('call at the same time, each waiting for a result before its next call', async () => {
    let pending = 0
    let maxPending = 0
    const variant = runConcurrently({
      name: 'callers',
      prepareItems: () => [1, 2, 3],
      async call() {
        maxPending = Math.max(maxPending, ++pending)
        await Promise.resolve()
        pending--
      },
    })
    variant.prepare?.()
    expect(await variant.run()).toBe(3 * CALLERS)
    expect([pending, maxPending]).toEqual([0, CALLERS])
  })

  it('receive new items for every run', async () => {
    const received: number[] = []
    let drawn = 0
    const variant = runConcurrently({ name: 'callers', prepareItems: () => [drawn++], call: (one: number) => received.push(one) })
    for (let run = 0; run < 2; run++) {
      variant.prepare?.()
      await variant.run()
    }
    expect(received).toEqual(Array.from({ length: 2 * CALLERS }, (_, index) => index))
  })
})

describe('the maximum event-loop delay', () => {
  /** Blocks the event loop. */
  function block(milliseconds: number): void {
    const end = performance.now() + milliseconds
    while (performance.now() < end);
  }

  it('is at least the time that work blocks at its start, in its middle and at its end', async () => {
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    expect(await maxEventLoopDelay(async () => block(12))).toBeGreaterThanOrEqual(12)
    const between = async () => {
      await turn()
      block(12)
      await turn()
    }
    expect(await maxEventLoopDelay(between)).toBeGreaterThanOrEqual(12)
    expect(await maxEventLoopDelay(() => turn().then(() => block(12)))).toBeGreaterThanOrEqual(12)
  })

  it('rejects if the work fails', async () => {
    await expect(maxEventLoopDelay(() => Promise.reject(new Error('no query')))).rejects.toThrow('no query')
  })
})
