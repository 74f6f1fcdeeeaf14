/** Runs the cases of a law until its figure is reached, its time is over, or too many cases failed. */
import { inspect } from 'node:util'
import { randomFor } from '../support/random/seeded-random.ts'
import type { Law, LawServers } from './law.ts'

/** How a law is run. */
export interface LawRun {
  readonly servers: LawServers
  readonly seed: string
  /** What to count, at least. */
  readonly figure: number
  /** Failed cases after which the run ends. */
  readonly maxFailures: number
  /** Number of the first case; default 0. */
  readonly firstCase?: number
  /** Asked before each case. False ends the run. */
  hasTime?(): boolean
  /** Called after each case with the figure so far. */
  onProgress?(figure: number): void
}

/** The result of a run. */
export interface LawResult {
  readonly figure: number
  readonly failures: readonly LawFailure[]
  /** What the cases met, where the law says it. */
  readonly met?: string | undefined
}

/** A case in which the law does not hold. */
export interface LawFailure {
  readonly number: number
  /** The error of the case. */
  readonly text: string
}

/** Cases in a row without anything to check, after which a law counts as broken. */
const MAX_EMPTY_CASES = 1000

/** Runs cases in order. A case that throws is a failure; the next case runs all the same. */
export async function runLaw(law: Law, run: LawRun): Promise<LawResult> {
  const scene = await law.open(run.servers)
  const failures: LawFailure[] = []
  let figure = 0
  let empty = 0
  try {
    for (let number = run.firstCase ?? 0; figure < run.figure && (run.hasTime?.() ?? true); number++) {
      const seed = seedOfCase(run.seed, number)
      try {
        const counted = await scene.check({ number, seed, random: randomFor(seed) })
        figure += counted
        empty = counted > 0 ? 0 : empty + 1
        if (empty >= MAX_EMPTY_CASES) throw new Error(`${MAX_EMPTY_CASES} cases in a row had nothing to check`)
      } catch (error) {
        failures.push({ number, text: textOf(error) })
        if (failures.length >= run.maxFailures) break
      }
      run.onProgress?.(figure)
    }
  } finally {
    await scene.close?.()
  }
  return { figure, failures, met: scene.met?.() }
}

/** The seed of a case. */
export function seedOfCase(seed: string, number: number): string {
  return `${seed} ${number}`
}

/** The command that runs one case again. */
export function reproduction(law: Law, seed: string, number: number): string {
  return `npm run soak -- --law ${law.name} --seed ${seed} --case ${number}`
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return inspect(error)
  const text = error.stack ?? error.message
  return error.cause === undefined ? text : `${text}\nCause: ${textOf(error.cause)}`
}
