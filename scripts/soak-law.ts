/** The process of one law in a soak. Started by `soak-run.ts`, which gets its progress and its result as messages. */

import { runLaw } from '../test/laws/run-law.ts'
import { readLaw } from '../test/support/laws/read-law.ts'
import type { ProcessInput, ProcessMessage } from './soak-run.ts'

/** Time between two messages of progress, in milliseconds. */
const PROGRESS_MS = 1000

const input = JSON.parse(process.argv[2] ?? '') as ProcessInput // Written by `soak-run.ts`.
const law = await readLaw(input.law)

const send = (message: ProcessMessage): void => void process.send?.(message)
let isBegun = false
let sent = 0

const result = await runLaw(law, {
  servers: { postgresUrl: input.postgresUrl },
  ...{ seed: input.seed, maxFailures: input.maxFailures, figure: law.figures.soak, firstCase: input.onlyCase ?? 0 },
  hasTime() {
    const isFirst = !isBegun
    isBegun = true
    // Every law gets at least one case, however little time there is.
    return isFirst || (input.onlyCase === undefined && Date.now() < input.deadline)
  },
  onProgress(figure) {
    if (Date.now() - sent < PROGRESS_MS) return
    sent = Date.now()
    send({ kind: 'progress', figure })
  },
})
send({ kind: 'result', result })
process.disconnect?.()
