/** Merges of sealed indexes as slow work of a vault: in the background, when a write finds too many deltas, and asked for. */
import { expect, it, vi } from 'vitest'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { INDEX_BLOCKS, INDEX_RUNS } from '../../../src/core/schema/system-tables.ts'
import { MergeSchedule } from '../../../src/core/vault/merge-schedule.ts'
import {
  countDeltas,
  INDEXED_RULES,
  INDEXED_TABLES,
  randomPerson,
  storedKeys,
  wrongTables,
} from '../../support/indexes/indexed-people.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { type LooseVault, openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

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
    await insertEach(vault, 70)
    await vi.waitFor(async () => expect(await deltaCount(vault)).toBeLessThan(64), { timeout: 5000 })
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
    expect((await storedKeys(vault, 'people', { isRaw: true })).size).toBe(15 * 9)
    expect(seen.length).toBeGreaterThan(0)
    expect(await vault.vault.maintenance()).toEqual([])
  })

  it('take the keys of a forgotten person out of every part, also by another process after the first was killed', async () => {
    const place = engine.fresh()
    const vault = await openIndexed(place.open())
    const [first = '', ...others] = await insertEach(vault, 12)
    await vault.session.insert('visits', [{ fields: { person: first, at: '2026-01-01T00:00:00Z' } }])
    await vault.vault.compact()
    await vault.vault.subjects.forget(OWNER, 'person', first, { reason: 'request 7' })
    // The keys are in blocks still, and taken back by a delta: what a process leaves that is killed here.
    const left = await storedKeys(vault, 'people', { isRaw: true })
    expect(left.size).toBe(12 * 9)
    const next = await openIndexed(place.open())
    await next.vault.sweep()
    expect((await storedKeys(next, 'people', { isRaw: true })).size).toBe(others.length * 9)
    expect((await storedKeys(next, 'visits', { isRaw: true })).size).toBe(0)
    expect(await orphans(next)).toBe(0)
    expect(await wrongTables(next)).toEqual([])
  })
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
