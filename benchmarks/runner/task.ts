/** One benchmark on one storage: the unit that runs in a process of its own. */
import { type StorageName, storageNames } from '../report/result-shape.ts'
import type { Arguments } from './arguments.ts'
import { BENCHMARKS } from './benchmarks.ts'
import type { Measurement } from './run-config.ts'

export interface Task {
  /** The first name of the benchmark. */
  readonly benchmark: string
  readonly storage: StorageName
  /** Whether to measure what a quick run measures. */
  readonly quick: boolean
}

/** Returns the tasks of a run, in the order of the table. */
export function tasksOf({ only, storage: onlyStorage, quick }: Pick<Arguments, 'only' | 'storage' | 'quick'>): Task[] {
  const tasks: Task[] = []
  for (const { names } of BENCHMARKS) {
    if (only !== undefined && !names.includes(only)) continue
    for (const storage of storageNames) {
      const task = { benchmark: names[0], storage, quick }
      if ((onlyStorage ?? storage) === storage && findMeasurement(task) !== undefined) tasks.push(task)
    }
  }
  return tasks
}

/** Returns what measures the task. `undefined` if the benchmark has nothing for this storage. */
export function findMeasurement({ benchmark: name, storage, quick }: Task): Measurement | undefined {
  const benchmark = BENCHMARKS.find(({ names }) => names[0] === name)
  return (quick ? benchmark?.quick : benchmark?.storages)?.[storage]
}
