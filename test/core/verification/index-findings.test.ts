/** What a verification finds of sealed indexes: entries that are missing, of no record, of another value, or twice, and parts that were changed. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { IndexChanges, sealDelta } from '../../../src/core/index-runs/delta.ts'
import { orderKey } from '../../../src/core/index-runs/order-key.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { INDEX_RUNS } from '../../../src/core/schema/system-tables.ts'
import { digestVaultId } from '../../../src/core/sealing/envelope.ts'
import { column, defineSchema } from '../../../src/index.ts'
import { storedTable } from '../../support/indexes/indexed-people.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'

const TABLES = {
  people: { name: column.string({ index: 'sealed' }), age: column.integer({ index: 'sealed' }), note: column.string() },
}

/** A vault with three people, each of whom came in a commit of its own. */
async function openPeople() {
  const storage = memoryStorage()
  const vault = await openLoose(storage, TABLES)
  const ids: string[] = []
  for (const age of [30, 40, 50]) ids.push((await vault.session.insertOne('people', { name: `p${age}`, age, note: 'n' })).id)
  const table = await storedTable(vault, 'people')
  const page = { order: 'asc', limit: 10 } as const
  return {
    vault,
    storage,
    ids,
    table,
    rows: await storage.find(table.physical.name, { kind: 'all' }, page),
    deltas: await storage.find(INDEX_RUNS.name, { kind: 'all' }, page),
    /** Stores changes of the index of `age` as a writer does. */
    async store(work: (changes: IndexChanges, index: number) => void) {
      const changes = new IndexChanges()
      work(changes, table.byName.get('age')?.index?.objectId ?? 0)
      const [id = 0] = await storage.reserveIds(INDEX_RUNS.name, 1)
      const to = { ring: vault.ring, vault: digestVaultId(SYSTEM_PORTS.hash, 'v1') }
      await storage.insert(INDEX_RUNS.name, [sealDelta(to, id, table, [changes])])
    },
    ageKey: (age: number) => orderKey(table.byName.get('age')?.type ?? never(), BigInt(age)),
    async found() {
      const { findings } = await vault.vault.verifyRecords()
      return findings.map(({ kind, column: name, id }) => `${kind} ${name} ${id === undefined ? '-' : ids.indexOf(id)}`).sort()
    },
  }
}

function never(): never {
  throw new Error('no such column')
}

describe('sealed indexes', () => {
  it('that are right have no finding, also when values change and records go', async () => {
    const { vault, ids, found } = await openPeople()
    await vault.session.updateOne('people', ids[0] ?? '', { age: null, note: 'm' })
    await vault.session.delete('people', [ids[1] ?? ''])
    expect(await found()).toEqual([])
  })

  it('that lack a delta miss the entries of its record', async () => {
    const { storage, deltas, found } = await openPeople()
    await storage.delete(INDEX_RUNS.name, { ids: [deltas[1]?.id ?? 0] })
    expect(await found()).toEqual(['missing_entry age 1', 'missing_entry name 1'])
  })

  it('that have entries of a record that is gone, or of another value, have unexpected ones', async () => {
    const { storage, table, rows, store, ageKey, found } = await openPeople()
    await storage.delete(table.physical.name, { ids: [rows[2]?.id ?? 0] })
    await store((changes, index) => changes.add(index, ageKey(31), rows[0]?.id ?? 0))
    expect(await found()).toEqual(['unexpected_entry age 0', 'unexpected_entry age 2', 'unexpected_entry name 2'])
  })

  it.each(['add', 'remove'] as const)('of which an entry is stored twice are found: %s', async (change) => {
    const { rows, store, ageKey, found } = await openPeople()
    await store((changes, index) => {
      changes[change](index, ageKey(change === 'add' ? 30 : 99), rows[0]?.id ?? 0)
    })
    expect(await found()).toEqual(['unexpected_entry age -'])
  })

  it('that do not say that they have a record miss its entry', async () => {
    const { storage, table, rows, found } = await openPeople()
    const [{ id, version } = never()] = rows
    const cell = table.byName.get('age')?.index?.cell ?? ''
    await storage.update(table.physical.name, [{ id, version, set: { [cell]: null } }])
    expect(await found()).toEqual(['missing_entry age 0'])
  })

  it('that were changed in the database cannot be read', async () => {
    const { storage, deltas, found } = await openPeople()
    const [{ id, version, body } = never()] = deltas
    await storage.update(INDEX_RUNS.name, [{ id, version, set: { body: Uint8Array.from(body as Uint8Array).fill(7, 40) } }])
    expect(await found()).toEqual(['unreadable_index age -', 'unreadable_index name -'])
  })

  it.each(['before', 'amid'] as const)(
    'are compared by the schema that another process stored %s the verification',
    async (when) => {
      const older = { people: { email: column.string({ unique: true, index: 'sealed' }) }, others: { text: column.string() } }
      const newer = { people: { email: column.string({ unique: true, index: 'sealed', normalize: ['trim', 'lowercase'] }) } }
      const sound = memoryStorage()
      let atHeads = async (): Promise<void> => {}
      const watched: StorageHandle = {
        ...sound,
        async find(table, ...request) {
          if (table === INDEX_RUNS.name) await atHeads()
          return sound.find(table, ...request)
        },
      }
      const { vault, session } = await openLoose(watched, older)
      await session.insertOne('people', { email: 'A@acme.example' })
      const { vault: deploy } = await openLoose(sound, older)
      const change = async (): Promise<void> => {
        atHeads = async () => {}
        const plan = await deploy.planSchemaChange(defineSchema(newer), { drop: { others: 'erase' } })
        await deploy.applySchemaChange(plan, { settleMs: 0 })
      }
      if (when === 'before') await change()
      else atHeads = change
      expect((await vault.verifyRecords()).findings).toEqual([])
      expect((await vault.verifyRecords({ table: 'people' })).findings).toEqual([])
    },
  )
})
