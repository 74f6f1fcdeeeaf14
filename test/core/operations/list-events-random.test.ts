/** Listings of a trail of several chains equal the slow way, with random filters, ranges and pages: all events, filtered and sorted. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { ChainedEvent } from '../../../src/core/audit/event.ts'
import { eventsOf, openClients } from '../../support/audit/audited-clients.ts'
import { doOperations } from '../../support/audit/audited-work.ts'
import { type SeededRandom, seededRandom } from '../../support/random/seeded-random.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

/** Members that both a query and an event have. */
interface Wanted {
  readonly actionType?: ChainedEvent['action']
  readonly actor?: string
  readonly startTime?: string
  readonly endTime?: string
}

function randomWanted(events: readonly ChainedEvent[], random: SeededRandom): Wanted {
  const one = random.pick(events)
  return {
    ...(random.chance(0.4) ? { actionType: one.action } : {}),
    ...(random.chance(0.3) ? { actor: one.context.actor } : {}),
    ...(random.chance(0.4) ? { startTime: random.pick(events).timestamp } : {}),
    ...(random.chance(0.4) ? { endTime: random.pick(events).timestamp } : {}),
  }
}

/** The change ids of matching events, newest first. */
function expected(events: readonly ChainedEvent[], { actionType, actor, startTime, endTime }: Wanted): string[] {
  return events
    .filter(({ action, context, timestamp }) => {
      if (actionType !== undefined && action !== actionType) return false
      if (actor !== undefined && context.actor !== actor) return false
      return (startTime === undefined || timestamp >= startTime) && (endTime === undefined || timestamp < endTime)
    })
    .sort((left, right) => compare(right.timestamp, left.timestamp) || compare(right.changeID, left.changeID))
    .map(({ changeID }) => changeID)
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

it('a listing in pages returns the events of the slow way, in its order', async () => {
  // As on PostgreSQL, transactions are concurrent, so that there are several chains.
  const storage = { ...memoryStorage(), transactions: 'concurrent' } as const
  const vault = await openClients(storage)
  for (const name of ['a', 'b', 'c']) await doOperations(vault, { name, callers: 7, each: 20 })
  const events = await eventsOf(vault)
  expect(new Set(events.map(({ position }) => position.chain)).size).toBeGreaterThan(3)
  const auditor = (await openClients(storage, { audit: 'off' })).as(OWNER)
  const random = seededRandom('listings')
  for (let round = 0; round < 60; round++) {
    const wanted = randomWanted(events, random)
    const { actor, ...rest } = wanted
    const filterOps = { accountID: 'v1', ...rest, ...(actor === undefined ? {} : { context: { actor } }) }
    const limit = 1 + random.below(100)
    const listed: string[] = []
    for (let after: { timestamp: string; changeID: string } | undefined; ; ) {
      const page = await auditor.listEvents({ filterOps, limit, ...(after === undefined ? {} : { afterOps: after }) })
      listed.push(...page.events.map(({ context }) => context.changeID))
      if (page.nextOps === undefined) break
      expect(page.events).toHaveLength(limit)
      after = page.nextOps
    }
    expect(listed, `round ${round}: ${JSON.stringify(wanted)}`).toEqual(expected(events, wanted))
  }
})
