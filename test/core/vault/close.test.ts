/** Closing a vault: calls in progress end, later ones are refused, and the keys are gone. */
import { expect, it } from 'vitest'
import { isVaultError, VaultError } from '../../../src/core/errors.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const CLOSED = { code: 'failed_precondition', message: 'The vault is closed. Open it again.' }
const TABLES = { people: { name: { type: 'STRING', token: 'random' } } } as const

onEachStorage('a closed vault', (engine) => {
  it('refuses every call with failed_precondition, also of sessions from before', async () => {
    const { vault, session } = await openLoose(engine.fresh().open(), TABLES)
    const { records } = await session.insert('people', [{ fields: { name: 'A' } }], { tokenization: true })
    await Promise.all([vault.close(), vault.close()])
    await vault.close()
    const lines = vault.exportAudit()[Symbol.asyncIterator]()
    const calls: (() => unknown)[] = [
      () => session.getOne('people', records[0]?.id ?? ''),
      () => session.insert('people', [{ fields: { name: 'B' } }], {}),
      () => session.detokenize([{ token: records[0]?.tokens.name ?? '' }]),
      () => vault.as(OWNER).listEvents({ filterOps: { accountID: 'v1' } }),
      () => vault.transaction(async (inside) => inside.as(OWNER).query('SELECT name FROM people')),
      () => vault.sweep(),
      () => vault.verifyAudit(),
      () => lines.next(),
    ]
    for (const call of calls) await expect(call()).rejects.toMatchObject(CLOSED)
    expect(() => vault.explainQuery('SELECT name FROM people', OWNER)).toThrow(CLOSED.message)
  })

  it('lets calls in progress end: what was stored is reported as stored', async () => {
    const place = engine.fresh()
    const { vault, session } = await openLoose(place.open(), TABLES)
    const first = await session.insert('people', [{ fields: { name: 'A' } }], { tokenization: true })
    const token = first.records[0]?.tokens.name ?? ''
    const started = Array.from({ length: 30 }, (_, i) =>
      i % 3 === 0 ? session.detokenize([{ token }]) : session.insert('people', [{ fields: { name: `N${i}` } }], {}),
    )
    const inside = vault.transaction(async (within) => {
      await within.as(OWNER).insert('people', [{ fields: { name: 'T' } }])
      return within.as(OWNER).query('SELECT name FROM people')
    })
    const closing = vault.close()
    const late = await session.insert('people', [{ fields: { name: 'late' } }], {}).catch((error: unknown) => error)
    expect(isVaultError(late, 'failed_precondition')).toBe(true)
    const ended = await Promise.allSettled([...started, inside])
    await closing
    expect(ended.filter(({ status }) => status === 'rejected')).toEqual([])
    const again = await openLoose(place.open(), TABLES)
    const { records } = await again.vault.as(OWNER).query('SELECT COUNT(*) AS n FROM people')
    expect(records[0]).toMatchObject({ fields: { n: 22 } })
    expect((await again.vault.verifyAudit()).ok).toBe(true)
  })

  it('is no defect for a call that it waited for no longer', async () => {
    const sound = engine.fresh().open()
    const gate = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    let isHeld = false
    const find: typeof sound.find = async (table, filter, page) => {
      if (!isHeld) return sound.find(table, filter, page)
      isHeld = false
      reached.resolve()
      await gate.promise
      throw new VaultError('unavailable', 'Lost.')
    }
    const { vault, session } = await openLoose({ ...sound, find, closeMs: 20 }, TABLES)
    isHeld = true
    const reading = session.get('people').catch((error: unknown) => error)
    await reached.promise
    await vault.close()
    gate.resolve()
    // By what is closed first: the keys, or the storage.
    const ended = await reading
    if (!VaultError.isGenuine(ended)) expect.fail('the call ended otherwise')
    expect(ended.message).toMatch(/^Get failed\./)
    expect(['failed_precondition', 'unavailable']).toContain(ended.code)
  })
})
