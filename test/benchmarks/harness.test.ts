/** Medians, round order, CPU and ratios of the benchmarks, on clocks that the test moves, holds of the event loop, and the variants that make calls. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compare,
  compareSizes,
  compareTimes,
  compareWithLimit,
  compareWithRate,
  type Measured,
  medianRatio,
} from '../../benchmarks/measuring/compare.ts'
import { collectedIn, longestHold, medianHold, nextTurn } from '../../benchmarks/measuring/event-loop-watch.ts'
import { measure, orderOf, probed } from '../../benchmarks/measuring/harness.ts'
import { measureGrowth } from '../../benchmarks/measuring/measure-growth.ts'
import { median } from '../../benchmarks/measuring/median.ts'
import { CALLERS, runConcurrently } from '../../benchmarks/measuring/run-concurrently.ts'
import { sequentialCalls } from '../../benchmarks/measuring/sequential-calls.ts'
import { longestHoldOf } from '../../benchmarks/runner/longest-hold.ts'
import { at } from '../../src/core/util/lists.ts'

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
  /** Variants with given durations in milliseconds, on their own clock. Each uses a tenth of its time as CPU. */
  function staged(milliseconds: Readonly<Record<string, readonly number[]>>) {
    let time = 0
    let cpu = 0
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
          time += at(times, run)
          cpu += at(times, run++) * 100
          return 10
        },
      }
    })
    return { variants, log, clocks: { now: () => time, cpu: () => cpu } }
  }

  it('runs every variant in every round, rotates the order, and discards the warm-up rounds', async () => {
    const { variants, log, clocks } = staged({ a: [999, 10, 20], b: [999, 40, 40] })
    const measured = await measure(variants, { warmups: 1, rounds: 2, clocks })
    expect(log.filter((line) => line.startsWith('run'))).toEqual(['run a', 'run b', 'run b', 'run a', 'run a', 'run b'])
    expect(measured).toMatchObject([
      { name: 'a', rates: [1000, 500], cpu: [100, 200] },
      { name: 'b', rates: [250, 250], cpu: [400, 400] },
    ])
  })

  it('warms each variant for the warm-up time, in which those that are warm rest and preparations do not count', async () => {
    const { variants, log, clocks } = staged({ slow: [60, 10, 20], quick: [30, 30, 40, 40] })
    const measured = await measure(variants, { warmups: 1, warmupTime: 50, rounds: 2, clocks })
    const runs = log.filter((line) => line.startsWith('run'))
    expect(runs.slice(0, 3)).toEqual(['run slow', 'run quick', 'run quick'])
    expect(runs).toHaveLength(7)
    expect(measured).toMatchObject([
      { name: 'slow', rates: [1000, 500] },
      { name: 'quick', rates: [250, 250] },
    ])
  })

  it('does not time prepare', async () => {
    const { variants, clocks } = staged({ a: [5] })
    const [measured] = await measure(variants, { warmups: 0, rounds: 1, clocks })
    expect(measured?.rates).toEqual([2000])
  })

  it('awaits an asynchronous variant', async () => {
    let time = 0
    const late = { name: 'late', run: () => Promise.resolve().then(() => (time += 100)) }
    const clocks = { now: () => time, cpu: () => 0 }
    const [measured] = await measure([late], { warmups: 0, rounds: 2, clocks })
    expect(measured?.rates).toEqual([1000, 2000])
  })

  it('throws if a variant takes no time or does nothing', async () => {
    const idle = { name: 'idle', run: () => 0 }
    await expect(measure([idle], { warmups: 0, rounds: 1 })).rejects.toThrow('idle took no time or did nothing')
    const instant = { name: 'instant', run: () => 1 }
    const clocks = { now: () => 1, cpu: () => 1 }
    await expect(measure([instant], { warmups: 0, rounds: 1, clocks })).rejects.toThrow('instant took no time')
  })

  it('leaves out the CPU of the thread that sends requests, and counts one microsecond at least', async () => {
    let cpu = 0
    let time = 0
    const run = () => {
      cpu += 500
      time += 1
      return 10
    }
    const clocks = { now: () => time, cpu: () => cpu }
    const timing = { warmups: 0, rounds: 1, clocks }
    const [served] = await measure([{ name: 'served', run, senderCpu: () => 400 }], timing)
    expect(served?.cpu).toEqual([10])
    const [idle] = await measure([{ name: 'idle', run, senderCpu: () => 900 }], timing)
    expect(idle?.cpu).toEqual([0.1])
  })

  it('counts the CPU of the process if no clocks are given', async () => {
    const busy = { name: 'busy', run: () => block(20) }
    const [measured] = await measure([busy], { warmups: 0, rounds: 1 })
    expect(measured?.cpu[0]).toBeGreaterThan(1)
  })

  it('finds holds in runs of one operation and in a probe of many calls, without the first, which collects what was left', async () => {
    const unprobed = { name: 'calls', rates: [1], cpu: [1], holds: [] }
    let runs = 0
    const one = { name: 'one', run: () => Promise.resolve().then(() => block(runs++ === 0 ? 200 : 12)) }
    const { holds: ofOne } = await probed(one, unprobed)
    expect(ofOne).toHaveLength(3)
    for (const { wall } of ofOne) expect(wall).toBeGreaterThanOrEqual(12)
    expect(medianHold(ofOne).cpu).toBeLessThan(200)
    const calls = sequentialCalls({ name: 'calls', prepareItems: () => new Array(4).fill(12), call: block })
    const { holds } = await probed(calls, unprobed)
    for (const { wall } of holds) expect(wall).toBeGreaterThanOrEqual(12)
    // All four calls in one turn would take 48 milliseconds of CPU.
    expect(Math.min(...holds.map(({ cpu }) => cpu))).toBeLessThan(48)
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
    const ours = measuredOf('ours', [50, 5, 60], [2, 20, 2])
    const baseline = measuredOf('baseline', [100, 10, 100], [1, 5, 1])
    expect(medianRatio(ours, baseline)).toBe(0.5)
    expect(compare(subject, ours, baseline)).toEqual({
      ...subject,
      figure: 50,
      baseline: 'baseline',
      baselineFigure: 100,
      ratio: 0.5,
      cpu: { figure: 2, baselineFigure: 1, ratio: 0.5 },
    })
  })

  it('of times has ratios that are better the lower they are, of the clock and of the CPU', () => {
    const ours = measuredOf('ours', [500, 250], [30, 30])
    const baseline = measuredOf('baseline', [1000, 1000], [10, 10])
    expect(compareTimes(subject, ours, baseline)).toEqual({
      ...subject,
      figure: 1000 / 375,
      baseline: 'baseline',
      baselineFigure: 1,
      ratio: 3,
      unit: 'ms',
      lowerIsBetter: true,
      cpu: { figure: 30, baselineFigure: 10, ratio: 3 },
    })
  })

  it('with a fixed limit names the limit as the baseline', () => {
    const place = { benchmark: 'import', storage: 'none', rows: 0 } as const
    const cpu = { figure: 60_000, limit: 80_000 }
    expect(compareWithLimit(place, { figure: 40, limit: 80, unit: 'ms', cpu, note: ', quiet' })).toEqual({
      ...place,
      ...{ target: 1, figure: 40, baseline: '80 ms, quiet', baselineFigure: 80, ratio: 0.5, unit: 'ms', lowerIsBetter: true },
      cpu: { figure: 60_000, baselineFigure: 80_000, ratio: 0.75 },
    })
    expect(compareWithLimit(place, { figure: 40, limit: 80, unit: 'ms', isReported: true })).not.toHaveProperty('target')
    expect(compareWithRate(place, measuredOf('ours', [1000], [250]), 2000)).toEqual({
      ...place,
      ...{ figure: 1000, baseline: '2,000 per second', baselineFigure: 2000, ratio: 0.5, unit: 'calls/s' },
      cpu: { figure: 250, baselineFigure: 500, ratio: 2 },
    })
  })

  it('reports the median of the holds', () => {
    const holds = [1, 9, 2].map((wall) => ({ wall, cpu: wall / 2, gc: wall / 4 }))
    const ours = { ...measuredOf('ours', [1], [1]), holds }
    expect(medianHold(holds)).toEqual({ wall: 2, cpu: 1, gc: 0.5 })
    expect(compare(subject, ours, measuredOf('baseline', [1], [1])).hold).toEqual({ wall: 2, cpu: 1, gc: 0.5 })
  })

  it('names the operation that held the event loop longest', () => {
    const entry = compare(subject, measuredOf('ours', [1], [1]), measuredOf('baseline', [1], [1]))
    expect(longestHoldOf([entry])).toEqual([])
    const short = { ...entry, hold: { wall: 3, cpu: 2 } }
    const long = { ...entry, benchmark: 'verify', hold: { wall: 40, cpu: 30 } }
    expect(longestHoldOf([short, long, entry])).toMatchObject([
      {
        figure: 40,
        baseline: '20 ms: verify, sqlite',
        ratio: 2,
        lowerIsBetter: true,
        cpu: { figure: 30_000, ratio: 1.5 },
      },
    ])
    const collecting = { ...long, hold: { ...long.hold, gc: 31.26 } }
    expect(longestHoldOf([short, collecting])).toMatchObject([
      { figure: 40, baseline: '20 ms: verify, sqlite, 31.3 ms of it garbage collection' },
    ])
  })

  it('compares each size of a growing table with the smallest', async () => {
    const variant = (milliseconds: number) => ({ name: 'calls', run: () => Promise.resolve().then(() => block(milliseconds)) })
    const sized = [5, 10, 20].map((milliseconds) => ({ rows: milliseconds * 100, variant: variant(milliseconds) }))
    const plan = { series: 'get', storage: 'memory', timing: { warmups: 0, rounds: 1 } } as const
    const entries = await measureGrowth(plan, sized)
    expect(entries.map(({ rows, series, baseline }) => [rows, series, baseline])).toEqual(
      [500, 1000, 2000].map((rows) => [rows, 'get', 'itself at 500']),
    )
    expect(entries[0]?.ratio).toBe(1)
    expect(entries[0]?.figure).toBeGreaterThan(0)
  })

  it('throws if the numbers of rounds differ', () => {
    expect(() => medianRatio(measuredOf('a', [1], [1]), measuredOf('b', [1, 2], [1, 2]))).toThrow(
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
  it('are as many as asked for', async () => {
    const variant = runConcurrently({ name: 'callers', callers: 3, prepareItems: () => [1, 2], call: () => undefined })
    variant.prepare?.()
    expect(await variant.run()).toBe(6)
  })

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

describe('the longest hold of the event loop', () => {
  it('is at least the time that work blocks at its start, in its middle and at its end', async () => {
    const holdOf = async (work: () => unknown): Promise<number> => (await longestHold(work)).wall
    expect(await holdOf(() => block(12))).toBeGreaterThanOrEqual(12)
    const between = async () => {
      await nextTurn()
      block(12)
      await nextTurn()
    }
    expect(await holdOf(between)).toBeGreaterThanOrEqual(12)
    expect(await holdOf(() => nextTurn().then(() => block(12)))).toBeGreaterThanOrEqual(12)
  })

  it('by CPU leaves out waiting', async () => {
    const wait = new Int32Array(new SharedArrayBuffer(4))
    const { wall, cpu } = await longestHold(() => Atomics.wait(wait, 0, 0, 40))
    expect(wall).toBeGreaterThanOrEqual(40)
    expect(cpu).toBeLessThan(wall)
  })

  it('says how much of it was a collection of garbage', async () => {
    setFlagsFromString('--expose-gc')
    const collect: unknown = runInNewContext('gc')
    if (typeof collect !== 'function') throw new Error('V8 has no function that collects garbage.')
    const { wall, gc } = await longestHold(() => nextTurn().then(() => collect()))
    expect(gc).toBeGreaterThan(0)
    expect(gc).toBeLessThanOrEqual(wall)
  })

  it('counts the part of a collection that is inside of it', () => {
    const hold = { start: 10, end: 50 }
    const collections = [
      { start: 2, end: 9 },
      { start: 8, end: 12 },
      { start: 20, end: 25 },
      { start: 45, end: 60 },
      { start: 60, end: 70 },
    ]
    expect(collectedIn(hold, collections)).toBe(2 + 5 + 5)
    expect(collectedIn(hold, [])).toBe(0)
  })

  it('rejects if the work fails', async () => {
    await expect(longestHold(() => Promise.reject(new Error('no query')))).rejects.toThrow('no query')
  })
})

/** Blocks the event loop. Returns one operation. */
function block(milliseconds: number): number {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
  return 1
}

function measuredOf(name: string, rates: readonly number[], cpu: readonly number[]): Measured {
  return { name, rates, cpu, holds: [] }
}
