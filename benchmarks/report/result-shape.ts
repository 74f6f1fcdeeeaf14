/** The JSON result of a run: the machine, the commit and one entry per comparison. Unknown members are refused. */
import * as z from 'zod'

export const storageNames = ['sqlite', 'postgres', 'memory', 'none'] as const

/** Storage of a benchmark; `none` if it needs no storage. */
export type StorageName = (typeof storageNames)[number]

const machineShape = z.strictObject({
  cpu: z.string().min(1),
  cores: z.int().positive(),
  memoryGibibytes: z.number().positive(),
  node: z.string().regex(/^v\d+\./),
  platform: z.string().min(1),
})

const entryShape = z.strictObject({
  benchmark: z.string().min(1),
  storage: z.enum(storageNames),
  /** Rows present when measuring starts. */
  rows: z.int().nonnegative(),
  /** The median of the vault over the rounds, in `unit`. */
  figure: z.number().positive(),
  /** What the vault is compared with. */
  baseline: z.string().min(1),
  /** The median of the baseline, in `unit`. */
  baselineFigure: z.number().positive(),
  /** The median of the ratios within each round: the vault divided by the baseline. */
  ratio: z.number().positive(),
  /** Microseconds of CPU of this process per operation, and the ratio in the sense of `ratio`. Absent if no work was timed. */
  cpu: z
    .strictObject({ figure: z.number().positive(), baselineFigure: z.number().positive(), ratio: z.number().positive() })
    .optional(),
  /**
   * Milliseconds that the vault's operation held the event loop at most, by the clock and by the CPU time of the thread, and those of the clock in
   * which garbage was collected. `gc` is absent in results of before it was measured.
   */
  hold: z
    .strictObject({ wall: z.number().nonnegative(), cpu: z.number().nonnegative(), gc: z.number().nonnegative().optional() })
    .optional(),
  /** The line of the growth chart that the entry is a point of. Absent if it is not in that chart. */
  series: z.string().min(1).optional(),
  /** Minimum ratio, or maximum if `lowerIsBetter`. Absent if the figure is reported without a target. */
  target: z.number().positive().optional(),
  /** `cpu`: the target is one of the CPU ratio, because the ratio by the clock moves with the disk of the machine. Default: by the clock. */
  by: z.literal('cpu').optional(),
  /** Unit of both figures. Default: records per second. */
  unit: z.enum(['ms', 'us', 'bytes/record', 'MiB/s', 'MiB', 'pages', 'calls/s']).optional(),
  /** True if the ratio must stay at or below the target. */
  lowerIsBetter: z.literal(true).optional(),
})

export const resultShape = z.strictObject({
  machine: machineShape,
  commit: z.string().min(1),
  entries: z.array(entryShape),
})

export type Machine = z.infer<typeof machineShape>
export type Entry = z.infer<typeof entryShape>
export type Result = z.infer<typeof resultShape>

/** An entry with a target. */
export type TargetedEntry = Entry & { readonly target: number }

/** The part of an entry that is known before it is measured. */
export type Subject = Pick<Entry, 'benchmark' | 'storage' | 'rows' | 'target' | 'by'>

export function hasTarget(entry: Entry): entry is TargetedEntry {
  return entry.target !== undefined
}

/** Returns the ratio that the target is for. */
export function targetedRatio({ by, cpu, ratio }: Entry): number {
  return by === 'cpu' && cpu !== undefined ? cpu.ratio : ratio
}

export function isMet(entry: TargetedEntry): boolean {
  return headroomOf(entry) >= 1
}

/** Returns how far an entry is past its target: 1 is exactly met, 2 is twice as good. */
export function headroomOf(entry: TargetedEntry, ratio = targetedRatio(entry)): number {
  const { target, lowerIsBetter } = entry
  return lowerIsBetter === true ? target / ratio : ratio / target
}
