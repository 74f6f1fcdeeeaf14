/** Trial: eight writers in three processes read a counter and a set and write the whole back. Each change that returned is stored, and no other. */
import { join } from 'node:path'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { OWNER } from '../vaults/test-vault.ts'
import type { ReadChangeProcess, ReadChangeResult } from './read-change-process.ts'
import { MAX_FAILURES, type TrialReport } from './report.ts'
import { runTogether } from './run-together.ts'
import { openTallies } from './tallies.ts'

/** Where the trial runs, and how long. */
export interface ReadChangeTrial {
  readonly address: StorageAddress
  readonly seed: string
  readonly milliseconds: number
  /** Breaks the promise on purpose, for the negative control. */
  readonly isBlind?: boolean
}

/** The processes, and how many writers each has. */
const WRITERS = { a: 3, b: 3, c: 2 } as const
const TALLIES = 3

/** Runs the trial. Its figure is the number of changes that were stored. */
export async function runReadChangeTrial({
  address,
  seed,
  milliseconds,
  isBlind = false,
}: ReadChangeTrial): Promise<TrialReport> {
  const vault = await openTallies(openStorage(address))
  try {
    // Two processes and one tally are enough to find what is wrong.
    const empty = Array.from({ length: isBlind ? 1 : TALLIES }, () => ({ fields: { count: 0, entries: [] } }))
    const ids = (await vault.as(OWNER).insert('tallies', empty)).records.map(({ id }) => id)
    const writing = Object.entries(WRITERS).slice(isBlind ? 1 : 0)
    const options = writing.map(([name, writers]): ReadChangeProcess => {
      return { address, name, seed, writers, milliseconds, ids, isBlind }
    })
    const printed = await runTogether(join(import.meta.dirname, 'read-change-process.ts'), options)
    const results = printed.map((text) => JSON.parse(text) as ReadChangeResult)
    const { records } = await vault.as(OWNER).get('tallies', { ids })
    const failures = records.flatMap(({ id, fields: { count, entries } }) => {
      const expected = results.flatMap(({ stored }) => stored[id] ?? []).sort()
      const found = Array.isArray(entries) ? [...entries].map(String).sort() : []
      return [
        ...(Number(count) === expected.length ? [] : [`A counter is ${count} after ${expected.length} changes.`]),
        ...(found.join() === expected.join() ? [] : [`A set has ${found.length} entries after ${expected.length} changes.`]),
      ]
    })
    const stored = results.flatMap((result) => Object.values(result.stored).flat()).length
    const summary = `${stored} changes stored, ${results.reduce((sum, { aborted }) => sum + aborted, 0)} aborted`
    const unexpected = results.flatMap((result) => result.unexpected)
    return { figure: stored, failures: [...unexpected, ...failures].slice(0, MAX_FAILURES), summary }
  } finally {
    await vault.close()
  }
}
