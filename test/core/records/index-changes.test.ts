/** What writes store in sealed indexes: with each record, exactly the key of each of its values, whatever writes it. */
import { describe, expect, it } from 'vitest'
import { isVaultError } from '../../../src/core/errors.ts'
import type { Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { INDEX_RUNS } from '../../../src/core/schema/system-tables.ts'
import {
  deltasOf,
  INDEXED_RULES,
  INDEXED_TABLES,
  type IndexedWorld,
  randomPerson,
  storedKeys,
  WRITES,
  writeSomething,
  wrongTables,
} from '../../support/indexes/indexed-people.ts'
import { randomFor, seededRandom } from '../../support/random/seeded-random.ts'
import { memoryEngine, onEachStorage } from '../../support/storages/engines.ts'
import { type LooseOptions, openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

/** What a write can be refused with, because of what it was given at random. */
const REFUSED = ['not_found', 'conflict', 'invalid_request', 'aborted']

async function openWorld(storage: StorageHandle, seed: string, options: LooseOptions = {}): Promise<IndexedWorld> {
  const vault = await openLoose(storage, INDEXED_TABLES, { rules: INDEXED_RULES, ...options })
  return { vault, random: seededRandom(seed), people: [] }
}

onEachStorage('sealed indexes', (engine) => {
  it.each(['on', 'off'] as const)('have the key of each value of each record once, after any writes, with the audit %s', async (audit) => {
    const world = await openWorld(engine.fresh().open(), `writes ${audit}`, { audit })
    const done = new Set<string>()
    for (let step = 0; step < 150; step++) {
      const { name, error } = await writeSomething(world)
      if (error === undefined) done.add(name)
      else if (!isVaultError(error) || !REFUSED.includes(error.code)) expect((error as Error).message).toBe('rolled back')
      if (step % 10 === 9) expect([name, step, await wrongTables(world.vault)]).toEqual([name, step, []])
    }
    expect([...done].sort()).toEqual(Object.keys(WRITES).sort())
    expect((await storedKeys(world.vault, 'people')).size).toBeGreaterThan(100)
  })

  it('have one delta for callers who come together', async () => {
    const world = await openWorld(engine.fresh().open(), 'callers')
    const { vault, random } = world
    const insert = () => vault.session.insertOne('people', randomPerson(random))
    await Promise.all(Array.from({ length: 64 }, insert))
    expect((await deltasOf(vault.storage, 'people')).length).toBeLessThanOrEqual(4)
    expect(await wrongTables(vault)).toEqual([])
  })
})
