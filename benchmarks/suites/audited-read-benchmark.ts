/** Benchmark: what an audited read of one record costs beside the read and the commit themselves: CPU of the vault, and pages of the log. */
import { statSync } from 'node:fs'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { at } from '../../src/core/util/lists.ts'
import { readPageSize } from '../baselines/open-sqlite.ts'
import { openSqlitePlaintext } from '../baselines/sqlite-plaintext.ts'
import type { Person } from '../fixtures/people.ts'
import { openVaultPair, type PeopleVault, type StoredPerson } from '../fixtures/people-vaults.ts'
import { compareWithLimit } from '../measuring/compare.ts'
import { measure } from '../measuring/harness.ts'
import { median } from '../measuring/median.ts'
import { sequentialCalls } from '../measuring/sequential-calls.ts'
import type { Entry } from '../report/result-shape.ts'
import type { Benchmark, RunConfig } from '../runner/run-config.ts'

/** Microseconds of CPU above those of the driver reading one row and committing one. */
const MAX_OWN_CPU = 15
/** Pages in the write-ahead log. */
const MAX_PAGES = 3
/** Rows in the table: few enough that no checkpoint starts the log again. */
const ROWS = 1000
/** Maximum reads in one timed run. */
const MAX_READS = 1000

export const auditedReadBenchmark: Benchmark = {
  names: ['audited-read'],
  storages: { sqlite: measureOnSqlite },
  quick: { sqlite: measureOnSqlite },
}

/** The files are in memory: a process that waits for the disk finds the caches of the processor full of other work, and so counts their CPU. */
async function measureOnSqlite(config: RunConfig): Promise<Entry[]> {
  const filename = config.environments.memoryFile()
  const { audited, close } = await openVaultPair(sqliteStorage({ filename }))
  const stored = await audited.insert(config.people.next(ROWS))
  const entries = [await measurePages(config, filename, { audited, stored }), await measureOwnCpu(config, { audited, stored })]
  await close()
  return entries
}

interface FilledVault {
  readonly audited: PeopleVault
  readonly stored: readonly StoredPerson[]
}

/** Returns the CPU of audited reads minus that of the driver's reads and commits: the median of the differences within each round. */
async function measureOwnCpu(config: RunConfig, { audited, stored }: FilledVault): Promise<Entry> {
  const { environments, people, scale } = config
  const driver = openSqlitePlaintext(environments.memoryFile())
  driver.insert(people.next(ROWS))
  const ours = sequentialCalls({ name: 'strongroom', prepareItems: () => drawIds(config, stored), call: audited.getOne })
  const baseline = sequentialCalls({
    name: 'the driver, a point read and a commit',
    prepareItems: () => people.next(readsOf(config)).map(({ fields }) => ({ id: 1 + people.below(ROWS), person: fields })),
    call({ id, person }: { readonly id: number; readonly person: Person }) {
      driver.get([id])
      driver.insertOne(person)
    },
  })
  const measured = await measure([ours, baseline], scale.callTiming)
  driver.close()
  const [whole, least] = [at(measured, 0).cpu, at(measured, 1).cpu]
  const own = median(whole.map((microseconds, round) => microseconds - at(least, round)))
  return compareWithLimit(
    { benchmark: 'CPU around an audited read', storage: 'sqlite', rows: ROWS },
    {
      ...{ figure: Math.max(MIN_FIGURE, own), limit: MAX_OWN_CPU, unit: 'us', isReported: true },
      note: `; ${median(whole).toFixed(0)} in all, the driver's ${median(least).toFixed(0)}`,
    },
  )
}

/** A figure is above zero. The difference is not, if other processes slow down the driver. */
const MIN_FIGURE = 0.1

/** Counts the pages by the length of the log, which only grows until a checkpoint. */
async function measurePages(config: RunConfig, filename: string, { audited, stored }: FilledVault): Promise<Entry> {
  const ids = drawIds(config, stored)
  const before = statSync(`${filename}-wal`).size
  for (const id of ids) await audited.getOne(id)
  const bytes = statSync(`${filename}-wal`).size - before
  const pages = bytes / (FRAME_HEADER_BYTES + readPageSize(filename)) / ids.length
  const subject = { benchmark: 'pages logged by an audited read', storage: 'sqlite', rows: ROWS } as const
  return compareWithLimit(subject, { figure: pages, limit: MAX_PAGES, unit: 'pages' })
}

/** Bytes before each page in the log. */
const FRAME_HEADER_BYTES = 24

function readsOf({ scale }: RunConfig): number {
  return Math.min(MAX_READS, scale.reads)
}

function drawIds(config: RunConfig, stored: readonly StoredPerson[]): string[] {
  return Array.from({ length: readsOf(config) }, () => at(stored, config.people.below(stored.length)).id)
}
