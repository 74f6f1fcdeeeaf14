/** Audit events after another process activated a root key: none is sealed with the retired one, also by a process that only reads, or did nothing before. */
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { readVersion } from '../../../src/core/sealing/envelope.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column, defineSchema } from '../../../src/index.ts'
import { onEachStorage, postgresEngine } from '../../support/storages/engines.ts'
import { interposedStorage } from '../../support/storages/interposed-storage.ts'
import { addKey } from '../../support/vaults/planted-rotation.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const TABLES = { things: { name: column.string({ redaction: 'PLAIN_TEXT', unique: true }) } }

function open(storage: StorageHandle) {
  const keys = localKeys({ key: TEST_SECRET })
  return openVault({ ...SYSTEM_PORTS, id: 'v1', schema: defineSchema(TABLES), storage, keys })
}

/** The versions of the root keys that the rows of a table are sealed with, by row id. */
async function sealedWith(storage: StorageHandle, table: string): Promise<number[]> {
  const rows = await storage.find(table, { kind: 'all' }, { order: 'asc', limit: 1000 })
  return rows.map(({ body }) => (body instanceof Uint8Array ? readVersion(body, 0, body.length) : 0))
}

onEachStorage('events of a process that was open before a rotation', (engine) => {
  it('are sealed with the active key if it did nothing before, and then reads and is refused', async () => {
    const place = engine.fresh()
    const session = (await open(place.open())).as(OWNER)
    const other = place.open()
    await open(other)
    await addKey(other, TABLES)
    await session.get('things')
    await session.get('things')
    await expect(session.insert('things', [{ fields: { none: 1 } as never }])).rejects.toMatchObject({ code: 'invalid_request' })
    await Promise.all([session.get('things'), session.get('things')])
    expect(await sealedWith(other, 'audit_events')).toEqual([3, 3, 3, 3, 3])
    expect(new Set(await sealedWith(other, 'audit_chains'))).toEqual(new Set([3]))
    expect((await (await open(place.open())).verifyAudit()).eventCount).toBe(5)
  })

  it('are sealed with the active key if it only read before', async () => {
    const place = engine.fresh()
    const session = (await open(place.open())).as(OWNER)
    await session.get('things')
    const other = place.open()
    await open(other)
    await addKey(other, TABLES)
    await session.get('things')
    await session.get('things')
    expect(await sealedWith(other, 'audit_events')).toEqual([2, 3, 3])
  })

  it('are sealed with the active key inside a transaction', async () => {
    const place = engine.fresh()
    const vault = await open(place.open())
    const other = place.open()
    await open(other)
    await addKey(other, TABLES)
    await vault.transaction(async (within) => {
      await within.as(OWNER).get('things')
      await within.as(OWNER).insert('things', [{ fields: { name: 'one' } }])
      await within.as(OWNER).get('things')
    })
    expect(await sealedWith(other, 'audit_events')).toEqual([3, 3, 3])
    expect(await sealedWith(other, 'records_1_things')).toEqual([3])
  })
})

describe('a process that stops between sealing and storing the first event of a chain', () => {
  const engine = postgresEngine()

  it.each(['read', 'change', 'transaction'] as const)(
    'stores nothing under the key that was retired meanwhile, by a %s',
    async (kind) => {
      const place = engine.fresh()
      const { storage, interpose } = interposedStorage(place.open())
      const vault = await open(storage)
      const other = place.open()
      await open(other)
      const isDone = interpose({
        // Of a change, the activation waits for the transaction from the first record on.
        isDue: ({ method, table }) => method === 'insert' && table === (kind === 'change' ? 'records_1_things' : 'audit_chains'),
        work: () => addKey(other, TABLES),
      })
      if (kind === 'read') await vault.as(OWNER).get('things')
      else if (kind === 'change') await vault.as(OWNER).insert('things', [{ fields: { name: 'one' } }])
      else await vault.transaction((within) => within.as(OWNER).get('things'))
      expect(isDone()).toBe(true)
      expect(await sealedWith(other, 'audit_events')).toEqual([3])
      expect(await sealedWith(other, 'records_1_things')).toEqual(kind === 'change' ? [3] : [])
    },
  )
})
