/** What writes store in sealed indexes: with each record, exactly the key of each of its values, whatever writes it. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { isVaultError } from '../../../src/core/errors.ts'
import { DELTA_BYTES } from '../../../src/core/index-runs/delta.ts'
import type { Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { INDEX_RUNS, SUBJECT_KEYS } from '../../../src/core/schema/system-tables.ts'
import { column } from '../../../src/index.ts'
import {
  countDeltas,
  INDEXED_RULES,
  INDEXED_TABLES,
  type IndexedWorld,
  mergeIndexes,
  randomPerson,
  storedKeys,
  WRITES,
  writeSomething,
  wrongTables,
} from '../../support/indexes/indexed-people.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'
import { memoryEngine, onEachStorage } from '../../support/storages/engines.ts'
import { type LooseOptions, openLoose } from '../../support/vaults/open-untyped.ts'

/** A storage as a program has it that is wrong. */
type Fault = (inner: Storage) => Storage

/** Wraps a storage, and what its transactions are given. */
function faulty(sound: StorageHandle, fault: Fault): StorageHandle {
  const wrap = (inner: Storage): Storage => {
    const wrong = fault(inner)
    return { ...wrong, transaction: (work, options) => wrong.transaction((within) => work(wrap(within)), options) }
  }
  return { ...sound, ...wrap(sound) }
}

/** Every transaction rolls back when its work has ended, and its work runs again, as an engine can do. */
const runsAgain: Fault = (inner) => ({
  ...inner,
  async transaction(work, options) {
    const again = new Error('again')
    const first = inner.transaction(async (within) => {
      await work(within)
      throw again
    }, options)
    await first.catch((error: unknown) => {
      if (error !== again) throw error
    })
    return inner.transaction(work, options)
  },
})

/** What a write can be refused with, because of what it was given at random. */
const REFUSED = ['not_found', 'conflict', 'invalid_request', 'aborted']

async function openWorld(storage: StorageHandle, seed: string, options: LooseOptions = {}): Promise<IndexedWorld> {
  const vault = await openLoose(storage, INDEXED_TABLES, { rules: INDEXED_RULES, ...options })
  return { vault, random: seededRandom(seed), people: [] }
}

onEachStorage('sealed indexes', (engine) => {
  it.each(engine.name === 'memory' ? (['on', 'off'] as const) : (['on'] as const))(
    'have the key of each value of each record once, after any writes, with the audit %s',
    async (audit) => {
      const world = await openWorld(engine.fresh().open(), `writes ${audit}`, { audit })
      const done = new Set<string>()
      for (let step = 0; step < 120; step++) {
        const { name, error } = await writeSomething(world)
        if (error === undefined) done.add(name)
        else if (!isVaultError(error) || !REFUSED.includes(error.code)) expect((error as Error).message).toBe('rolled back')
        if (step % 10 !== 9) continue
        expect([name, step, await wrongTables(world.vault)]).toEqual([name, step, []])
        const { records } = await world.vault.session.get('people', { limit: 1000 })
        if (step % 40 === 39) await mergeIndexes(world.vault)
        world.people.splice(0, world.people.length, ...records.map(({ id }) => id))
      }
      expect([...done].sort()).toEqual(Object.keys(WRITES).sort())
      expect((await storedKeys(world.vault, 'people')).size).toBeGreaterThan(100)
    },
  )

  it('have them while two processes write the same records, and merge', async () => {
    const place = engine.fresh()
    const world = await openWorld(place.open(), 'processes')
    const other = { ...world, vault: (await openWorld(place.open(), '')).vault, random: world.random.fork('other') }
    const write = async (one: IndexedWorld): Promise<void> => {
      for (let step = 0; step < 40; step++) await writeSomething(one)
    }
    const merge = async (): Promise<void> => {
      for (let merges = 0; merges < 6; merges++) await mergeIndexes(other.vault)
    }
    await Promise.all([...[world, other, world].map(write), merge()])
    expect(await wrongTables(world.vault)).toEqual([])
  })

  it('have one delta for callers who come together', async () => {
    const world = await openWorld(engine.fresh().open(), 'callers')
    const { vault, random } = world
    const insert = () => vault.session.insertOne('people', randomPerson(random))
    await Promise.all(Array.from({ length: 64 }, insert))
    expect(await countDeltas(vault, 'people')).toBeLessThanOrEqual(4)
    expect(await wrongTables(vault)).toEqual([])
  })
})

