/** Listing after numbers were changed in the database: the other events are listed, and verification reports the change. */
import { expect, it } from 'vitest'
import { column } from '../../../src/index.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { CLERK, OWNER } from '../../support/vaults/test-vault.ts'

const HIGHEST = 2n ** 63n - 1n
const LOWEST = -(2n ** 63n)
const EVENTS = 60

onEachStorage('an event whose stored time was changed', (engine) => {
  it.each([
    ['the highest integer', HIGHEST, 0],
    ['the highest integer but one', HIGHEST - 1n, EVENTS - 1],
    ['the lowest integer', LOWEST, 5],
    ['zero', 0n, 5],
    ['nothing', null, 5],
    ['a later time', 1_900_000_000_000_000_000n, 5],
  ] as const)('to %s is left out and reported, and every other event is listed once', async (_, at, index) => {
    const storage = engine.fresh().open()
    const logged: string[] = []
    const log = { error: (_: object, message: string) => void logged.push(message), warn() {}, info() {} }
    const { vault } = await openLoose(storage, { notes: { text: column.string({}) } }, { log })
    for (let n = 0; n < EVENTS; n++)
      await vault
        .as(CLERK)
        .get('notes')
        .catch(() => {})
    const stored = await eventsOf(vault)
    const rows = await storage.find('audit_events', { kind: 'all' }, { order: 'asc', limit: EVENTS })
    const sorted = [...rows].sort((left, right) => (BigInt(String(left.at)) < BigInt(String(right.at)) ? -1 : 1))
    const changed = sorted[index]
    if (changed === undefined) throw new Error('the event to change is missing')
    expect(await storage.update('audit_events', [{ id: changed.id, version: changed.version, set: { at } }])).toEqual([true])

    const ids: string[] = []
    const filterOps = { accountID: 'v1', context: { actor: CLERK.actor } }
    for (let after: { timestamp: string; changeID: string } | undefined; ; ) {
      const page = await vault.as(OWNER).listEvents({ filterOps, limit: 7, ...(after === undefined ? {} : { afterOps: after }) })
      ids.push(...page.events.map(({ context }) => context.changeID))
      if (page.nextOps === undefined) break
      after = page.nextOps
    }
    const others = stored.filter((_, place) => place !== index).map(({ changeID }) => changeID)
    expect(ids).toEqual(others.reverse())
    expect(await vault.verifyAudit()).toMatchObject({ ok: false, firstFailure: { reason: expect.stringContaining('timestamp') } })
    expect(new Set(logged).size).toBeLessThanOrEqual(1)
    await vault.close()
  })
})

onEachStorage('a record whose row id was changed', (engine) => {
  it.each([2n ** 50n, -5n])('to %s does not make the trail unreadable', async (id) => {
    const storage = engine.fresh().open()
    const { vault } = await openLoose(storage, { notes: { text: column.string({}) } })
    const owner = vault.as(OWNER)
    await owner.insert('notes', [{ fields: { text: 'a' } }, { fields: { text: 'b' } }])
    const table = 'records_1_notes'
    const [row, ...others] = await storage.find(table, { kind: 'all' }, { order: 'asc', limit: 10 })
    if (row === undefined) throw new Error('the record to move is missing')
    // All rows are put back at once: a row alone could have a lower id than those that are committed.
    await storage.delete(table, { filter: { kind: 'all' } })
    await storage.insert(table, [{ ...row, id: Number(id) }, ...others])
    await owner.get('notes').catch(() => {})
    await owner.query('select count(*) from notes').catch(() => {})
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
    await vault.close()
  })
})
