/** Deletion under a condition beside concurrent writes: a record that became invisible to the caller is not deleted. */
import { expect, it } from 'vitest'
import type { PolicyFor } from '../../../src/index.ts'
import { type Clients, callerOf, openClients } from '../../support/audit/audited-clients.ts'
import { type Engine, onEachStorage } from '../../support/storages/engines.ts'
import { interposedStorage, type Moment } from '../../support/storages/interposed-storage.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

/** One condition that storage evaluates, and one on sealed values. */
const POLICY = {
  swede: ["ALLOW READ, DELETE ON clients.* WHERE country = 'SE'"],
  frugal: ['ALLOW READ, DELETE ON clients.* WHERE salary < 1000'],
} as const satisfies PolicyFor<Clients>
const ROLES = ['swede', 'frugal'] as const

/** A change that makes a record invisible to both roles, and one that does not. */
const BEYOND = { country: 'DE', salary: 2000 }
const WITHIN = { name: 'Other', salary: 300 }
const PEOPLE = ['Anna', 'Bo', 'Cilla'].map((name) => ({ fields: { name, country: 'SE', salary: 100 } }))

/**
 * A vault of three records for this role, in which another writer makes a change as late as possible: if
 * transactions are concurrent, between evaluation and deletion; otherwise just before both.
 */
async function open(engine: Engine, role: (typeof ROLES)[number], change: object) {
  const place = engine.fresh()
  const { storage, interpose } = interposedStorage(place.open())
  const owner = (await openClients(place.open(), { policy: POLICY })).as(OWNER)
  const session = (await openClients(storage, { policy: POLICY })).as(callerOf(role))
  const ids = (await owner.insert('clients', PEOPLE)).records.map(({ id }) => id)
  const isLast = ({ method, table }: Moment): boolean =>
    storage.transactions === 'concurrent' ? table?.endsWith('clients') === true : method === 'begin'
  const hasCome = interpose({
    isDue: isLast,
    work: async () => void (await owner.updateOne('clients', ids[1] ?? '', change)),
  })
  const idsLeft = async () => (await owner.get('clients')).records.map(({ id }) => id)
  return { session, ids, idsLeft, hasCome }
}

onEachStorage('deletion under a condition', (engine) => {
  it.each(ROLES)('%s: deletes the named records all or none, and none if one became invisible meanwhile', async (role) => {
    const { session, ids, idsLeft, hasCome } = await open(engine, role, BEYOND)
    await expect(session.delete('clients', ids)).rejects.toMatchObject({ code: 'not_found' })
    expect(hasCome()).toBe(true)
    expect(await idsLeft()).toEqual(ids)
  })

  it.each(ROLES)('%s: deletes every record except one that became invisible meanwhile', async (role) => {
    const { session, ids, idsLeft, hasCome } = await open(engine, role, BEYOND)
    await session.delete('clients', '*')
    expect(hasCome()).toBe(true)
    expect(await idsLeft()).toEqual([ids[1]])
  })

  it.each(ROLES)('%s: deletes a record that was changed and is still visible', async (role) => {
    for (const named of [true, false]) {
      const { session, ids, idsLeft, hasCome } = await open(engine, role, WITHIN)
      await session.delete('clients', named ? ids : '*')
      expect(hasCome()).toBe(true)
      expect(await idsLeft()).toEqual([])
    }
  })
})