describe('a write', () => {
  const engine = memoryEngine()

  it('that runs again stores what it changes once', async () => {
    const world = await openWorld(faulty(engine.fresh().open(), runsAgain), 'again')
    for (let step = 0; step < 100; step++) await writeSomething(world)
    expect(await wrongTables(world.vault)).toEqual([])
  })

  it.each(['insert', 'upsert', 'update', 'delete', 'forget'])('that forgets what %s changes is found', async (name) => {
    let forgets = false
    const forgetful: Fault = (inner) => ({
      ...inner,
      insert: async (table, rows) => (forgets && table === INDEX_RUNS.name ? undefined : inner.insert(table, rows)),
      commit: (changes, options) =>
        inner.commit(
          forgets ? { ...changes, inserts: changes.inserts.filter(({ table }) => table !== INDEX_RUNS.name) } : changes,
          options,
        ),
    })
    const world = await openWorld(faulty(engine.fresh().open(), forgetful), 'forgotten')
    await WRITES.insert?.(world)
    await WRITES.upsert?.(world)
    expect(await wrongTables(world.vault)).toEqual([])
    forgets = true
    await WRITES[name]?.(world)
    expect(await wrongTables(world.vault)).toEqual(['people'])
  })

  it.each(['alone', 'together'])('of long texts has several deltas, none of which is long to open: %s', async (how) => {
    const { vault, random } = await openWorld(engine.fresh().open(), 'long')
    const letters = String.fromCharCode(...Array.from({ length: 3000 }, () => 97 + random.below(26)))
    const people = Array.from({ length: 60 }, (_, n) => ({ fields: { name: `${n} ${letters}` } }))
    const { session, storage } = vault
    if (how === 'alone') await session.insert('people', people)
    else await Promise.all(people.map(({ fields }) => session.insertOne('people', fields)))
    const { records } = await session.get('people', { limit: 1 })
    await session.updateOne('people', records[0]?.id ?? '', { name: letters })
    expect(await wrongTables(vault)).toEqual([])
    const rows = await storage.find(INDEX_RUNS.name, { kind: 'all' }, { order: 'asc', limit: 1000, columns: ['body'] })
    const sizes = rows.map(({ body }) => (body as Uint8Array).length)
    // One record has three bytes of a trigram for each character, and its delta is padded.
    expect(Math.max(...sizes)).toBeLessThan(DELTA_BYTES + 3 * 3100 + 4096 + 200)
    expect(sizes.filter((size) => size > DELTA_BYTES / 2).length).toBeGreaterThan(5)
    expect(sizes.length).toBeLessThan(15)
  })

  it('of a process that leaves out columns keeps their indexes', async () => {
    const place = engine.fresh()
    const world = await openWorld(place.open(), 'part')
    for (let step = 0; step < 5; step++) await WRITES.insert?.(world)
    const { age: _, born: __, ...people } = INDEXED_TABLES.people
    const part = await openLoose(place.open(), { ...INDEXED_TABLES, people }, { rules: INDEXED_RULES })
    const [first = '', second = ''] = world.people
    await part.session.insert('people', [{ fields: { name: 'Di' } }, { fields: {} }])
    await part.session.updateOne('people', first, { name: 'Eve', note: 'n' })
    await part.session.delete('people', [second])
    expect(await wrongTables(world.vault)).toEqual([])
    await world.vault.session.updateOne('people', first, { age: 3, born: null })
    expect(await wrongTables(world.vault)).toEqual([])
  })

  it('of a table that is new in its vault is in the indexes at once', async () => {
    const place = engine.fresh()
    const { visits } = INDEXED_TABLES
    await openLoose(place.open(), { people: { note: INDEXED_TABLES.people.note } })
    const { vault, session } = await openLoose(place.open(), { people: { note: INDEXED_TABLES.people.note }, visits })
    expect(vault.schema.visits).toMatchObject({ person: { index: 'sealed' }, at: { index: 'sealed' } })
    await session.insertOne('visits', { at: '2026-01-01T00:00:00Z' })
    const rows = await place.open().find(INDEX_RUNS.name, { kind: 'all' }, { order: 'asc', limit: 10 })
    expect(rows).toHaveLength(1)
  })

  it('deletes what cannot be opened, and leaves what indexes have of it', async () => {
    const place = engine.fresh()
    const world = await openWorld(place.open(), 'unreadable')
    const { storage, session, vault } = world.vault
    const { records } = await session.insert('people', [{ fields: { age: 1 } }, { fields: { age: 2 } }, { fields: { age: 3 } }])
    const [tampered = '', forgotten = '', sound = ''] = records.map(({ id }) => id)
    const before = await storedKeys(world.vault, 'people')
    const [table = ''] = (await storage.snapshot(async ({ tables }) => tables)).flatMap(({ name }) =>
      name.endsWith('_people') ? name : [],
    )
    const [row, other] = await storage.find(table, { kind: 'all' }, { order: 'asc', limit: 3 })
    if (row === undefined || other === undefined) throw new Error('no rows')
    await storage.update(table, [
      { id: row.id, version: row.version, set: { body: Uint8Array.from(row.body as Uint8Array).fill(7, 40) } },
    ])
    await storage.delete(SUBJECT_KEYS.name, { filter: { kind: 'compare', column: 'row_id', operator: '=', value: other.id } })
    await vault.close()
    const again = await openLoose(place.open(), INDEXED_TABLES, { rules: INDEXED_RULES })
    expect((await again.session.delete('people', [tampered, forgotten, sound])).ids).toHaveLength(3)
    const kept = [...before].filter(([text]) => text.endsWith(` ${row.id}`) || text.endsWith(` ${other.id}`))
    expect([...(await storedKeys(again, 'people'))]).toEqual(kept)
    expect(kept).toHaveLength(22)
  })
})

it('take turns of the event loop while trigrams of long texts are made', async () => {
  const random = seededRandom('turns')
  const text = String.fromCharCode(...Array.from({ length: 4000 }, () => 97 + random.below(26)))
  const records = Array.from({ length: 100 }, (_, n) => ({ fields: { text: text.slice(n) } }))
  const turnsOf = async (index: false | { sealed: ['contains'] }): Promise<number> => {
    let turns = 0
    const scheduler = { yield: async () => void turns++ }
    const { session } = await openLoose(
      memoryStorage(),
      { notes: { text: column.string({ index }) } },
      { scheduler, audit: 'off' },
    )
    turns = 0
    await session.insert('notes', records)
    return turns
  }
  expect((await turnsOf({ sealed: ['contains'] })) - (await turnsOf(false))).toBeGreaterThan(2)
})
