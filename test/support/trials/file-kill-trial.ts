/** Trial: processes that upload, replace and delete files are killed. Acknowledged files are whole, and the purge leaves nothing over. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { FILES } from '../../../src/core/schema/system-tables.ts'
import { builtProcess } from '../cli/built-command.ts'
import { blobsInDatabase, blobsInFolder } from '../files/file-places.ts'
import { type ArchiveVault, joined, openArchive } from '../files/open-archive.ts'
import { randomFor, type SeededRandom } from '../random/seeded-random.ts'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { OWNER } from '../vaults/test-vault.ts'
import { contentOf, type FileLedgerLine, readFileLedger } from './file-writer.ts'
import type { FileWriterProcess } from './file-writer-process.ts'
import { MAX_FAILURES, type TrialReport } from './report.ts'

/** Where the trial runs, and how long. */
export interface FileKillTrial {
  readonly address: StorageAddress
  /** A folder for the ledgers. */
  readonly directory: string
  /** Where the blobs are. */
  readonly store: 'folder' | 'database'
  readonly seed: string
  readonly kills: number
  readonly acknowledgeEarly?: boolean
  /** Ends after the round with so many failures. Default: 20. */
  readonly maxFailures?: number
}

const PROCESSES = 2
const WRITERS = 3
/** Acknowledged requests of each process before it is killed. */
const WARM = 3

/** What is known of a record: the states that its file may have; undefined means that there is no record. */
type Known = Map<string, ReadonlySet<string | null | undefined>>

/** Runs the trial. */
export async function runFileKillTrial(trial: FileKillTrial): Promise<TrialReport> {
  const random = randomFor(trial.seed)
  const { maxFailures = MAX_FAILURES } = trial
  const known: Known = new Map()
  const failures: string[] = []
  let kills = 0
  let acknowledged = 0
  for (let round = 0; kills < trial.kills && failures.length < maxFailures; round++) {
    const lines = await runRound(trial, round, random)
    kills += PROCESSES
    acknowledged += lines.filter(({ step }) => step === 'acknowledged').length
    const inDoubt = apply(known, lines)
    failures.push(...(await checkFiles(trial, known, inDoubt)).map((finding) => `round ${round}: ${finding}`))
  }
  return { figure: kills, failures, summary: `${acknowledged} acknowledged, ${known.size} records` }
}

/** Starts writers, kills them at random moments, and returns what their ledgers say. */
async function runRound(trial: FileKillTrial, round: number, random: SeededRandom): Promise<FileLedgerLine[]> {
  const { address, directory, seed, store, acknowledgeEarly = false } = trial
  const children = Array.from({ length: PROCESSES }, (_, index) => {
    const ledger = join(directory, `${round}-${index}.ledger`)
    const blobs = store === 'folder' ? { blobs: folderOf(directory) } : {}
    const options: FileWriterProcess = {
      address,
      ledger,
      name: `${round}.${index}`,
      seed,
      writers: WRITERS,
      acknowledgeEarly,
      ...blobs,
    }
    const script = builtProcess(join(import.meta.dirname, 'file-writer-process.ts'))
    const child = spawn(process.execPath, [script, JSON.stringify(options)], { stdio: ['ignore', 'ignore', 'inherit'] })
    return { child, gone: once(child, 'exit'), ledger }
  })
  for (const { child, ledger } of children) while (child.exitCode === null && acknowledgedIn(ledger) < WARM) await pause(10)
  for (const { child } of children) {
    await pause(random() * 60)
    child.kill('SIGKILL')
  }
  await Promise.all(children.map(({ gone }) => gone))
  const lines = children.flatMap(({ ledger }) => readFileLedger(ledger))
  for (const { ledger } of children) rmSync(ledger, { force: true })
  return lines
}

function folderOf(directory: string): string {
  return join(directory, 'blobs')
}

function acknowledgedIn(ledger: string): number {
  return readFileLedger(ledger).filter(({ step }) => step === 'acknowledged').length
}

/** Notes what requests did, and what those in doubt may have done. Returns the names of files that new records in doubt may have. */
function apply(known: Known, lines: readonly FileLedgerLine[]): Set<string> {
  const ids = new Map(lines.flatMap((line) => (line.step === 'acknowledged' ? [[line.request, line.id] as const] : [])))
  const inDoubt = new Set<string>()
  for (const line of lines) {
    if (line.step !== 'attempt') continue
    const { request, id, after, gone } = line
    const state = gone === true ? undefined : after
    const acknowledged = ids.get(request)
    if (acknowledged !== undefined) known.set(acknowledged, new Set([state]))
    else if (id !== undefined) known.set(id, new Set([...(known.get(id) ?? []), state]))
    else inDoubt.add(request)
  }
  return inDoubt
}

/** Compares every record with what is known, and then purges and counts. */
async function checkFiles(trial: FileKillTrial, known: Known, inDoubt: ReadonlySet<string>): Promise<string[]> {
  const storage = openStorage(trial.address)
  const blobs = trial.store === 'folder' ? blobsInFolder(folderOf(trial.directory)) : blobsInDatabase(storage)
  const clock = { ms: Date.now() }
  const vault = await openArchive({ storage, blobs: blobs.open(storage), clock, audit: 'off' })
  try {
    const { found, findings } = await readStored(vault, known, inDoubt)
    for (let round = 0; round < 2; round++) {
      clock.ms += 26 * 3_600_000
      await vault.sweep()
    }
    const kept = [...found.values()].filter((name) => name !== null).length
    const rows = await storage.find(FILES.name, { kind: 'all' }, { order: 'asc', limit: 1_000_000 })
    const keys = await blobs.keys()
    if (rows.length !== kept || keys.length !== kept)
      findings.push(`${rows.length} rows and ${keys.length} blobs are left of ${kept} files`)
    known.clear()
    // What was in doubt is known now.
    for (const [id, name] of found) known.set(id, new Set([name]))
    return findings
  } finally {
    await vault.close()
  }
}

/** Reads every record with its file. Returns the name of each, and what is wrong. */
async function readStored(vault: ArchiveVault, known: Known, inDoubt: ReadonlySet<string>) {
  const session = vault.as(OWNER)
  const found = new Map<string, string | null>()
  const findings: string[] = []
  for (let offset = 0; ; offset += 500) {
    const { records } = await session.get('papers', { limit: 500, offset })
    for (const { id, fields } of records) found.set(id, fields.front ?? null)
    if (records.length < 500) break
  }
  for (const [id, mayBe] of known)
    if (!mayBe.has(found.get(id))) findings.push(`a record has ${found.get(id)}, and not ${[...mayBe].join(' or ')}`)
  for (const [id, name] of found) {
    if (!known.has(id) && (name === null || !inDoubt.has(name))) findings.push(`a new record has ${name}`)
    if (name === null) continue
    const bytes = await joined((await session.openFile('papers', id, 'front')).stream)
    if (!bytes.equals(contentOf(name))) findings.push(`${name} is not whole: ${bytes.length} bytes`)
  }
  return { found, findings }
}
