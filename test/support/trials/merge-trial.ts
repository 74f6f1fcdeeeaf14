/** Trial: processes that write and merge sealed indexes are killed, or their power is lost. Indexes have the keys of the records that are there, each once. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { INDEX_BLOCKS, INDEX_RUNS } from '../../../src/core/schema/system-tables.ts'
import { CLAIMED } from '../../../src/core/sealed-index/merge-runs.ts'
import { builtProcess } from '../cli/built-command.ts'
import { INDEXED_RULES, INDEXED_TABLES, insertPeople, wrongTables } from '../indexes/indexed-people.ts'
import { randomFor } from '../random/seeded-random.ts'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { type LooseVault, openLoose, START_MS } from '../vaults/open-untyped.ts'
import { readLedger } from './ledger.ts'
import { runPowerLossTrial } from './power-loss-trial.ts'
import { MAX_FAILURES, type TrialReport } from './report.ts'
import type { WriterProcess } from './writer-process.ts'

/** Where the trial runs, and how long. */
export interface MergeTrial {
  /** A folder for ledgers. */
  readonly directory: string
  readonly seed: string
}

/** What a trial of merges found. */
export interface MergeReport extends TrialReport {
  /** How many rounds of kills, or images, had blocks of no run: those that a merge which never ended wrote, or that one had still to delete. */
  readonly orphaned: number
}

const PROCESSES = 2
/** Writes of each process before it is killed. */
const WARM = 3
/** Milliseconds after which the job of a killed process is taken over. */
const LEASE_MS = 120_000
const SCRIPT = 'merging-process.ts'

/** Kills processes again and again. Its figure is the number of kills. */
export async function runMergeKills({
  directory,
  seed,
  address,
  kills: wanted,
}: MergeTrial & { readonly address: StorageAddress; readonly kills: number }): Promise<MergeReport> {
  const random = randomFor(seed)
  await onVault(address, 0, (vault) => insertPeople(vault, random))
  const failures: string[] = []
  let [kills, writes, orphaned] = [0, 0, 0]
  for (let round = 0; kills < wanted && failures.length < MAX_FAILURES; round++) {
    const aheadMs = round * LEASE_MS
    const ledgers = Array.from({ length: PROCESSES }, (_, index) => join(directory, `${round}-${index}.ledger`))
    const children = ledgers.map((ledger, index) => {
      const given: WriterProcess = {
        address,
        ledger,
        name: `${round}.${index}`,
        seed,
        writers: 1,
        acknowledgeEarly: false,
        aheadMs,
      }
      const script = builtProcess(join(import.meta.dirname, SCRIPT))
      const child = spawn(process.execPath, [script, JSON.stringify(given)], { stdio: ['ignore', 'ignore', 'inherit'] })
      return { child, gone: once(child, 'exit'), ledger }
    })
    const doneIn = (ledger: string): number => readLedger(ledger).filter(({ end }) => end !== undefined).length
    for (const { child, ledger } of children) while (child.exitCode === null && doneIn(ledger) < WARM) await pause(10)
    for (const { child } of children) {
      await pause(random() * 300)
      child.kill('SIGKILL')
      kills++
    }
    await Promise.all(children.map(({ gone }) => gone))
    writes += ledgers.reduce((sum, ledger) => sum + doneIn(ledger), 0)
    const { wrong, hasOrphans } = await onVault(address, aheadMs + LEASE_MS / 2, lookAt)
    failures.push(...wrong.map((finding) => `round ${round}: ${finding}`))
    if (hasOrphans) orphaned++
  }
  return { figure: kills, failures, orphaned, summary: `${kills} kills amid merges and ${writes} writes` }
}

/** Loses power amid merges. Its figure is the number of images. */
export async function runMergePowerLoss({
  directory,
  seed,
  images,
}: MergeTrial & { readonly images: number }): Promise<MergeReport> {
  let orphaned = 0
  const check = async (filename: string): Promise<string[]> => {
    try {
      const { wrong, hasOrphans } = await onVault({ engine: 'sqlite', filename }, LEASE_MS, lookAt)
      if (hasOrphans) orphaned++
      return wrong
    } catch (error) {
      return [`cannot be opened: ${String(error)}`]
    }
  }
  const report = await runPowerLossTrial({ directory, seed, images, synchronous: 'full', requests: 40, script: SCRIPT, check })
  return { ...report, orphaned }
}

/** Opens a vault for some work, and closes it: a job that merges would stay leased, because the clock goes by rounds. */
async function onVault<T>(address: StorageAddress, aheadMs: number, work: (vault: LooseVault) => Promise<T>): Promise<T> {
  const vault = await openLoose(openStorage(address), INDEXED_TABLES, {
    rules: INDEXED_RULES,
    clock: { ms: START_MS + aheadMs },
  })
  try {
    return await work(vault)
  } finally {
    await vault.vault.close()
  }
}

/** Returns whether merges left blocks; what indexes say that records do not, or the other way round; and after a compaction, what is left of merges that never ended. */
async function lookAt(vault: LooseVault): Promise<{ readonly wrong: string[]; readonly hasOrphans: boolean }> {
  const hasOrphans = (await partsOf(vault)).orphans > 0
  const wrong = (await wrongTables(vault)).map((name) => `the indexes of ${name} are wrong`)
  await vault.vault.compact()
  wrong.push(...(await wrongTables(vault)).map((name) => `the indexes of ${name} are wrong after a compaction`))
  const { orphans, runs, spaces } = await partsOf(vault)
  if (orphans > 0) wrong.push(`${orphans} blocks belong to no run`)
  if (spaces.has(CLAIMED)) wrong.push('a claim is left')
  if (spaces.size < runs) wrong.push('an index has more than one run')
  return { wrong, hasOrphans }
}

/** Returns what the indexes have: runs, the spaces of these, and how many blocks belong to none, or to a claim. */
async function partsOf({ storage }: LooseVault) {
  const page = { order: 'asc', limit: 100_000 } as const
  const runs = await storage.find(INDEX_RUNS.name, { kind: 'all' }, { ...page, columns: ['space'] })
  const blocks = await storage.find(INDEX_BLOCKS.name, { kind: 'all' }, { ...page, columns: ['run'] })
  const heads = new Set(runs.filter(({ space }) => Number(space) !== CLAIMED).map(({ id }) => id))
  const orphans = blocks.filter(({ run }) => !heads.has(Number(run))).length
  return { orphans, runs: runs.length, spaces: new Set(runs.map(({ space }) => Number(space))) }
}
