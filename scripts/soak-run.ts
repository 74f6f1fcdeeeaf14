/** Runs one law in a process of its own, so that a crash or a hang ends this law alone. */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import type { Law } from '../test/laws/law.ts'
import { type LawResult, reproduction } from '../test/laws/run-law.ts'

/** What the process of a law is given. It survives JSON. */
export interface ProcessInput {
  readonly law: string
  readonly seed: string
  /** Time, in milliseconds since 1970, after which no case begins. */
  readonly deadline: number
  readonly postgresUrl: string
  readonly maxFailures: number
  /** The number of the only case to run. */
  readonly onlyCase?: number
}

/** What the process of a law sends. */
export type ProcessMessage =
  | { readonly kind: 'progress'; readonly figure: number }
  | { readonly kind: 'result'; readonly result: LawResult }

/** The result of one law in a soak. */
export interface SoakRow {
  readonly law: Law
  readonly seed: string
  readonly figure: number
  readonly seconds: number
  /** Its share of the soak's time, in seconds. */
  readonly share: number
  readonly failures: readonly { readonly text: string; readonly again: string }[]
  /** What the cases met, where the law says it. */
  readonly met?: string | undefined
}

/** Time after the deadline in which the last case has to end. */
const GRACE_MS = 300_000
/** Characters of the error output that a failure shows. */
const SHOWN = 4000

/** Runs the law until its figure or the deadline. A process that crashes or does not end is a failure. */
export function runInProcess(law: Law, input: Omit<ProcessInput, 'law'>): Promise<SoakRow> {
  const begun = Date.now()
  const own: ProcessInput = { ...input, law: law.name }
  const child = fork(join(import.meta.dirname, 'soak-law.ts'), [JSON.stringify(own)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    execArgv: [],
  })
  let figure = 0
  let result: LawResult | undefined
  let complaint = ''
  child.on('message', (message) => {
    const sent = message as ProcessMessage // The process sends nothing else.
    if (sent.kind === 'progress') figure = sent.figure
    else result = sent.result
  })
  child.stderr?.on('data', (chunk) => {
    complaint = `${complaint}${chunk}`.slice(-SHOWN)
  })
  let isLate = false
  const late = setTimeout(
    () => {
      isLate = true
      child.kill('SIGKILL')
    },
    Math.max(0, input.deadline - begun) + GRACE_MS,
  )
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      clearTimeout(late)
      const seconds = Math.round((Date.now() - begun) / 1000)
      const row = {
        law,
        seed: input.seed,
        seconds,
        share: Math.round(Math.max(0, input.deadline - begun) / 1000),
        figure: result?.figure ?? figure,
        met: result?.met,
      }
      const ending = isLate ? 'did not end in time' : `ended with ${signal ?? `code ${code}`}`
      const crash = {
        text: `The process ${ending}.\n${complaint}`,
        again: `npm run soak -- --law ${law.name} --seed ${input.seed}`,
      }
      const failures = result?.failures.map(({ number, text }) => ({ text, again: reproduction(law, input.seed, number) })) ?? []
      resolve({ ...row, failures: result === undefined || code !== 0 ? [...failures, crash] : failures })
    })
  })
}
