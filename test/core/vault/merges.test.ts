/** Merges of sealed indexes as slow work of a vault: in the background, when a write finds too many deltas, and asked for. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { sealDelta } from '../../../src/core/index-runs/delta.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import type { Timer } from '../../../src/core/ports/time.ts'
import type { SchemaDefinition } from '../../../src/core/schema/column.ts'
import { checkSchema } from '../../../src/core/schema/define-schema.ts'
import { INDEX_BLOCKS, INDEX_RUNS } from '../../../src/core/schema/system-tables.ts'
import { digestVaultId } from '../../../src/core/sealing/envelope.ts'
import { MergeSchedule } from '../../../src/core/vault/merge-schedule.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column } from '../../../src/index.ts'
import { backupVault, moveVault, restoreVault } from '../../../src/transfer/index.ts'
import {
  countDeltas,
  INDEXED_RULES,
  INDEXED_TABLES,
  insertPeople,
  randomPerson,
  storedKeys,
  storedTable,
  wrongTables,
} from '../../support/indexes/indexed-people.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { type LooseVault, openLoose } from '../../support/vaults/open-untyped.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const EVERYTHING = { kind: 'all' } as const

const openIndexed = (storage: StorageHandle): Promise<LooseVault> => openLoose(storage, INDEXED_TABLES, { rules: INDEXED_RULES })

/** Inserts people one commit each. */
async function insertEach({ session }: LooseVault, count: number): Promise<string[]> {
  const random = seededRandom('insert each')
  const ids: string[] = []
  for (let n = 0; n < count; n++) ids.push((await session.insertOne('people', { ...randomPerson(random), age: n })).id)
  return ids
}

const deltaCount = (vault: LooseVault): Promise<number> => countDeltas(vault, 'people')

async function orphans({ storage }: LooseVault): Promise<number> {
  const page = { order: 'asc', limit: 100_000 } as const
  const runs = new Set((await storage.find(INDEX_RUNS.name, EVERYTHING, page)).map(({ id }) => id))
  const blocks = await storage.find(INDEX_BLOCKS.name, EVERYTHING, { ...page, columns: ['run'] })
  return blocks.filter(({ run }) => !runs.has(Number(run))).length
}

onEachStorage('merges of sealed indexes', (engine) => {
  it('go on in the background as deltas are stored, and lose and double nothing', async () => {
    const vault = await openIndexed(engine.fresh().open())
    // Twice as many as make a merge due: the first look, after two seconds, can find fewer, and counts anew.
    await insertEach(vault, 130)
    await expect.poll(() => deltaCount(vault)).toBeLessThan(64)
    expect(await wrongTables(vault)).toEqual([])
    await vault.vault.close()
  })

  it('make one run an index of all that is there when they are asked for, without a key of what is gone', async () => {
    const vault = await openIndexed(engine.fresh().open())
    const ids = await insertEach(vault, 20)
    await vault.session.delete('people', ids.slice(0, 5))
    await vault.session.updateOne('people', ids[6] ?? '', { name: 'Another' })
    const seen: unknown[] = []
    await vault.vault.compact({ onProgress: (progress) => void seen.push(progress) })
    expect(await deltaCount(vault)).toBe(0)
    expect(await wrongTables(vault)).toEqual([])
    const live = await storedKeys(vault, 'people')
    expect(live.size).toBeGreaterThanOrEqual(15 * 9)
    expect((await storedKeys(vault, 'people', { isRaw: true })).size).toBe(live.size)
    expect(seen.length).toBeGreaterThan(0)
    expect(await vault.vault.maintenance()).toEqual([])
  })

  it('take the keys of a forgotten person out of every part, also by another process after the first was killed', async () => {
    const place = engine.fresh()
    const vault = await openIndexed(place.open())
    const [first = '', ...others] = await insertEach(vault, 12)
    await vault.session.insert('visits', [{ fields: { person: first, at: '2026-01-01T00:00:00Z' } }])
    await vault.vault.compact()
    const before = await storedKeys(vault, 'people', { isRaw: true })
    await vault.vault.subjects.forget(OWNER, 'person', first, { reason: 'request 7' })
    // The keys are in blocks still, and taken back by a delta: what a process leaves that is killed here.
    const left = await storedKeys(vault, 'people', { isRaw: true })
    expect(left.size).toBe(before.size)
    const next = await openIndexed(place.open())
    await next.vault.sweep()
    const rest = await storedKeys(next, 'people', { isRaw: true })
    expect(rest.size).toBeGreaterThanOrEqual(others.length * 9)
    expect([rest.size, rest.size < before.size]).toEqual([(await storedKeys(next, 'people')).size, true])
    expect((await storedKeys(next, 'visits', { isRaw: true })).size).toBe(0)
    expect(await orphans(next)).toBe(0)
    expect(await wrongTables(next)).toEqual([])
  })
})

