/** Trial: calls of the storage port fail at random while writers work. What fails has changed nothing, and work goes on. */
import { VaultError } from '../../../src/core/errors.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { randomFor, type SeededRandom } from '../random/seeded-random.ts'
import { type Call, faultyStorage } from '../storages/faulty-storage.ts'
import { type LedgerLine, ledgerEntries } from './ledger.ts'
import { MAX_FAILURES, type TrialReport } from './report.ts'
import { checkWhole, compareRound, nothingKnown } from './store-check.ts'
import { openTrialVault } from './trial-vault.ts'
import { write } from './writer.ts'

/** Where the trial runs, and how long. */
export interface FailingCallsTrial {
  /** An empty storage. The trial closes it. */
  readonly storage: StorageHandle
  readonly seed: string
  /** Ends after so many failed calls. */
  readonly faults: number
}

const WRITERS = 4
/** Requests of each writer in a round. */
const REQUESTS = 25
const FAULT_CHANCE = 0.04
const WHOLE_EVERY = 10

/** The errors that an adapter throws before it has changed anything. */
const ERRORS = [
  () => new VaultError('unavailable', 'The storage cannot be reached.'),
  () => new VaultError('aborted', 'The call lost to concurrent writers.'),
  () => new VaultError('storage_full', 'The disk is full.'),
] as const

/** Runs the trial. */
export async function runFailingCallsTrial({ storage, seed, faults }: FailingCallsTrial): Promise<TrialReport> {
  const random = randomFor(seed)
  const faulty = faultyStorage(storage)
  const vault = await openTrialVault(faulty.storage)
  const known = nothingKnown()
  const failures: string[] = []
  let failed = 0
  for (let round = 0; failed < faults && failures.length < MAX_FAILURES; round++) {
    faulty.fail((call) => {
      const error = errorOf(call, random)
      if (error !== undefined) failed++
      return error
    })
    const lines: string[] = []
    const ledger = { write: (line: LedgerLine) => void lines.push(JSON.stringify(line)) }
    const writers = Array.from({ length: WRITERS }, (_, index) => {
      let sent = 0
      const name = `${round}.${index}`
      return write(vault, { name, random: random.fork(name), ledger, isOver: () => sent++ >= REQUESTS })
    })
    await Promise.all(writers)
    faulty.mend()
    const found = await compareRound(vault, ledgerEntries(lines), known)
    if (failed >= faults || round % WHOLE_EVERY === WHOLE_EVERY - 1) found.push(...(await checkWhole(vault, known)))
    failures.push(...found.map((finding) => `round ${round}: ${finding}`))
  }
  await vault.close()
  return { figure: failed, failures, summary: `${known.acknowledged} acknowledged, ${known.inDoubt} in doubt` }
}

function errorOf({ method }: Call, random: SeededRandom): Error | undefined {
  if (!random.chance(FAULT_CHANCE)) return undefined
  if (method === 'committed') return new VaultError('outcome_unknown', 'The connection was lost during COMMIT.')
  return random.pick(ERRORS)()
}
