/** Bench: what recording costs, the same vault with audit off as its floor; and how fast the trail is checked and listed. */
import { memoryStorage } from '../../src/adapters/memory/index.ts'
import { postgresStorage } from '../../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import type { Entry, StorageName } from '../entries.ts'
import { dropSchema } from '../floors/postgres-plaintext.ts'
import { openSqliteEventLog, type SqliteEventLog } from '../floors/sqlite-event-log.ts'
import { compare, measure, type Variant } from '../harness.ts'
import type { Bench, Scope } from '../scope.ts'
import {
  fill,
  fillAndKeep,
  openPostgresVault,
  openSqliteVault,
  openVaultPair,
  type PeopleVault,
  type VaultPair,
} from '../vaults.ts'
import { assertSame, drawPositions } from './filled-readers.ts'
import { type FilledPair, measureInserts } from './insert-batches.ts'

/** The least audited inserts may do of what they do unrecorded: recording may cost a quarter of the time. */
const INSERT_TARGET = 0.8
/** Reads of one in one timed run: with audit on, each waits for the disk. */
const MOST_READS = 100

const UNAUDITED = 'the same, audit off'

export const auditBench: Bench = {
  names: ['audit'],
  async run(scope) {
    const entries: Entry[] = []
    if (scope.has('sqlite')) entries.push(...(await onSqlite(scope)))
    if (scope.has('postgres')) entries.push(...(await onPostgres(scope)))
    if (scope.has('memory')) entries.push(await readAudited(scope, 'memory', await openVaultPair(memoryStorage())))
    return entries
  },
}

async function onSqlite(scope: Scope): Promise<Entry[]> {
  const { places } = scope
  const open = (audit: 'on' | 'off') => openSqliteVault(places.sqliteFile(), { audit })
  return [
    ...(await insertAudited(scope, 'sqlite', open)),
    await readAudited(scope, 'sqlite', await openVaultPair(sqliteStorage({ filename: places.sqliteFile() }))),
    ...(await readTrail(scope)),
  ]
}

async function onPostgres(scope: Scope): Promise<Entry[]> {
  const { places } = scope
  const pool = await places.postgresPool()
  const open = (audit: 'on' | 'off') => openPostgresVault(pool, places.postgresName(), { audit })
  const inserted = await insertAudited(scope, 'postgres', open)
  const schema = places.postgresName()
  const read = await readAudited(scope, 'postgres', await openVaultPair(postgresStorage({ pool, schema })))
  await dropSchema(pool, schema)
  return [...inserted, read]
}

/** Two vaults with as many rows, one recording and one not. */
function insertAudited(
  scope: Scope,
  storage: StorageName,
  open: (audit: 'on' | 'off') => Promise<PeopleVault>,
): Promise<Entry[]> {
  const { people, scale } = scope
  const fillPair = async (rows: number): Promise<FilledPair> => {
    const [audited, unaudited] = [await open('on'), await open('off')]
    await fill(rows, people.next, audited.insert)
    await fill(rows, people.next, unaudited.insert)
    return { rows, ours: { name: 'strongroom', ...audited }, floor: { name: UNAUDITED, ...unaudited } }
  }
  const plan = { bench: 'insert 1,000, audited', storage, target: INSERT_TARGET, next: people.next, fillPair }
  // The two are nearly alike: in short turns the disk's moods fall on both.
  const { warmups, rounds } = scale.timing
  const timing = { warmups: warmups * scale.batches, rounds: rounds * scale.batches }
  return measureInserts({ ...scope, scale: { ...scale, batches: 1, timing } }, plan, [scale.rows])
}

async function readAudited(scope: Scope, storage: StorageName, { audited, unaudited, close }: VaultPair): Promise<Entry> {
  const { people, scale } = scope
  const stored = await fillAndKeep(scale.rows, people.next, audited.insert)
  const most = storage === 'memory' ? Number.POSITIVE_INFINITY : MOST_READS
  const reading = (name: string, vault: PeopleVault): Variant => {
    let ids: string[] = []
    return {
      name,
      prepare() {
        ids = drawPositions(scope, stored.length, 1)
          .slice(0, most)
          .map(([position = 0]) => stored[position]?.id ?? '')
      },
      async run() {
        for (const id of ids) await vault.getOne(id)
        return ids.length
      },
    }
  }
  const [ours, floor] = await measure([reading('strongroom', audited), reading(UNAUDITED, unaudited)], scale.timing)
  await close()
  return compare({ bench: 'get 1, audited or not', storage, rows: scale.rows }, ours, floor)
}

/** Events made at once: as many as share a commit. */
const AT_ONCE = 256
const PAGE = 25
/** Listings in one timed run. */
const LISTS = 20

/** A trail of as many reads as there are rows elsewhere, checked whole and listed from its end. */
async function readTrail(scope: Scope): Promise<Entry[]> {
  const { places, people, scale } = scope
  const { audited, unaudited, close } = await openVaultPair(sqliteStorage({ filename: places.sqliteFile() }))
  const [one] = await audited.insert(people.next(1))
  const log = openSqliteEventLog(places.sqliteFile())
  const rounds = Math.ceil(scale.rows / AT_ONCE)
  for (let round = 0; round < rounds; round++) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => audited.getOne(one?.id ?? '')))
  }
  // The log holds what a listing answers, which is what people would write down.
  const { events } = await audited.newestEvents(PAGE)
  const logged = Array.from({ length: AT_ONCE }, (_, index) => events[index % events.length])
  for (let round = 0; round < rounds; round++) log.append(logged)
  const entries = [await checkTrail(scope, audited, log), await listTrail(scope, unaudited, log)]
  await close()
  log.close()
  return entries
}

async function checkTrail({ scale }: Scope, vault: PeopleVault, log: SqliteEventLog): Promise<Entry> {
  const ours = {
    name: 'strongroom',
    async run() {
      const { ok, events } = await vault.verifyAudit()
      if (!ok) throw new Error('the trail that was just written is not whole')
      return events
    },
  }
  const floor = { name: 'plaintext log, chained by SHA-256', run: () => log.verify() }
  const [us, them] = await measure([ours, floor], scale.slowTiming)
  return compare({ bench: 'verify audit', storage: 'sqlite', rows: scale.rows }, us, them)
}

async function listTrail({ scale }: Scope, vault: PeopleVault, log: SqliteEventLog): Promise<Entry> {
  assertSame((await vault.newestEvents(PAGE)).events.length, log.newest(PAGE).length)
  const ours = {
    name: 'strongroom',
    async run() {
      for (let list = 0; list < LISTS; list++) await vault.newestEvents(PAGE)
      return LISTS * PAGE
    },
  }
  const floor = {
    name: 'plaintext log, newest rows',
    run() {
      for (let list = 0; list < LISTS; list++) log.newest(PAGE)
      return LISTS * PAGE
    },
  }
  const [us, them] = await measure([ours, floor], scale.slowTiming)
  return compare({ bench: `list the newest ${PAGE} events, audit off`, storage: 'sqlite', rows: scale.rows }, us, them)
}