onEachStorage('sealed indexes that are merged all the time', (engine) => {
  it('have every key while root keys are rotated and the older one is destroyed', async () => {
    const vault = await openIndexed(engine.fresh().open())
    const ids = await insertEach(vault, 20)
    let isOver = false
    const merging = (async () => {
      while (!isOver) await vault.vault.compact()
    })()
    const writing = (async () => {
      for (let n = 0; !isOver; n++) await vault.session.updateOne('people', ids[n % 20] ?? '', { age: 1000 + n })
    })()
    const { version } = await vault.vault.rotateKeys({ settleMs: 1000 })
    isOver = true
    await Promise.all([merging, writing])
    await vault.vault.destroyKey(version - 1)
    await vault.vault.compact()
    const { records } = await vault.session.query('SELECT COUNT(*) AS n FROM people WHERE age >= 0')
    expect(records[0]?.fields.n).toBe(20)
    expect(await vault.vault.verifyRecords()).toMatchObject({ ok: true })
  })

  it('are moved, backed up and restored whole amid merges', async () => {
    const from = engine.fresh()
    const vault = await openIndexed(from.open())
    await insertPeople(vault, seededRandom('moved'))
    let end: unknown
    const merging = (async () => {
      for (let n = 0; end === undefined; n++) {
        await vault.session.insertOne('people', { age: n })
        await vault.vault.compact()
      }
    })().catch((error: unknown) => {
      end = error
    })
    const restored = memoryStorage()
    const backup = backupVault({ from: from.open() })
    await restoreVault({ to: restored, backups: [backup] })
    const moved = memoryStorage()
    await moveVault({ from: from.open(), to: moved })
    await merging
    // The storage that the vault was moved out of takes nothing more.
    expect(end).toMatchObject({ code: 'failed_precondition' })
    for (const storage of [restored, moved]) {
      // The copy has no lease of the merge in its source.
      const copy = await openLoose(storage, INDEXED_TABLES, { rules: INDEXED_RULES })
      expect(await wrongTables(copy)).toEqual([])
      await copy.session.insertOne('people', { age: 7 })
      await copy.vault.compact()
      expect(await wrongTables(copy)).toEqual([])
      expect(await orphans(copy)).toBe(0)
      await copy.vault.close()
    }
  })
})

it('a write merges far too many deltas of processes that end too soon to do it', async () => {
  const storage = memoryStorage()
  const vault = await openIndexed(storage)
  await insertEach(vault, 3)
  const { objectId } = await storedTable(vault, 'people')
  const keys = { ring: vault.ring, vault: digestVaultId(SYSTEM_PORTS.hash, 'v1') }
  const ids = await storage.reserveIds(INDEX_RUNS.name, 1000)
  await storage.insert(
    INDEX_RUNS.name,
    ids.map((id) => sealDelta(keys, id, { objectId }, [])),
  )
  // Its first byte of entropy is where the count of a process begins: the next delta is the one that counts.
  const entropy = { bytes: (length: number) => (length === 1 ? new Uint8Array([255]) : SYSTEM_PORTS.entropy.bytes(length)) }
  const short = await openLoose(storage, INDEXED_TABLES, { rules: INDEXED_RULES, entropy })
  await short.session.insertOne('people', { age: 3 })
  expect(await countDeltas(short, 'people')).toBe(0)
  expect(await wrongTables(short)).toEqual([])
})

