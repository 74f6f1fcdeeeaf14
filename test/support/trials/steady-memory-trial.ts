/** Trial: mixed operations for a long time in one process. What the heap holds after a collection stays the same. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { SeededRandom } from '../random/seeded-random.ts'
import { type LedgerLine, ledgerEntries } from './ledger.ts'
import type { TrialReport } from './report.ts'
import { type TrialVault, trialCaller } from './trial-vault.ts'
import { write } from './writer.ts'

/** The vault that works, and what its reader does with answers: a negative control keeps something. */
export interface SteadyMemoryTrial {
  readonly vault: TrialVault
  keep?(answers: unknown): void
}

const WRITERS = 4
/** Samples of the heap before the first comparison: caches fill up. */
const WARM_UP = 2
/** Samples of which the median is taken. */
const WINDOW = 3
/** Growth of the heap that is not yet a leak: compiled code, caches with a bound, statements. */
const ALLOWED_BYTES = 12 * 2 ** 20

/** Returns a function that works for some milliseconds and compares the heap with that of its first calls. Its figure is in whole seconds. */
export function steadyMemoryTrial({ vault, keep }: SteadyMemoryTrial) {
  const collect = collector()
  const heaps: number[] = []
  return async (random: SeededRandom, milliseconds: number): Promise<TrialReport> => {
    const until = performance.now() + milliseconds
    const isOver = (): boolean => performance.now() >= until
    const name = String(heaps.length)
    const failures: string[] = []
    const writers = Array.from({ length: WRITERS }, async (_, index) => {
      failures.push(...(await writeSome(vault, { name: `${name}.${index}`, random: random.fork(String(index)), isOver })))
    })
    await Promise.all([...writers, readSome(vault, isOver, keep)])
    heaps.push(collect())
    const growth = median(heaps.slice(-WINDOW)) - median(heaps.slice(WARM_UP, WARM_UP + WINDOW))
    const summary = `heap in MiB: ${heaps.map(mebibytes).join(', ')}`
    if (heaps.length > WARM_UP + WINDOW && growth > ALLOWED_BYTES) failures.push(`The heap grew by ${mebibytes(growth)} MiB.`)
    return { figure: Math.floor(milliseconds / 1000), failures, summary }
  }
}

/** How one writer works. Each begins without accounts, so that its own memory does not grow. */
interface Share {
  readonly name: string
  readonly random: SeededRandom
  isOver(): boolean
}

async function writeSome(vault: TrialVault, { name, random, isOver }: Share): Promise<string[]> {
  const lines: string[] = []
  const ledger = { write: (line: LedgerLine) => void lines.push(JSON.stringify(line)) }
  await write(vault, { name, random, ledger, isOver })
  const failed = ledgerEntries(lines).filter(({ end }) => end?.step === 'failed')
  return failed.map(({ attempt }) => `${attempt.request} (${attempt.kind}) failed`)
}

async function readSome(vault: TrialVault, isOver: () => boolean, keep: ((answers: unknown) => void) | undefined): Promise<void> {
  const session = vault.as(trialCaller('reader'))
  while (!isOver()) {
    const page = await session.get('accounts', { limit: 100 })
    const counted = await session.query("SELECT COUNT(*) FROM accounts WHERE note LIKE '%7%'")
    const events = await session.listEvents({ filterOps: { accountID: 'trial' } })
    keep?.([page, counted, events])
  }
}

/** Returns a function that collects garbage and returns how many bytes the heap and its buffers hold. */
function collector(): () => number {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  return () => {
    collect()
    collect()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((left, right) => left - right)[Math.floor(numbers.length / 2)] ?? 0
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1)
}
