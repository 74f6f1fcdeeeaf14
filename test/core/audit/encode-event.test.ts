/** The one text of an event: canonical, whole, and read back strictly. */
import { expect, test } from 'vitest'
import { decodeEvent, encodeEvent, eventText } from '../../../src/core/audit/encode-event.ts'
import type { ChainedEvent } from '../../../src/core/audit/event.ts'
import { jsonCanonical } from '../../../src/core/values/json-canonical.ts'
import { DRAFT, FAILED_DRAFT, FULL_DRAFT } from '../../support/audit/sample-trails.ts'

const CHAINED = {
  v: 1,
  place: { lane: 3, sequence: 4, previous: 'ab'.repeat(32) },
  changeID: 'c',
  timestamp: '2027-01-15T08:00:00.000000001Z',
  vaultID: 'v1',
  accountID: 'acme',
} as const
const EVENTS: ChainedEvent[] = [DRAFT, FULL_DRAFT, FAILED_DRAFT].map((draft) => ({ ...draft, ...CHAINED }))

test('an event is written as RFC 8785 says, whatever members it has', () => {
  for (const event of EVENTS) expect(eventText(event)).toBe(jsonCanonical(JSON.parse(JSON.stringify(event))))
})

test('an event comes back as it was written', () => {
  for (const event of EVENTS) expect(decodeEvent(encodeEvent(event))).toEqual(event)
})

test('the bytes are UTF-8', () => {
  for (const event of EVENTS) expect(Buffer.from(encodeEvent(event)).toString('utf8')).toBe(eventText(event))
})

test('members in another order give the same bytes', () => {
  const [event = { ...DRAFT, ...CHAINED }] = EVENTS
  const turned = Object.fromEntries(Object.entries(event).reverse())
  expect(encodeEvent({ ...event, ...turned })).toEqual(encodeEvent(event))
})

test.each([
  ['no text', '\u00ff'],
  ['no JSON', '{'],
  ['no object', '[]'],
  ['another version', JSON.stringify({ ...EVENTS[0], v: 2 })],
  ['an unknown member', JSON.stringify({ ...EVENTS[0], more: 1 })],
  ['an unknown member inside', JSON.stringify({ ...EVENTS[0], context: { ...DRAFT.context, more: 1 } })],
  ['a member missing', JSON.stringify({ ...EVENTS[0], code: undefined })],
  ['an unknown action', JSON.stringify({ ...EVENTS[0], action: 'SHRED' })],
  ['a place that is none', JSON.stringify({ ...EVENTS[0], place: { lane: 0, sequence: 1, previous: '' } })],
  ['a digest that is none', JSON.stringify({ ...EVENTS[0], place: { lane: 1, sequence: 1, previous: 'AB'.repeat(32) } })],
])('bytes with %s are refused without being quoted', (_what, text) => {
  expect(() => decodeEvent(Buffer.from(text, 'latin1'))).toThrow('An audit event cannot be read: it is not in a known format.')
})
