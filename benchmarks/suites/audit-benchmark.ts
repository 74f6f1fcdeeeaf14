/** Benchmark: the cost of auditing, against the same vault with audit off, and the speed of verifying and listing the trail. */
import { memoryStorage } from '../../src/adapters/memory/index.ts'
import { postgresStorage } from '../../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { at } from '../../src/core/util/at.ts'
import { dropSchema } from '../baselines/postgres-plaintext.ts'
import { openSqliteEventLog, type SqliteEventLog } from '../baselines/sqlite-event-log.ts'
import {
  fill,
  fillAndCollect,
  openPostgresVault,
  openSqliteVault,
  openVaultPair,
  type PeopleVault,
  type VaultPair,
} from '../fixtures/people-vaults.ts'
import { assertSame, randomPositions } from '../measuring/check-reads.ts'
import { measurePair, type Variant } from '../measuring/harness.ts'
import { type FilledPair, measureInserts } from '../measuring/measure-inserts.ts'
import { sequentialCalls } from '../measuring/sequential-calls.ts'
import type { Entry, StorageName } from '../report/result-shape.ts'
import type { Benchmark, RunConfig } from '../runner/run-config.ts'

/** Minimum rate of audited inserts divided by the rate without audit: auditing takes at most a fifth of the throughput. */
const INSERT_TARGET = 0.8
/** Maximum reads of one record in one timed run. With audit on, each waits for the disk. */
const MAX_READS = 100

const UNAUDITED = 'the same, audit off'

export const auditBenchmark: Benchmark = {
  names: ['audit'],
  storages: {
    sqlite: measureOnSqlite,
    postgres: measureOnPostgres,
    memory: async (config) => [await measureGet(config, 'memory', await openVaultPair(memoryStorage()))],
  },
}

async function measureOnSqlite(config: RunConfig): Promise<Entry[]> {
  const { environments } = config
  const open = (audit: 'on' | 'off') => openSqliteVault(environments.sqliteFile(), { audit })
  return [
    ...(await measureInsert(config, 'sqlite', open)),
    await measureGet(config, 'sqlite', await openVaultPair(sqliteStorage({ filename: environments.sqliteFile() }))),
    ...(await measureTrail(config)),
  ]
}

async function measureOnPostgres(config: RunConfig): Promise<Entry[]> {
  const { environments } = config
  const pool = await environments.postgresPool()
  const open = (audit: 'on' | 'off') => openPostgresVault(pool, environments.postgresName(), { audit })
  const inserted = await measureInsert(config, 'postgres', open)
  const schema = environments.postgresName()
  const read = await measureGet(config, 'postgres', await openVaultPair(postgresStorage({ pool, schema })))
  await dropSchema(pool, schema)
  return [...inserted, read]
}

/** Two vaults with the same number of rows: one audited, one not. */
function measureInsert(
  { people, scale }: RunConfig,
  storage: StorageName,
  open: (audit: 'on' | 'off') => Promise<PeopleVault>,
): Promise<Entry[]> {
  const fillPair = async (rows: number): Promise<FilledPair> => {
    const [audited, unaudited] = [await open('on'), await open('off')]
    await fill(rows, people.next, audited.insert)
    await fill(rows, people.next, unaudited.insert)
    return { ours: { name: 'strongroom', ...audited }, baseline: { name: UNAUDITED, ...unaudited } }
  }
  // The two rates are close. Many short rounds spread the variation of the disk over both sides.
  const { warmups, rounds } = scale.timing
  const timing = { warmups: warmups * scale.batches, rounds: rounds * scale.batches }
  const subject = { benchmark: 'insert 1,000, audited', storage, target: INSERT_TARGET }
  return measureInserts({ subject, timing, sizes: [scale.rows], batches: 1, next: people.next, fillPair })
}

async function measureGet(config: RunConfig, storage: StorageName, { audited, unaudited, close }: VaultPair): Promise<Entry> {
  const { people, scale } = config
  const ids = (await fillAndCollect(scale.rows, people.next, audited.insert)).map(({ id }) => id)
  const max = storage === 'memory' ? Number.POSITIVE_INFINITY : MAX_READS
  const reading = (name: string, vault: PeopleVault): Variant =>
    sequentialCalls({
      name,
      prepareItems: () =>
        randomPositions(config, ids.length, 1)
          .slice(0, max)
          .map((positions) => at(ids, at(positions, 0))),
      call: vault.getOne,
    })
  const subject = { benchmark: 'get 1, audited or not', storage, rows: scale.rows }
  const pair = { ours: reading('strongroom', audited), baseline: reading(UNAUDITED, unaudited) }
  const entry = await measurePair(subject, pair, scale.timing)
  await close()
  return entry
}

