/** The law that tampering with the stored audit trail is found, and its documented limit. */
import { expect, it } from 'vitest'
import { auditTampering } from '../laws/audit-tampering.ts'
import {
  chainOf,
  changed,
  FOUND,
  FOUND_BY_CHECKPOINT,
  missedBy,
  oneOf,
  openStoredTrail,
  without,
} from '../support/audit/stored-trail.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { seededRandom } from '../support/random/seeded-random.ts'

const sample = await openStoredTrail()
const { vault, trail, earlier, foreign, checkpoint, write } = sample
const random = seededRandom('tamper with the trail in storage')

it('an unchanged trail verifies, with and without a checkpoint', async () => {
  const verdict = { ok: true, eventCount: 25 }
  expect(trail.heads.length).toBeGreaterThanOrEqual(3)
  expect(await vault.verifyAudit()).toEqual(verdict)
  await write(trail)
  expect(await vault.verifyAudit({ checkpoints: [checkpoint] })).toEqual(verdict)
})

itHolds(auditTampering)

it('a checkpoint also reveals a trail that was restored to an earlier state', async () => {
  expect(await missedBy(sample, { ...FOUND, ...FOUND_BY_CHECKPOINT }, { times: 200, random, checkpoints: [checkpoint] })).toEqual(
    new Map(),
  )
}, 600_000)

it('without a checkpoint an earlier state verifies: this is the documented limit', async () => {
  const missed = await missedBy(sample, FOUND_BY_CHECKPOINT, { times: 40, random })
  expect([...missed.keys()].sort()).toEqual(Object.keys(FOUND_BY_CHECKPOINT).sort())
})

it('verification names the position of the first failure', async () => {
  const { events, heads } = trail
  const [row] = events.filter((one) => chainOf(one) === 1).slice(2)
  if (row === undefined) throw new Error('chain 1 is too short')
  await write({ events: without(events, row), heads })
  expect(await vault.verifyAudit()).toMatchObject({
    ok: false,
    firstFailure: { chain: 1, sequence: 3, reason: 'Event 3 of audit chain 1 is missing.' },
  })
  await write({ events, heads: changed(heads, oneOf(heads, { below: () => 0, earlier, foreign }), { body: null }) })
  expect(await vault.verifyAudit()).toMatchObject({
    ok: false,
    firstFailure: { chain: 1, sequence: 0, reason: 'The head of chain 1 cannot be read.' },
  })
  await write(trail)
})
