/** The tasks of a run: which there are, and that each runs in a process of its own. */
import { describe, expect, it } from 'vitest'
import { BENCHMARKS } from '../../benchmarks/runner/benchmarks.ts'
import { scaleOf } from '../../benchmarks/runner/run-config.ts'
import { runTask } from '../../benchmarks/runner/run-task.ts'
import { tasksOf } from '../../benchmarks/runner/task.ts'

const ALL = { only: undefined, storage: undefined, quick: false }
const SCALE = scaleOf({ smoke: true, quick: false, rows: undefined, mebibytes: undefined })

describe('the tasks of a run', () => {
  it('are every benchmark on every storage that it measures', () => {
    const expected = BENCHMARKS.flatMap(({ names, storages }) => Object.keys(storages).map((storage) => `${names[0]} ${storage}`))
    expect(
      tasksOf(ALL)
        .map(({ benchmark, storage }) => `${benchmark} ${storage}`)
        .toSorted(),
    ).toEqual(expected.toSorted())
  })

  it('are those that the command line selects', () => {
    expect(tasksOf({ ...ALL, only: 'audited-read' })).toEqual([{ benchmark: 'audited-read', storage: 'sqlite', quick: false }])
    expect(tasksOf({ ...ALL, only: 'get', storage: 'memory', quick: true })).toEqual([
      { benchmark: 'get', storage: 'memory', quick: true },
    ])
    expect(tasksOf({ ...ALL, only: 'disk', quick: true })).toEqual([])
  })
})

describe('the process of a task', () => {
  it('sends its entries', async () => {
    const entries = await runTask({ task: { benchmark: 'audited-read', storage: 'sqlite', quick: false }, scale: SCALE })
    expect(entries.map(({ benchmark }) => benchmark)).toEqual(['pages logged by an audited read', 'CPU around an audited read'])
  })

  it('that fails is an error that names the benchmark and the storage', async () => {
    const task = { benchmark: 'get', storage: 'postgres', quick: false } as const
    await expect(runTask({ task, scale: SCALE })).rejects.toThrow('The process of get on postgres ended with code 1.')
  })
})