it('a process that finds another one merging does nothing, and calls wait for it', async () => {
  const storage = memoryStorage()
  const [one, other] = [await openIndexed(storage), await openIndexed(storage)]
  await insertEach(one, 5)
  const held = Promise.withResolvers<void>()
  const isHeld = Promise.withResolvers<void>()
  const first = one.vault.compact({
    async onProgress() {
      isHeld.resolve()
      await held.promise
    },
  })
  await isHeld.promise
  let hasEnded = false
  const second = other.vault.compact().finally(() => {
    hasEnded = true
  })
  const aborted = new AbortController()
  const third = other.vault.compact({ signal: aborted.signal })
  aborted.abort()
  await expect(third).rejects.toMatchObject({ code: 'cancelled' })
  await insertEach(other, 70)
  expect(hasEnded).toBe(false)
  held.resolve()
  await Promise.all([first, second])
  expect(await wrongTables(one)).toEqual([])
})

it('a vault that closes ends a compaction, and leaves each index as it was', async () => {
  const storage = memoryStorage()
  const vault = await openIndexed(storage)
  await insertEach(vault, 5)
  let closing: Promise<void> | undefined
  const compacting = vault.vault.compact({
    onProgress() {
      closing ??= vault.vault.close()
    },
  })
  await expect(compacting).rejects.toMatchObject({ code: 'cancelled' })
  await closing
})

it('a vault without sealed indexes has no timer for merges', async () => {
  const waits: number[] = []
  const timer: Timer = {
    after(milliseconds) {
      waits.push(milliseconds)
      return () => {}
    },
  }
  const open = (tables: SchemaDefinition) =>
    openVault({
      ...SYSTEM_PORTS,
      timer,
      id: 'v1',
      schema: checkSchema(tables),
      storage: memoryStorage(),
      keys: localKeys({ key: TEST_SECRET }),
    })
  await open({ people: { name: column.string() } })
  expect(waits).toEqual([])
  await open({ people: { name: column.string({ index: 'sealed' }) } })
  expect(waits.length).toBe(1)
})

it('a schedule is due by deltas, by changes, and after what was erased, and rests after a purge', () => {
  let now = 0
  const schedule = new MergeSchedule({ now: () => now, randomByte: () => 200, onSooner: () => {} })
  expect(schedule.at).toBeUndefined()
  for (let n = 0; n < 63; n++) schedule.noteDelta(7, 2)
  expect(schedule.at).toBeUndefined()
  expect([...schedule.crowded]).toEqual([7])
  schedule.noteDelta(7, 2)
  expect(schedule.at).toBe(20)
  now = 20
  expect(schedule.take()).toEqual({ tables: undefined, looksForErased: true })
  schedule.ended({ tables: undefined, looksForErased: true }, undefined)
  schedule.noteDelta(8, 20_000)
  now = 40
  expect(schedule.take().tables).toEqual(new Set([8]))
  schedule.failed()
  expect(schedule.at).toBe(5040)
  schedule.noteDelta(8, 20_000)
  expect(schedule.at).toBe(5040)
  now = 5040
  expect(schedule.take().tables).toBeUndefined()
  schedule.ended({ tables: undefined, looksForErased: true }, undefined)
  schedule.noteErased()
  expect(schedule.at).toBe(6040)
  now = 6040
  const look = schedule.take()
  expect(look).toEqual({ tables: new Set(), looksForErased: true })
  schedule.ended(look, 500)
  expect(schedule.at).toBeUndefined()
  schedule.noteErased()
  expect(schedule.at).toBe(6040 + 10_000)
})
