/** The canonical text of an event, and its strict decoding. */
import { expect, it } from 'vitest'
import { decodeEvent, encodeEvent, eventText } from '../../../src/core/audit/encode-event.ts'
import type { ChainedEvent } from '../../../src/core/audit/event.ts'
import { jsonCanonical } from '../../../src/core/values/json-canonical.ts'
import { DRAFT, FAILED_DRAFT, FULL_DRAFT } from '../../support/audit/sample-trails.ts'

const CHAINED = {
  v: 1,
  position: { chain: 3, sequence: 4, previous: 'ab'.repeat(32) },
  changeID: 'c',
  timestamp: '2027-01-15T08:00:00.000000001Z',
  vaultID: 'v1',
  accountID: 'acme',
} as const
const EVENTS: ChainedEvent[] = [DRAFT, FULL_DRAFT, FAILED_DRAFT].map((draft) => ({ ...draft, ...CHAINED }))

it('writes every event in the form of RFC 8785', () => {
  for (const event of EVENTS) expect(eventText(event, event)).toBe(jsonCanonical(JSON.parse(JSON.stringify(event))))
})

it('returns the event that was encoded', () => {
  for (const event of EVENTS) expect(decodeEvent(encodeEvent(event))).toEqual(event)
})

it('writes UTF-8', () => {
  for (const event of EVENTS) expect(Buffer.from(encodeEvent(event)).toString('utf8')).toBe(eventText(event, event))
})

it('writes the same bytes for members in another order', () => {
  const [event = { ...DRAFT, ...CHAINED }] = EVENTS
  const turned = Object.fromEntries(Object.entries(event).reverse())
  expect(encodeEvent({ ...event, ...turned })).toEqual(encodeEvent(event))
})

it.each([
  ['invalid UTF-8', '\u00ff'],
  ['invalid JSON', '{'],
  ['a JSON array', '[]'],
  ['another version', JSON.stringify({ ...EVENTS[0], v: 2 })],
  ['an unknown member', JSON.stringify({ ...EVENTS[0], more: 1 })],
  ['an unknown member of the context', JSON.stringify({ ...EVENTS[0], context: { ...DRAFT.context, more: 1 } })],
  ['a missing member', JSON.stringify({ ...EVENTS[0], code: undefined })],
  ['an unknown action', JSON.stringify({ ...EVENTS[0], action: 'SHRED' })],
  ['an invalid position', JSON.stringify({ ...EVENTS[0], position: { chain: 0, sequence: 1, previous: '' } })],
  ['an invalid digest', JSON.stringify({ ...EVENTS[0], position: { chain: 1, sequence: 1, previous: 'AB'.repeat(32) } })],
])('rejects bytes with %s and does not quote them', (_what, text) => {
  expect(() => decodeEvent(Buffer.from(text, 'latin1'))).toThrow(
    expect.objectContaining({ code: 'data_loss', message: 'An audit event has an unknown format. Run vault.verifyAudit().' }),
  )
})
