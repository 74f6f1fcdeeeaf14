/** Calls that share a commit, some of which their callers abort: each has one event, and stores what the event says. */
import { expect, it } from 'vitest'
import { isVaultError } from '../../../src/index.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { type Engine, onEachStorage } from '../../support/storages/engines.ts'
import { type CommitMoment, watchedCommits } from '../../support/storages/watched-commits.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const CALLS = 30
/** Those that are aborted: an insert, a batch and a read, the first and the last among them. */
const ABORTED: ReadonlySet<number> = new Set([0, 16, 29])

/** Begins all calls in one turn, and aborts some of them at a moment. */
async function callAll(engine: Engine, moment: CommitMoment | 'begun') {
  const { storage, at, count } = watchedCommits(engine.fresh().open())
  const vault = await openPeople(storage)
  const { records } = await vault.as(OWNER).insert('people', [{ fields: { name: 'Ann' } }])
  const known = records[0]?.id ?? ''
  const aborting = new AbortController()
  const call = (n: number): Promise<unknown> => {
    const session = vault.as({ ...OWNER, request: { requestID: `call ${n}` } })
    const more = ABORTED.has(n) ? { signal: aborting.signal } : {}
    const fields = { name: `new ${n}` }
    if (n % 3 === 0) return session.insert('people', [{ fields }], more)
    if (n % 3 === 1) return session.batch([{ insert: 'people', fields }], more)
    return session.get('people', { ids: [known], ...more })
  }
  if (moment !== 'begun') at(moment, { isDue: () => true, run: async () => aborting.abort() })
  const before = count()
  const calls = Array.from({ length: CALLS }, (_, n) => call(n))
  if (moment === 'begun') aborting.abort()
  const ends = await Promise.allSettled(calls)
  return { vault, ends, commits: count() - before }
}

onEachStorage('calls that share a commit', (engine) => {
  it.each(['begun', 'before', 'after'] as const)('have one event each where some are aborted: %s', async (moment) => {
    const { vault, ends, commits } = await callAll(engine, moment)
    expect(commits).toBeLessThan(CALLS)
    const { records } = await vault.as(OWNER).get('people', { redaction: 'PLAIN_TEXT', limit: 100 })
    const stored = new Set(records.map(({ fields }) => fields.name))
    const events = await eventsOf(vault)
    for (const [n, end] of ends.entries()) {
      const own = events.filter(({ context }) => context.requestID === `call ${n}`)
      expect(own).toHaveLength(1)
      const isDone = own[0]?.code === 200
      expect(isDone).toBe(end.status === 'fulfilled')
      if (end.status === 'rejected') expect([ABORTED.has(n), isVaultError(end.reason, 'cancelled')]).toEqual([true, true])
      if (n % 3 !== 2) expect(stored.has(`new ${n}`)).toBe(isDone)
    }
    expect((await vault.verifyAudit()).ok).toBe(true)
    await vault.close()
  })
})
