/** The shape of what a run of the benchmarks leaves behind: the machine and one entry for each comparison. */
import { z } from 'zod'

export const storageNames = ['sqlite', 'postgres', 'memory', 'none'] as const

/** Where a bench ran; `none` for what needs no storage. */
export type StorageName = (typeof storageNames)[number]

const machineShape = z.strictObject({
  cpu: z.string().min(1),
  cores: z.int().positive(),
  memoryGibibytes: z.number().positive(),
  node: z.string().regex(/^v\d+\./),
  platform: z.string().min(1),
})

const entryShape = z.strictObject({
  bench: z.string().min(1),
  storage: z.enum(storageNames),
  /** Rows present when measuring began. */
  rows: z.int().nonnegative(),
  /** Median over the rounds, in `unit`. */
  medianOpsPerSecond: z.number().positive(),
  floor: z.string().min(1),
  floorOpsPerSecond: z.number().positive(),
  /** Median over the rounds of ours by the floor's, each round by itself. */
  ratio: z.number().positive(),
  /** Least ratio, or most; left out where the design sets none and the figure is only told. */
  target: z.number().positive().optional(),
  /** What the two figures count; records a second unless said. */
  unit: z.enum(['ms', 'bytes/record']).optional(),
  /** True where the ratio must stay at or below the target. */
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

/** An entry that can be met or missed. */
export type TargetedEntry = Entry & { readonly target: number }

/** What an entry is about, before anything was measured. */
export type Subject = Pick<Entry, 'bench' | 'storage' | 'rows' | 'target'>

export function hasTarget(entry: Entry): entry is TargetedEntry {
  return entry.target !== undefined
}

export function isMet({ ratio, target, lowerIsBetter }: TargetedEntry): boolean {
  return lowerIsBetter === true ? ratio <= target : ratio >= target
}

/** How far an entry is on the good side of its target: 1 is just met, 2 is twice as good. */
export function headroomOf({ ratio, target, lowerIsBetter }: TargetedEntry): number {
  return lowerIsBetter === true ? target / ratio : ratio / target
}