/** Events recorded concurrently: the maximum that shares one commit. */
const CONCURRENT_EVENTS = 256
/** Events per page. */
const PAGE = 25
/** Pages listed in one timed run. */
const PAGES = 20

/** Fills a trail with one read event per row, then verifies the whole trail and lists its newest events. */
async function measureTrail(config: RunConfig): Promise<Entry[]> {
  const { environments, people, scale } = config
  const { audited, unaudited, close } = await openVaultPair(sqliteStorage({ filename: environments.sqliteFile() }))
  const { id } = at(await audited.insert(people.next(1)), 0)
  const log = openSqliteEventLog(environments.sqliteFile())
  const rounds = Math.ceil(scale.rows / CONCURRENT_EVENTS)
  await recordReads(audited, id, rounds)
  // The log stores what a listing returns, as an application's own log would.
  const { events } = await audited.newestEvents(PAGE)
  const logged = Array.from({ length: CONCURRENT_EVENTS }, (_, index) => events[index % events.length])
  for (let round = 0; round < rounds; round++) log.append(logged)
  const entries = [
    await measureVerify(config, audited, log),
    await measureList(config, unaudited, log),
    await measureListGrowth(config, unaudited, rounds),
  ]
  await close()
  log.close()
  return entries
}

/** Records one event per read, as many at once as share a commit. */
async function recordReads(vault: PeopleVault, id: string, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await Promise.all(Array.from({ length: CONCURRENT_EVENTS }, () => vault.getOne(id)))
  }
}

/** Minimum rate of listing a trail, divided by the rate of listing one that is ten times shorter: listing must not depend on the length. */
const LIST_GROWTH_TARGET = 0.6

/** Lists the newest events of the long trail, and of one with a tenth of its events. */
async function measureListGrowth(config: RunConfig, long: PeopleVault, rounds: number): Promise<Entry> {
  const { environments, people, scale } = config
  const short = await openVaultPair(sqliteStorage({ filename: environments.sqliteFile() }))
  const { id } = at(await short.audited.insert(people.next(1)), 0)
  await recordReads(short.audited, id, Math.ceil(rounds / 10))
  const pair = {
    ours: listing('strongroom', long.newestEvents),
    baseline: listing('the same, a tenth of the events', short.unaudited.newestEvents),
  }
  const subject = { benchmark: `list the newest ${PAGE} events, growth`, storage: 'sqlite', rows: scale.rows } as const
  const entry = await measurePair({ ...subject, target: LIST_GROWTH_TARGET }, pair, scale.slowTiming)
  await short.close()
  return entry
}

function listing(name: string, list: (limit: number) => unknown): Variant {
  return sequentialCalls({
    name,
    prepareItems: () => Array.from({ length: PAGES }, () => PAGE),
    call: list,
    operationsPerCall: PAGE,
  })
}

function measureVerify({ scale }: RunConfig, vault: PeopleVault, log: SqliteEventLog): Promise<Entry> {
  const ours = {
    name: 'strongroom',
    async run() {
      const { ok, eventCount } = await vault.verifyAudit()
      if (!ok) throw new Error('The audit trail failed verification.')
      return eventCount
    },
  }
  const baseline = { name: 'plaintext log, chained by SHA-256', run: () => log.verify() }
  return measurePair({ benchmark: 'verify audit', storage: 'sqlite', rows: scale.rows }, { ours, baseline }, scale.slowTiming)
}

async function measureList({ scale }: RunConfig, vault: PeopleVault, log: SqliteEventLog): Promise<Entry> {
  assertSame((await vault.newestEvents(PAGE)).events.length, log.newest(PAGE).length)
  const pair = { ours: listing('strongroom', vault.newestEvents), baseline: listing('plaintext log, newest rows', log.newest) }
  const benchmark = `list the newest ${PAGE} events, audit off`
  return measurePair({ benchmark, storage: 'sqlite', rows: scale.rows }, pair, scale.slowTiming)
}
