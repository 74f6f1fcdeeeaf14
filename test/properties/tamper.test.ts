/** The law that a tampered body is refused, and its negative control. */
import { expect, it } from 'vitest'
import { keyRingFactory } from '../../src/adapters/keys/key-ring-factory.ts'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import type { KeyRing, KeyRingFactory } from '../../src/core/ports/crypto.ts'
import { openVault } from '../../src/core/vault/open-vault.ts'
import { bodyOf, LEFTS, putBody, SECRET, tamper, tamperSchema } from '../laws/tamper.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { SYSTEM_PORTS } from '../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'

itHolds(tamper)

it('negative control: a moved body opens if the associated data is dropped', async () => {
  const storage = memoryStorage()
  const blinded = (ring: KeyRing): KeyRing => ({
    ...ring,
    seal: (purpose, header, plaintexts, contexts) => ring.seal(purpose, header, plaintexts, contexts.slice().fill(0)),
    open: (purpose, headerBytes, versions, bodies, contexts) =>
      ring.open(purpose, headerBytes, versions, bodies, contexts.slice().fill(0)),
    withRoots: (...given) => blinded(ring.withRoots(...given)),
  })
  const blind: KeyRingFactory = { ...keyRingFactory, createRing: (...given) => blinded(keyRingFactory.createRing(...given)) }
  const keys = localKeys({ key: TEST_SECRET })
  const vault = await openVault({ id: 'v1', schema: tamperSchema, storage, keys, ...SYSTEM_PORTS, keyRingFactory: blind })
  const { records } = await vault.as(OWNER).insert('lefts', [{ fields: { secret: SECRET } }, { fields: { secret: 'two' } }])
  await putBody(storage, LEFTS, { id: 2, body: await bodyOf(storage, LEFTS, 1) })
  expect((await vault.as(OWNER).getOne('lefts', records[1]?.id ?? '')).fields.secret).toBe(SECRET)
})
