/** The arithmetic of the benchmarks: medians, turns and ratios, on a clock that only moves when told. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CALLERS, callersAtOnce } from '../../benchmarks/benches/callers.ts'
import { compare, compareSizes, longestGap, measure, median, medianRatio, turnsOf } from '../../benchmarks/harness.ts'

const SEED = 7

describe('the median', () => {
  test('is the middle of an odd list and the mean of the two in the middle of an even one', () => {
    expect(median([9, 1, 5])).toBe(5)
    expect(median([10, 1, 4, 2])).toBe(3)
    expect(median([3])).toBe(3)
  })

  test('has as many values at or below it as at or above it, whatever their order', () => {
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

  test('of nothing is refused', () => {
    expect(() => median([])).toThrow('no median of nothing')
  })
})

describe('measuring', () => {
  /** Variants that take as long as they are told on a clock of their own. */
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
          time += times[run++] ?? Number.NaN
          return 10
        },
      }
    })
    return { variants, log, now: () => time }
  }

  test('runs every variant in every round, each round beginning with another, and drops the rounds of warming up', async () => {
    const { variants, log, now } = staged({ a: [999, 10, 20], b: [999, 40, 40] })
    const measured = await measure(variants, { warmups: 1, rounds: 2, now })
    expect(log.filter((line) => line.startsWith('run'))).toEqual(['run a', 'run b', 'run b', 'run a', 'run a', 'run b'])
    expect(measured).toEqual([
      { name: 'a', rates: [1000, 500] },
      { name: 'b', rates: [250, 250] },
    ])
  })

  test('does not time what is prepared', async () => {
    const { variants, now } = staged({ a: [5] })
    const [measured] = await measure(variants, { warmups: 0, rounds: 1, now })
    expect(measured?.rates).toEqual([2000])
  })

  test('waits for a variant that answers later', async () => {
    let time = 0
    const late = { name: 'late', run: () => Promise.resolve().then(() => (time += 100)) }
    const [measured] = await measure([late], { warmups: 0, rounds: 2, now: () => time })
    expect(measured.rates).toEqual([1000, 2000])
  })

  test('refuses a variant that took no time or did nothing', async () => {
    const idle = { name: 'idle', run: () => 0 }
    await expect(measure([idle], { warmups: 0, rounds: 1 })).rejects.toThrow('idle did nothing that could be timed')
    const instant = { name: 'instant', run: () => 1 }
    await expect(measure([instant], { warmups: 0, rounds: 1, now: () => 1 })).rejects.toThrow('instant did nothing')
  })

  test('gives every variant every place in the order equally often', () => {
    const places = [0, 1, 2].map((round) => turnsOf(3, round))
    expect(places).toEqual([
      [0, 1, 2],
      [1, 2, 0],
      [2, 0, 1],
    ])
  })
})

describe('comparing', () => {
  const subject = { bench: 'insert', storage: 'sqlite', rows: 10, target: 0.5 } as const

  test('takes the ratio within each round, so that a slow minute slows both sides', () => {
    const ours = { name: 'ours', rates: [50, 5, 60] }
    const floor = { name: 'floor', rates: [100, 10, 100] }
    expect(medianRatio(ours, floor)).toBe(0.5)
    expect(compare(subject, ours, floor)).toEqual({
      ...subject,
      medianOpsPerSecond: 50,
      floor: 'floor',
      floorOpsPerSecond: 100,
      ratio: 0.5,
    })
  })

  test('refuses what was not measured together', () => {
    expect(() => medianRatio({ name: 'a', rates: [1] }, { name: 'b', rates: [1, 2] })).toThrow(
      'a and b were not measured together',
    )
  })

  test('of sizes says that less is better', () => {
    const entry = compareSizes(subject, { ours: 30, floor: 'plain', floorFigure: 20, unit: 'bytes/record' })
    expect(entry).toMatchObject({
      ratio: 1.5,
      unit: 'bytes/record',
      lowerIsBetter: true,
      medianOpsPerSecond: 30,
      floorOpsPerSecond: 20,
    })
  })
})

describe('callers at once', () => {
  test('each wait for one answer before they ask again, and all ask at the same time', async () => {
    let asking = 0
    let most = 0
    const variant = callersAtOnce({
      name: 'callers',
      hand: () => [1, 2, 3],
      async call() {
        most = Math.max(most, ++asking)
        await Promise.resolve()
        asking--
      },
    })
    variant.prepare?.()
    expect(await variant.run()).toBe(3 * CALLERS)
    expect([asking, most]).toEqual([0, CALLERS])
  })

  test('are handed something new for every run', async () => {
    const asked: number[] = []
    let drawn = 0
    const variant = callersAtOnce({ name: 'callers', hand: () => [drawn++], call: (one: number) => asked.push(one) })
    for (let run = 0; run < 2; run++) {
      variant.prepare?.()
      await variant.run()
    }
    expect(asked).toEqual(Array.from({ length: 2 * CALLERS }, (_, index) => index))
  })
})

describe('the longest hold of the event loop', () => {
  /** Keeps the event loop from turning. */
  function hold(milliseconds: number): void {
    const end = performance.now() + milliseconds
    while (performance.now() < end);
  }

  test('is at least as long as work kept it, at its beginning, in its midst and at its end', async () => {
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    expect(await longestGap(async () => hold(12))).toBeGreaterThanOrEqual(12)
    const between = async () => {
      await turn()
      hold(12)
      await turn()
    }
    expect(await longestGap(between)).toBeGreaterThanOrEqual(12)
    expect(await longestGap(() => turn().then(() => hold(12)))).toBeGreaterThanOrEqual(12)
  })

  test('of work that fails is not told', async () => {
    await expect(longestGap(() => Promise.reject(new Error('no query')))).rejects.toThrow('no query')
  })
})
