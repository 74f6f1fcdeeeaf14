/** Makes the entries of a result from what was measured. */
import { at } from '../../src/core/util/lists.ts'
import type { Entry, Subject } from '../report/result-shape.ts'
import { type Hold, medianHold } from './event-loop-watch.ts'
import { median } from './median.ts'

/** What was measured of one variant. */
export interface Measured {
  readonly name: string
  /** Operations per second, one per round. */
  readonly rates: readonly number[]
  /** Microseconds of CPU per operation, one per round. */
  readonly cpu: readonly number[]
  /** The longest holds of the event loop, one per probe. Empty if the variant was not probed. */
  readonly holds: readonly Hold[]
}

/** Returns the median of the ratios within each round. Load from other processes slows both sides of a round alike. */
export function medianRatio(ours: Measured, baseline: Measured): number {
  return ratioOf(ours, baseline, ({ rates }) => rates)
}

/** Returns the entry for rates of the same run. CPU is compared as rates are: twice the ratio is half the CPU per operation. */
export function compare(subject: Subject, ours: Measured, baseline: Measured): Entry {
  return {
    ...subject,
    figure: median(ours.rates),
    baseline: baseline.name,
    baselineFigure: median(baseline.rates),
    ratio: medianRatio(ours, baseline),
    cpu: {
      figure: median(ours.cpu),
      baselineFigure: median(baseline.cpu),
      ratio: ratioOf(baseline, ours, ({ cpu }) => cpu),
    },
    ...holdOf(ours),
  }
}

/** Returns the entry for times of the same run, in milliseconds per operation. The ratio must stay at or below the target. */
export function compareTimes(subject: Subject, ours: Measured, baseline: Measured): Entry {
  return {
    ...subject,
    figure: 1000 / median(ours.rates),
    baseline: baseline.name,
    baselineFigure: 1000 / median(baseline.rates),
    ratio: medianRatio(baseline, ours),
    unit: 'ms',
    lowerIsBetter: true,
    cpu: {
      figure: median(ours.cpu),
      baselineFigure: median(baseline.cpu),
      ratio: ratioOf(ours, baseline, ({ cpu }) => cpu),
    },
    ...holdOf(ours),
  }
}

/** A size or a time, and what it is compared with. */
export interface Sizes extends Pick<Entry, 'figure' | 'baseline' | 'baselineFigure' | 'cpu'> {
  readonly unit: NonNullable<Entry['unit']>
}

/** Returns the entry for a figure that must stay at or below `target` times the baseline. */
export function compareSizes(subject: Subject, sizes: Sizes): Entry {
  return { ...subject, ...sizes, ratio: sizes.figure / sizes.baselineFigure, lowerIsBetter: true }
}

/** A figure with an upper limit. */
export interface Limited {
  readonly figure: number
  readonly limit: number
  readonly unit: 'ms' | 'us' | 'pages'
  /** CPU of the same in microseconds, with its limit. Default: not reported. */
  readonly cpu?: { readonly figure: number; readonly limit: number }
  /** Added to the name of the limit. */
  readonly note?: string
  /** Some machines cannot stay below the limit, so it is reported and no target. Default: false. */
  readonly isReported?: boolean
}

/** Returns the entry for a figure that must stay at or below a fixed limit. The limit takes the place of a baseline. */
export function compareWithLimit(
  subject: Omit<Subject, 'target'>,
  { figure, limit, unit, cpu, note = '', isReported = false }: Limited,
): Entry {
  const compared = { figure, baseline: `${limit} ${unit}${note}`, baselineFigure: limit, unit }
  const spent = cpu === undefined ? {} : { cpu: { figure: cpu.figure, baselineFigure: cpu.limit, ratio: cpu.figure / cpu.limit } }
  return compareSizes(isReported ? subject : { ...subject, target: 1 }, { ...compared, ...spent })
}

/** Milliseconds that an operation may hold the event loop. */
const MAX_HOLD = 20

/** Returns the entry for the longest hold of the event loop. How much of it collected garbage is added to the name of the limit. */
export function limitHold(
  subject: Omit<Subject, 'target'>,
  { wall, cpu, gc }: NonNullable<Entry['hold']>,
  { note = '', isReported = false }: Pick<Limited, 'note' | 'isReported'> = {},
): Entry {
  const collected = gc === undefined ? '' : `, ${gc.toFixed(1)} ms of it garbage collection`
  // A CPU time of zero is one below the resolution of its clock.
  const spent = { figure: Math.max(1, cpu * 1000), limit: MAX_HOLD * 1000 }
  return compareWithLimit(subject, {
    figure: wall,
    limit: MAX_HOLD,
    unit: 'ms',
    cpu: spent,
    note: `${note}${collected}`,
    isReported,
  })
}

/** Returns the entry for calls per second, beside a rate that some machines do not reach. It takes the place of a baseline and is no target. */
export function compareWithRate(subject: Omit<Subject, 'target'>, ours: Measured, limit: number): Entry {
  const [figure, cpu] = [median(ours.rates), median(ours.cpu)]
  const most = 1e6 / limit
  return {
    ...subject,
    ...{ figure, baseline: `${limit.toLocaleString('en')} per second`, baselineFigure: limit, ratio: figure / limit },
    unit: 'calls/s',
    cpu: { figure: cpu, baselineFigure: most, ratio: most / cpu },
    ...holdOf(ours),
  }
}

function ratioOf(over: Measured, under: Measured, figures: (measured: Measured) => readonly number[]): number {
  const [above, below] = [figures(over), figures(under)]
  if (above.length !== below.length) throw new Error(`${over.name} and ${under.name} were not measured together.`)
  return median(above.map((figure, round) => figure / at(below, round)))
}

function holdOf({ holds }: Measured): Pick<Entry, 'hold'> {
  return holds.length === 0 ? {} : { hold: medianHold(holds) }
}
