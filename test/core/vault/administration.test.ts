/** An owner asks of the whole vault what an application asks of it without a caller; all others are refused, and that is recorded. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { callerOf, eventsOf, openClients, PEOPLE } from '../../support/audit/audited-clients.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const open = async () => {
  const vault = await openClients(memoryStorage(), { policy: { auditor: ['ALLOW AUDIT ON *'] } })
  const owner = vault.as(OWNER)
  await owner.insert(
    'clients',
    PEOPLE.map((fields) => ({ fields })),
  )
  return { vault, owner }
}

describe('administration by a caller', () => {
  it('has the results of the calls of the vault', async () => {
    const { vault, owner } = await open()
    expect(await owner.perform('describeKeys', { count: true })).toEqual(await vault.keys({ count: true }))
    expect(await owner.perform('listJobs', {})).toEqual({ jobs: [] })
    expect(await owner.perform('describeContents', {})).toEqual(await vault.contents())
    expect(await owner.perform('describeSchemaChange', {})).toEqual({ plan: null })
    expect(await owner.perform('health', {})).toMatchObject({ ok: true, checks: [{ name: 'storage', ok: true }] })
  })

  it('rotates once and destroys, and the trail says who asked and what the vault did', async () => {
    const { vault, owner } = await open()
    expect(await owner.perform('rotateKeys', {})).toMatchObject({ version: 3, complete: true })
    const [old] = (await vault.keys()).keys.filter(({ state }) => state === 'retired')
    expect(await owner.perform('destroyKey', { version: old?.version ?? 0 })).toMatchObject({ lost: 0 })
    const steps = (await eventsOf(vault)).filter(({ action }) => action === 'ROTATE_KEYS' || action === 'DESTROY_KEY')
    const byOwner = steps.filter(({ context }) => context.actor === OWNER.actor)
    expect(byOwner.map(({ action, content }) => [action, content])).toEqual([
      ['ROTATE_KEYS', '{}'],
      ['DESTROY_KEY', `{"version":${old?.version}}`],
    ])
    expect(steps.length).toBeGreaterThan(byOwner.length)
  })

  it('records a call that the vault then refuses as one that failed', async () => {
    const { vault, owner } = await open()
    await expect(owner.perform('destroyKey', { version: 2 })).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringMatching(/^Destroying the key failed\. Root key 2/),
    })
    await expect(owner.perform('rotateKeys', { pace: 0 })).rejects.toMatchObject({ code: 'invalid_request' })
    const asked = (await eventsOf(vault)).filter(({ action }) => action === 'ROTATE_KEYS' || action === 'DESTROY_KEY')
    expect(asked.map(({ action, code, content }) => [action, code, content])).toEqual([
      ['DESTROY_KEY', 200, '{"version":2}'],
      ['DESTROY_KEY', 422, '{"version":2}'],
      ['ROTATE_KEYS', 200, '{"pace":0}'],
      ['ROTATE_KEYS', 400, '{"pace":0}'],
    ])
  })

  it('is refused without ALL, which is recorded; reading again and again by an owner is not', async () => {
    const { vault, owner } = await open()
    const auditor = vault.as(callerOf('auditor'))
    const before = (await eventsOf(vault)).length
    const calls = ['describeKeys', 'listJobs', 'describeContents', 'describeSchemaChange', 'rotateKeys'] as const
    for (const name of calls) await expect(auditor.perform(name, {})).rejects.toMatchObject({ code: 'forbidden' })
    await expect(auditor.perform('destroyKey', { version: 1 })).rejects.toMatchObject({ code: 'forbidden' })
    expect((await eventsOf(vault)).slice(before).map(({ code }) => code)).toEqual(Array(6).fill(401))
    expect(await auditor.perform('health', {})).toMatchObject({ ok: true })
    for (const name of ['describeKeys', 'listJobs', 'health'] as const) await owner.perform(name, {})
    await expect(owner.perform('describeKeys', { other: true } as never)).rejects.toMatchObject({ code: 'invalid_request' })
    expect((await eventsOf(vault)).length).toBe(before + 6)
    await vault.transaction(async (inside) => {
      await expect(inside.as(OWNER).perform('listJobs', {})).rejects.toMatchObject({
        name: 'VaultError',
        code: 'failed_precondition',
        message: expect.stringMatching(/^The list of jobs failed\. It is not part of a transaction/),
      })
    })
  })

  it('verifies the trail with progress, for AUDIT, and ends with the reader', async () => {
    const { vault } = await open()
    const auditor = vault.as(callerOf('auditor'))
    const lines = []
    for await (const line of await auditor.perform('verifyAudit', {})) lines.push(line)
    expect(lines.at(-1)).toMatchObject({ result: { ok: true }, milliseconds: expect.any(Number) })
    expect(lines[0]).toHaveProperty('progress.done')
    for await (const _ of await auditor.perform('verifyAudit', {})) break
    expect(await vault.maintenance()).toEqual([])
    await expect(vault.as(callerOf('nothing')).perform('verifyAudit', {})).rejects.toMatchObject({ code: 'forbidden' })
    const events = (await eventsOf(vault)).filter(({ action }) => action === 'VERIFY_AUDIT')
    expect(events.map(({ code }) => code)).toEqual([200, 200, 401])
  })
})
