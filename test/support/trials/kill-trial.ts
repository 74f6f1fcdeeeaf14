/** Trial: several writing processes are killed again and again, and on PostgreSQL the server with them. Nothing acknowledged may be lost. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { builtProcess } from '../cli/built-command.ts'
import { randomFor, type SeededRandom } from '../random/seeded-random.ts'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { type LedgerEntry, readLedger } from './ledger.ts'
import { MAX_FAILURES, type TrialReport } from './report.ts'
import { checkWhole, compareRound, nothingKnown } from './store-check.ts'
import { openTrialVault } from './trial-vault.ts'
import type { WriterProcess } from './writer-process.ts'

/** Where the trial runs, and how long. */
export interface KillTrial {
  readonly address: StorageAddress
  /** A folder for the ledgers. */
  readonly directory: string
  readonly seed: string
  /** Ends after this many kills. */
  readonly kills: number
  /** Crashes the server; called in every second round from the first on, between two kills. */
  crashServer?(): Promise<void>
  /** Breaks the promise on purpose, for the negative control. */
  readonly acknowledgeEarly?: boolean
  /** Ends after the round with so many failures. Default: 20. */
  readonly maxFailures?: number
}

const PROCESSES = 2
const WRITERS = 4
/** Acknowledged requests of each process before it is killed. */
const WARM = 3
/** All of the store is compared in every so many rounds, and at the end. */
const WHOLE_EVERY = 10

/** Runs the trial. */
export async function runKillTrial(trial: KillTrial): Promise<TrialReport> {
  const random = randomFor(trial.seed)
  const { maxFailures = MAX_FAILURES } = trial
  const known = nothingKnown()
  const failures: string[] = []
  let kills = 0
  for (let round = 0; kills < trial.kills && failures.length < maxFailures; round++) {
    const entries = await runRound(trial, round, random)
    kills += PROCESSES
    const isLast = kills >= trial.kills
    const storage = openStorage(trial.address)
    try {
      const vault = await openTrialVault(storage)
      const found = await compareRound(vault, entries, known)
      if (isLast || round % WHOLE_EVERY === WHOLE_EVERY - 1) found.push(...(await checkWhole(vault, known)))
      failures.push(...found.map((finding) => `round ${round}: ${finding}`))
    } finally {
      await storage.close()
    }
  }
  const { acknowledged, inDoubt, accounts } = known
  const summary = `${acknowledged} acknowledged, ${inDoubt} in doubt, ${accounts.size} accounts at the end`
  return { figure: kills, failures, summary }
}

/** Starts writers, kills them at random moments, and returns what their ledgers say. */
async function runRound(trial: KillTrial, round: number, random: SeededRandom): Promise<LedgerEntry[]> {
  const { address, directory, seed, acknowledgeEarly = false } = trial
  const ledgers = Array.from({ length: PROCESSES }, (_, index) => join(directory, `${round}-${index}.ledger`))
  const children = ledgers.map((ledger, index) => {
    const name = `${round}.${index}`
    const options: WriterProcess = { address, ledger, name, seed, writers: WRITERS, acknowledgeEarly }
    const script = builtProcess(join(import.meta.dirname, 'writer-process.ts'))
    const child = spawn(process.execPath, [script, JSON.stringify(options)], { stdio: ['ignore', 'ignore', 'inherit'] })
    return { child, gone: once(child, 'exit'), ledger }
  })
  for (const { child, ledger } of children) {
    while (child.exitCode === null && acknowledgedIn(ledger) < WARM) await pause(10)
  }
  const crashed = round % 2 === 0 ? trial.crashServer?.() : undefined
  for (const { child } of children) {
    await pause(random() * 100)
    child.kill('SIGKILL')
  }
  await Promise.all(children.map(({ gone }) => gone))
  await crashed
  const entries = ledgers.flatMap(readLedger)
  for (const ledger of ledgers) rmSync(ledger, { force: true })
  return entries
}

function acknowledgedIn(ledger: string): number {
  return readLedger(ledger).filter(({ end }) => end?.step === 'acknowledged').length
}
