/** Verifying a trail and listing its newest events, against a plaintext log of JSON that is chained by SHA-256. */
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { at } from '../../src/core/util/lists.ts'
import { openSqliteEventLog, type SqliteEventLog } from '../baselines/sqlite-event-log.ts'
import type { PeopleVault } from '../fixtures/people-vaults.ts'
import { CONCURRENT_EVENTS, fillFatTrail, fillTrail, type Trail } from '../fixtures/trails.ts'
import { assertSame } from '../measuring/check-reads.ts'
import { compareWithRate } from '../measuring/compare.ts'
import { measure, measurePair, probed, type Variant } from '../measuring/harness.ts'
import { sequentialCalls } from '../measuring/sequential-calls.ts'
import type { Entry } from '../report/result-shape.ts'
import type { RunConfig } from '../runner/run-config.ts'

/** Minimum rate of verifying, divided by the rate of reading the log and checking its digests. */
const VERIFY_TARGET = 0.35
/** Minimum lists of the newest events in a second. */
const LISTS_PER_SECOND = 2000
/** Minimum rate of listing the longest trail, divided by the rate of listing the shortest. */
const GROWTH_TARGET = 0.8

/** Events per page. */
const PAGE = 25
/** Pages listed in one timed run. */
const PAGES = 20

/** Returns the entries of trails at every size, and of a trail of fat events. */
export async function measureTrail(config: RunConfig): Promise<Entry[]> {
  return withTrails(config, async (trails, log) => [
    ...(await measureEach(config, trails, log)),
    await measureList(config, at(trails, 0), log),
    ...(await measureListGrowth(config, trails)),
    ...(await measureFat(config)),
  ])
}

/** Returns the entries with targets. */
export async function measureQuickTrail(config: RunConfig): Promise<Entry[]> {
  return withTrails(config, async (trails, log) => [...(await measureEach(config, trails, log)), ...(await measureFat(config))])
}

/** Fills a trail of each size, and the log as the smallest of them. */
async function withTrails(
  config: RunConfig,
  work: (trails: readonly Trail[], log: SqliteEventLog) => Promise<Entry[]>,
): Promise<Entry[]> {
  const { environments, scale } = config
  const trails: Trail[] = []
  for (const events of scale.events) {
    trails.push(await fillTrail(config, sqliteStorage({ filename: environments.sqliteFile() }), events))
  }
  const { audited, events: count } = at(trails, 0)
  const log = await fillLog(config, audited, count)
  const entries = await work(trails, log)
  for (const { close } of trails) await close()
  log.close()
  return entries
}

/** The log stores what a listing returns, as an application's own log would. */
async function fillLog({ environments }: RunConfig, vault: PeopleVault, count: number): Promise<SqliteEventLog> {
  const log = openSqliteEventLog(environments.sqliteFile())
  const { events } = await vault.newestEvents(PAGE)
  for (let logged = 0; logged < count; logged += CONCURRENT_EVENTS) {
    log.append(
      Array.from({ length: Math.min(CONCURRENT_EVENTS, count - logged) }, (_, index) => at(events, index % events.length)),
    )
  }
  return log
}

/** Verifies the smallest trail, and lists the newest events of each. */
async function measureEach({ scale }: RunConfig, trails: readonly Trail[], log: SqliteEventLog): Promise<Entry[]> {
  const { audited, events } = at(trails, 0)
  const subject = { storage: 'sqlite', rows: events } as const
  const baseline = { name: 'plaintext log, chained by SHA-256', run: () => log.verify() }
  const verified = await measurePair(
    { ...subject, benchmark: 'verify audit', target: VERIFY_TARGET },
    { ours: verifying(audited), baseline },
    scale.slowTiming,
  )
  const lists = trails.map(({ unaudited }) => listing('strongroom', unaudited, 1))
  const measured = await measure(lists, scale.timing)
  const listed: Entry[] = []
  for (const [index, { events: rows }] of trails.entries()) {
    const rates = await probed(at(lists, index), at(measured, index))
    const benchmark = `list the newest ${PAGE} events, lists per second`
    listed.push(compareWithRate({ benchmark, storage: 'sqlite', rows }, rates, LISTS_PER_SECOND))
  }
  return [verified, ...listed]
}

/** Lists events of the log too, which are not opened. */
async function measureList({ scale }: RunConfig, { unaudited, events }: Trail, log: SqliteEventLog): Promise<Entry> {
  assertSame((await unaudited.newestEvents(PAGE)).events.length, log.newest(PAGE).length)
  const benchmark = `list the newest ${PAGE} events, audit off`
  const pair = { ours: listing('strongroom', unaudited, PAGE), baseline: loggedListing(log) }
  return measurePair({ benchmark, storage: 'sqlite', rows: events }, pair, scale.timing)
}

/** Listing must not depend on the length of the trail. Returns no entry if all trails have one length. */
async function measureListGrowth({ scale }: RunConfig, trails: readonly Trail[]): Promise<Entry[]> {
  const [short, long] = [at(trails, 0), at(trails, trails.length - 1)]
  if (short === long) return []
  const pair = {
    ours: listing('strongroom', long.unaudited, PAGE),
    baseline: listing(`itself of ${short.events.toLocaleString('en')} events`, short.unaudited, PAGE),
  }
  const subject = { benchmark: `list the newest ${PAGE} events, growth`, storage: 'sqlite', rows: long.events } as const
  return [await measurePair({ ...subject, target: GROWTH_TARGET }, pair, scale.timing)]
}

/** Verifies events that name a thousand records each, and lists them: large things must be read in slices. */
async function measureFat(config: RunConfig): Promise<Entry[]> {
  const { environments, scale } = config
  const storage = sqliteStorage({ filename: environments.sqliteFile() })
  const { audited, unaudited, close } = await fillFatTrail(config, storage, scale.fatEvents)
  const log = await fillLog(config, unaudited, scale.fatEvents)
  const subject = { storage: 'sqlite', rows: scale.fatEvents } as const
  const baseline = { name: 'plaintext log, chained by SHA-256', run: () => log.verify() }
  const verified = await measurePair(
    { ...subject, benchmark: 'verify audit, fat events' },
    { ours: verifying(audited), baseline },
    scale.slowTiming,
  )
  const listed = await measurePair(
    { ...subject, benchmark: `list the newest ${PAGE} fat events, audit off` },
    { ours: listing('strongroom', unaudited, PAGE), baseline: loggedListing(log) },
    scale.slowTiming,
  )
  await close()
  log.close()
  return [verified, listed]
}

/** One call per list. Counts `operationsPerCall` per list. */
export function listing(name: string, vault: Pick<PeopleVault, 'newestEvents'>, operationsPerCall: number): Variant {
  return sequentialCalls({
    name,
    prepareItems: () => Array.from({ length: PAGES }, () => PAGE),
    call: vault.newestEvents,
    operationsPerCall,
  })
}

function loggedListing(log: SqliteEventLog): Variant {
  return sequentialCalls({
    name: 'plaintext log, newest rows',
    prepareItems: () => Array.from({ length: PAGES }, () => PAGE),
    call: log.newest,
    operationsPerCall: PAGE,
  })
}

/** Counts the verified events. */
export function verifying({ verifyAudit }: Pick<PeopleVault, 'verifyAudit'>): Variant {
  return {
    name: 'strongroom',
    async run() {
      const { ok, eventCount } = await verifyAudit()
      if (!ok) throw new Error('The audit trail failed verification.')
      return eventCount
    },
  }
}
