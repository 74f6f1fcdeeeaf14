/** A key service that is away at any step of a rotation: its own text is passed on, nothing is half done, and other processes need it only to learn a key. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { KeyProvider } from '../../../src/core/ports/crypto.ts'
import type { Timer } from '../../../src/core/ports/time.ts'
import { VaultError } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { fillRotating, LEASE_MS, leftBehind, missingIn, openRotating } from '../../support/vaults/rotating-vault.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const AWAY = 'The key service of the test is away.'

/** A provider that counts its calls, and is away while it is asked to be. */
function service() {
  const keys = localKeys({ key: TEST_SECRET })
  const state = { isAway: (_: 'wrap' | 'unwrap') => false, unwrapped: 0 }
  const provider: KeyProvider = {
    async wrap(key, associatedData) {
      if (state.isAway('wrap')) throw new VaultError('unavailable', AWAY)
      return keys.wrap(key, associatedData)
    },
    async unwrap(wrapped, associatedData) {
      state.unwrapped++
      if (state.isAway('unwrap')) throw new VaultError('unavailable', AWAY)
      return keys.unwrap(wrapped, associatedData)
    },
  }
  return { state, provider }
}

/** Pauses take no time. */
const hasty: Timer = { after: (_, wake) => SYSTEM_PORTS.timer.after(0, wake) }

onEachStorage('a rotation whose key service is away', (engine) => {
  it.each([1, 2, 3])('at its call %i says so in the words of the provider, and is finished by the next', async (call) => {
    const place = engine.fresh()
    const { state, provider } = service()
    const filled = await fillRotating(await openRotating(place.open()), 30)
    const vault = await openRotating(place.open(), { keys: provider, timer: hasty })
    const reader = await openRotating(place.open(), { keys: provider, audit: 'off' })
    let calls = 0
    state.isAway = () => ++calls >= call
    const ended = await vault.rotateKeys().catch((error: unknown) => error)
    expect(ended).toMatchObject({ code: 'unavailable', message: expect.stringContaining(AWAY) })
    // With the audit off a read needs no new key, so no key service.
    expect((await reader.as(OWNER).getOne('people', filled.ids[1] ?? '')).fields.name).toBe('name 1')
    state.isAway = () => false
    const next = await openRotating(place.open(), { aheadMs: LEASE_MS })
    expect((await next.keys()).keys.filter(({ state: is }) => is === 'pending').length).toBeLessThanOrEqual(1)
    await next.rotateKeys()
    for (const one of [next, vault]) expect([...(await leftBehind(one)), ...(await missingIn(one, filled))]).toEqual([])
  })
})

onEachStorage('other processes of a rotation that lets them learn the key first', (engine) => {
  it.each(['on', 'off'] as const)('need no key service at the activation, audit %s', async (audit) => {
    const place = engine.fresh()
    const { state, provider } = service()
    const filled = await fillRotating(await openRotating(place.open(), { audit }), 30)
    const other = await openRotating(place.open(), { keys: provider, audit })
    let hasLearned = false
    // While the rotation waits, the other process is called once, and learns of the key.
    const timer: Timer = {
      after(milliseconds, wake, keepsProcess) {
        if (milliseconds !== 5000 || hasLearned) return SYSTEM_PORTS.timer.after(0, wake, keepsProcess)
        hasLearned = true
        void other
          .as(OWNER)
          .insertOne('others', { a: 'before' })
          .then(() => {
            state.isAway = () => true
            state.unwrapped = 0
          })
          .finally(wake)
        return () => {}
      },
    }
    const vault = await openRotating(place.open(), { audit, timer })
    await vault.rotateKeys({ settleMs: 5000 })
    expect(hasLearned).toBe(true)
    await other.as(OWNER).insertOne('others', { a: 'after' })
    expect(await missingIn(other, filled)).toEqual([])
    expect(state.unwrapped).toBe(0)
    expect(await leftBehind(vault)).toEqual([])
  })

  it('need it if they are not given the time, which this test finds', async () => {
    const place = engine.fresh()
    const { state, provider } = service()
    await fillRotating(await openRotating(place.open()), 5)
    const other = await openRotating(place.open(), { keys: provider })
    await (await openRotating(place.open())).rotateKeys()
    state.isAway = () => true
    await expect(other.as(OWNER).insertOne('others', { a: 'after' })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining(AWAY),
    })
    expect(state.unwrapped).toBeGreaterThan(0)
  })
})
