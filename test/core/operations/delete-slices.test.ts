/** Deleting all records: in slices between which the event loop turns, and yet one change with one event. */
import { expect, it } from 'vitest'
import { VaultError } from '../../../src/core/errors.ts'
import type { Vault } from '../../../src/core/vault/vault.ts'
import { column } from '../../../src/index.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const RECORDS = 3000
const TABLE = 'records_1_notes'
const SCHEMA = { notes: { text: column.string({ token: 'random' }), city: column.string({ encrypted: false }) } }
const POLICY = { keeper: ["ALLOW DELETE ON notes.* WHERE city = 'Oslo'"] }
const KEEPER = { ...OWNER, roles: ['keeper'] }

async function fill(vault: Vault, count = RECORDS): Promise<void> {
  for (let n = 0; n < count; n += 1000) {
    const records = Array.from({ length: 1000 }, (_, k) => ({ fields: { text: `note ${n + k}`, city: 'Oslo' } }))
    await vault.as(OWNER).insert('notes', records)
  }
}

onEachStorage('deleting all records', (engine) => {
  it.each([
    ['by a caller of all', OWNER],
    ['by a caller of some', KEEPER],
  ])('%s reads and deletes at most 1,000 rows at once, and records one event', async (_, caller) => {
    const sound = engine.fresh().open()
    const { storage, fail, mend } = faultyStorage(sound)
    const { vault } = await openLoose(storage, SCHEMA, { policy: POLICY })
    await fill(vault)
    const before = (await eventsOf(vault)).length
    let deletions = 0
    fail(({ method, table }) => {
      if (method === 'delete' && table === TABLE) deletions++
      return undefined
    })
    await vault.as(caller).delete('notes', '*')
    mend()
    // 16, 32, 64 … 1,000 rows, or fewer where the machine is slow.
    expect(deletions).toBeGreaterThanOrEqual(8)
    expect(await sound.aggregate(TABLE, { kind: 'all' }, [{ kind: 'count' }])).toEqual([0])
    expect(await sound.aggregate('tokens', { kind: 'all' }, [{ kind: 'count' }])).toEqual([0])
    const events = (await eventsOf(vault)).slice(before)
    expect(events).toMatchObject([{ action: 'DELETE', code: 200 }])
    await vault.close()
  })

  it('deletes none if a later slice fails', async () => {
    const sound = engine.fresh().open()
    const { storage, fail, mend } = faultyStorage(sound)
    const { vault } = await openLoose(storage, SCHEMA)
    await fill(vault)
    let deletions = 0
    const fault = new VaultError('unavailable', 'the fault of this test')
    fail(({ method, table }) => (method === 'delete' && table === TABLE && ++deletions === 5 ? fault : undefined))
    await expect(vault.as(OWNER).delete('notes', '*')).rejects.toMatchObject({ code: 'unavailable' })
    mend()
    expect(deletions).toBe(5)
    expect(await sound.aggregate(TABLE, { kind: 'all' }, [{ kind: 'count' }])).toEqual([RECORDS])
    await vault.as(OWNER).delete('notes', '*')
    expect(await sound.aggregate(TABLE, { kind: 'all' }, [{ kind: 'count' }])).toEqual([0])
    await vault.close()
  })

  // Of fewer, it does not on SQLite, as test/adapters/sqlite/turns-beside-hosts.test.ts shows.
  it('lets the event loop turn between two slices of 5,000 records and more', async () => {
    const storage = engine.fresh().open()
    const { vault } = await openLoose(storage, SCHEMA, { audit: 'off' })
    await fill(vault, 5000)
    let turns = 0
    let isDeleting = true
    const counting = (async () => {
      while (isDeleting) {
        await new Promise((resolve) => setImmediate(resolve))
        turns++
      }
    })()
    await vault.as(OWNER).delete('notes', '*')
    isDeleting = false
    await counting
    // One statement takes a few turns, to begin and to commit.
    expect(turns).toBeGreaterThanOrEqual(8)
    await vault.close()
  })
})
