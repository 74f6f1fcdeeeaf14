/** Listing after the clock was set back: events with future times are listed like all others, each exactly once. */
import { expect, it } from 'vitest'
import { type AuditEvent, column, type EventQueryInput, type Vault } from '../../../src/index.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { openLoose, START_MS } from '../../support/vaults/open-untyped.ts'
import { CLERK, OWNER } from '../../support/vaults/test-vault.ts'

const HOUR = 3_600_000
/** Numbers of events before and after the clock was set back. Commits hold 256 events, so on PostgreSQL the second use chains that the first did not. */
const BEFORE = 512
const AFTER = 1536

type Filter = Omit<EventQueryInput['filterOps'], 'accountID'>

const iso = (ms: number): string => new Date(ms).toISOString()

/** Makes this many forbidden calls at once, which record as many events. */
async function refusals(vault: Vault, count: number): Promise<void> {
  const session = vault.as(CLERK)
  const outcomes = await Promise.allSettled(Array.from({ length: count }, () => session.get('notes')))
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toEqual([])
}

/** Ids of the refusals as an auditor lists them, page by page, newest first. */
async function listed(vault: Vault, filter: Filter): Promise<AuditEvent[]> {
  const events: AuditEvent[] = []
  const filterOps = { accountID: 'v1', context: { actor: CLERK.actor }, ...filter }
  for (let after: { timestamp: string; changeID: string } | undefined; ; ) {
    const query = { filterOps, limit: 100, ...(after === undefined ? {} : { afterOps: after }) }
    const page = await vault.as(OWNER).listEvents(query)
    events.push(...page.events)
    if (page.nextOps === undefined) return events
    after = page.nextOps
  }
}

onEachStorage('listed events after a clock was set back', (engine) => {
  it(`are complete: each of ${BEFORE + AFTER} events once, with any filter`, async () => {
    const { vault, clock } = await openLoose(engine.fresh().open(), { notes: { text: column.string({}) } })
    await refusals(vault, BEFORE)
    clock.ms -= HOUR
    await refusals(vault, AFTER)
    const stored = await eventsOf(vault)
    expect(stored).toHaveLength(BEFORE + AFTER)
    const between = START_MS - HOUR / 2
    // In a chain time never goes back, so only concurrent chains have events of the earlier hour.
    expect(stored.some(({ timestamp }) => Date.parse(timestamp) < between)).toBe(engine.name === 'postgres')
    const cases: readonly (readonly [Filter, (at: number) => boolean])[] = [
      [{}, () => true],
      [{ startTime: iso(between) }, (at) => at >= between],
      [{ endTime: iso(between) }, (at) => at < between],
      [{ startTime: iso(START_MS - 2 * HOUR), endTime: iso(START_MS + HOUR) }, () => true],
    ]
    for (const [filter, isAsked] of cases) {
      const events = await listed(vault, filter)
      const ids = events.map(({ context }) => context.changeID)
      const expected = stored.filter(({ timestamp }) => isAsked(Date.parse(timestamp)))
      expect(ids.length, JSON.stringify(filter)).toBe(new Set(ids).size)
      expect([...ids].sort(), JSON.stringify(filter)).toEqual(expected.map(({ changeID }) => changeID).sort())
      const times = events.map(({ response }) => response.timestamp)
      expect(times).toEqual([...times].sort().reverse())
    }
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
  })

  it('begin with the newest, not with those before the current time', async () => {
    const { vault, clock } = await openLoose(engine.fresh().open(), { notes: { text: column.string({}) } })
    await refusals(vault, 3)
    const before = await eventsOf(vault)
    clock.ms -= HOUR
    const { events } = await vault.as(OWNER).listEvents({ filterOps: { accountID: 'v1' } })
    expect(events.map(({ context }) => context.changeID)).toEqual(before.map(({ changeID }) => changeID).reverse())
  })
})
