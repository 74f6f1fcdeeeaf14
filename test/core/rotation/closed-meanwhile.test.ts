/** A vault that is closed while its keys change: what was changed is recorded, and a rotation ends at a row from which the next one goes on. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { KeyProvider } from '../../../src/core/ports/crypto.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { fillRotating, leftBehind, missingIn, openRotating, type RotatingVault } from '../../support/vaults/rotating-vault.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const KEYS = localKeys({ key: TEST_SECRET })
const CANCELLED = { code: 'cancelled', message: 'Rotation failed. The vault was closed. Call it again on an open one.' }

/** Returns the events of changes of keys, oldest first. */
async function keyEvents(vault: RotatingVault): Promise<string[]> {
  const events: string[] = []
  for await (const line of vault.exportAudit())
    events.push(...(/"(?:ROTATE_KEYS|REWRAP_KEYS|DESTROY_KEY)"/.exec(line) ?? []).map((name) => name.slice(1, -1)))
  return events
}

onEachStorage('a vault that is closed', (engine) => {
  it('records the key that it destroys or wraps again meanwhile', async () => {
    const place = engine.fresh()
    const first = await openRotating(place.open())
    const filled = await fillRotating(first, 5)
    await first.rotateKeys()
    const destroying = first.destroyKey(2)
    await first.close()
    expect(await destroying).toEqual({ version: 2, lost: 0 })
    const keys: KeyProvider = { ...KEYS, currentKeyId: async () => 'another' }
    const second = await openRotating(place.open(), { keys })
    const wrapping = second.rewrapKeys()
    await second.close()
    expect((await wrapping).rewrapped).toBe(1)
    const fresh = await openRotating(place.open())
    expect(await keyEvents(fresh)).toEqual(['ROTATE_KEYS', 'ROTATE_KEYS', 'ROTATE_KEYS', 'DESTROY_KEY', 'REWRAP_KEYS'])
    expect(await missingIn(fresh, filled)).toEqual([])
    expect((await fresh.verifyAudit()).ok).toBe(true)
  })

  it('ends a rotation before its next slice, and the next one goes on', async () => {
    const place = engine.fresh()
    const vault = await openRotating(place.open())
    const filled = await fillRotating(vault, 300)
    let closing: Promise<void> | undefined
    let slices = 0
    const onProgress = () => {
      slices++
      closing ??= vault.close()
    }
    await expect(vault.rotateKeys({ onProgress })).rejects.toMatchObject(CANCELLED)
    await closing
    expect(slices).toBe(1)
    const fresh = await openRotating(place.open())
    const rotation = await fresh.rotateKeys()
    expect(rotation).toMatchObject({ version: 3, complete: true })
    expect(rotation.resealed.people).toBeLessThan(300)
    expect([...(await leftBehind(fresh)), ...(await missingIn(fresh, filled))]).toEqual([])
    expect(await fresh.as(OWNER).get('others')).toBeDefined()
  })
})

onEachStorage('a key to destroy', (engine) => {
  it('is refused by the types of its options', async () => {
    const vault = await openRotating(engine.fresh().open())
    const wrong: readonly unknown[][] = [
      ['2'],
      [undefined],
      [1.5],
      [2n],
      [2, { losing: -1 }],
      [2, { losing: '0' }],
      [2, { losing: Number.NaN }],
    ]
    for (const given of wrong) {
      const call = vault.destroyKey as (...given: unknown[]) => Promise<unknown>
      await expect(call(...given)).rejects.toMatchObject({ code: 'invalid_request' })
    }
  })
})
