/** Trial: mixed operations for a long time in one process. What the heap holds after a collection stays the same. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { randomFor } from '../random/seeded-random.ts'
import type { LedgerLine } from './ledger.ts'
import { ledgerEntries } from './ledger.ts'
import type { TrialReport } from './report.ts'
import { openTrialVault, type TrialVault, trialCaller } from './trial-vault.ts'
import { write } from './writer.ts'

/** Where the trial runs, and how long. */
export interface SteadyMemoryTrial {
  /** An empty storage on disk. The trial closes it. */
  readonly storage: StorageHandle
  readonly seed: string
  readonly milliseconds: number
  /** Called with every answer of a read; a negative control keeps them. */
  keep?(answer: unknown): void
}

const WRITERS = 4
/** Writers begin anew so often, because each of them knows its accounts. */
const ROUNDS = 12
/** Growth of the heap that is not yet a leak: compiled code, caches with a bound, statements. */
const ALLOWED_BYTES = 12 * 2 ** 20

/** Runs the trial. Its figure is the number of requests. */
export async function runSteadyMemoryTrial({ storage, seed, milliseconds, keep }: SteadyMemoryTrial): Promise<TrialReport> {
  const vault = await openTrialVault(storage)
  const collect = collector()
  const heaps: number[] = []
  const failures: string[] = []
  let requests = 0
  for (let round = 0; round < ROUNDS; round++) {
    const until = performance.now() + milliseconds / ROUNDS
    const isOver = (): boolean => performance.now() >= until
    const counts = await Promise.all([
      ...Array.from({ length: WRITERS }, (_, index) => writeSome(vault, { seed, name: `${round}.${index}`, isOver }, failures)),
      readSome(vault, isOver, keep),
    ])
    requests += counts.reduce((sum, count) => sum + count, 0)
    heaps.push(collect())
  }
  await vault.close()
  // The first third warms caches up.
  const [settled, last] = [median(heaps.slice(ROUNDS / 3, (2 * ROUNDS) / 3)), median(heaps.slice((2 * ROUNDS) / 3))]
  const growth = last - settled
  if (growth > ALLOWED_BYTES) failures.push(`The heap grew by ${mebibytes(growth)} MiB: ${heaps.map(mebibytes).join(', ')}.`)
  return { figure: requests, failures, summary: `heap ${mebibytes(settled)} MiB, then ${mebibytes(last)} MiB` }
}

/** How one writer of a round works. */
interface Round {
  readonly seed: string
  readonly name: string
  isOver(): boolean
}

async function writeSome(vault: TrialVault, { seed, name, isOver }: Round, failures: string[]): Promise<number> {
  const lines: string[] = []
  const ledger = { write: (line: LedgerLine) => void lines.push(JSON.stringify(line)) }
  await write(vault, { name, random: randomFor(`${seed} ${name}`), ledger, isOver })
  const entries = ledgerEntries(lines)
  const failed = entries.filter(({ end }) => end?.step === 'failed')
  failures.push(...failed.slice(0, 1).map(({ attempt }) => `${attempt.request} (${attempt.kind}) failed`))
  return entries.length
}

async function readSome(
  vault: TrialVault,
  isOver: () => boolean,
  keep: ((answer: unknown) => void) | undefined,
): Promise<number> {
  const session = vault.as(trialCaller('reader'))
  let count = 0
  for (; !isOver(); count++) {
    const answers: unknown[] = [await session.get('accounts', { limit: 100 })]
    answers.push(await session.query("SELECT COUNT(*) FROM accounts WHERE note LIKE '%7%'"))
    if (count % 20 === 0) answers.push(await session.listEvents({ filterOps: { accountID: 'trial' } }))
    keep?.(answers)
  }
  return count
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
