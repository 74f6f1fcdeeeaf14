/** Trial: connections to PostgreSQL are cut at random bytes while writers work. Nothing acknowledged is lost, nothing is stored twice, and work goes on. */
import { type Fate, type Rule, startFaultyProxy } from '../postgres/faulty-proxy.ts'
import { randomFor, type SeededRandom } from '../random/seeded-random.ts'
import { openStorage } from '../storages/open-storage.ts'
import { type LedgerLine, ledgerEntries } from './ledger.ts'
import { MAX_FAILURES, type TrialReport } from './report.ts'
import { checkWhole, compareRound, nothingKnown } from './store-check.ts'
import { openTrialVault } from './trial-vault.ts'
import { write } from './writer.ts'

/** Where the trial runs, and how long. */
export interface ConnectionCutsTrial {
  /** The address of an empty database. */
  readonly url: string
  readonly seed: string
  /** Ends after so many cuts. */
  readonly cuts: number
  /** Breaks the promise on purpose, for the negative control. */
  readonly acknowledgeEarly?: boolean
}

const WRITERS = 4
/** Requests of each writer in a round. */
const REQUESTS = 20
/** Packets of one round are cut with this chance each. */
const CUT_CHANCE = 0.02
/** Requests after the cuts. The first ones can meet connections that are gone and not yet noticed; the last one must succeed. */
const AFTERWARDS = 8
/** Time after which the server notices that a client is gone, in milliseconds. Until then it holds the locks of its transaction. */
const SERVER_NOTICES_MS = 100

const FATES: readonly Fate[] = ['pass, then cut', 'reset', { insteadThenCut: Buffer.alloc(0) }]

/** Runs the trial. */
export async function runConnectionCutsTrial(trial: ConnectionCutsTrial): Promise<TrialReport> {
  const random = randomFor(trial.seed)
  const proxy = await startFaultyProxy(trial.url)
  const vault = await openTrialVault(openStorage({ engine: 'postgres', url: proxy.url }))
  const checker = await openTrialVault(openStorage({ engine: 'postgres', url: trial.url }))
  const known = nothingKnown()
  const failures: string[] = []
  const cutter = createCutter(random)
  try {
    for (let round = 0; cutter.cuts() < trial.cuts && failures.length < MAX_FAILURES; round++) {
      const lines: string[] = []
      const ledger = { write: (line: LedgerLine) => void lines.push(JSON.stringify(line)) }
      const send = (index: number, requests: number): Promise<void> => {
        let sent = 0
        const name = `${round}.${index}`
        const { acknowledgeEarly = false } = trial
        return write(vault, { name, random: random.fork(name), ledger, acknowledgeEarly, isOver: () => sent++ >= requests })
      }
      proxy.intercept({ fromClient: cutter.rule, fromServer: cutter.rule })
      const noticing = setInterval(() => proxy.dropLost(), SERVER_NOTICES_MS)
      await Promise.all(Array.from({ length: WRITERS }, (_, index) => send(index, REQUESTS)))
      clearInterval(noticing)
      proxy.mend()
      proxy.dropLost()
      await send(WRITERS, AFTERWARDS)
      const entries = ledgerEntries(lines)
      const found = await compareRound(checker, entries, known)
      const last = entries.filter(({ attempt }) => attempt.writer === `${round}.${WRITERS}`).at(-1)
      if (last?.end?.step !== 'acknowledged') found.push('No request succeeds after the connections were mended.')
      failures.push(...found.map((finding) => `round ${round}: ${finding}`))
    }
    failures.push(...(await checkWhole(checker, known)))
  } finally {
    await vault.close()
    await checker.close()
    await proxy.stop()
  }
  return { figure: cutter.cuts(), failures, summary: `${known.acknowledged} acknowledged, ${known.inDoubt} in doubt` }
}

function createCutter(random: SeededRandom): { readonly rule: Rule; cuts(): number } {
  let cuts = 0
  return {
    rule() {
      if (!random.chance(CUT_CHANCE)) return 'pass'
      cuts++
      return random.pick(FATES)
    },
    cuts: () => cuts,
  }
}
