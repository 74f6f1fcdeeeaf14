/** The canonical text of an event, and its strict decoding. */
import { expect, it } from 'vitest'
import { decodeEvent, encodeEvent } from '../../../src/core/audit/encode-event.ts'
import type { ChainedEvent } from '../../../src/core/audit/event.ts'
import { jsonCanonical } from '../../../src/core/values/json-types.ts'
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

/** The text of an event, as it is written. */
function textOf(event: ChainedEvent): string {
  return Buffer.from(encodeEvent(event)).toString('utf8')
}

/** The canonical text of an event, written by sorting its members. */
function sortedText(event: ChainedEvent): string {
  return jsonCanonical(JSON.parse(JSON.stringify(event)))
}

it('writes every event in the form of RFC 8785', () => {
  for (const event of EVENTS) expect(textOf(event)).toBe(sortedText(event))
})

it('writes each event by its own members, whichever event was written before it', () => {
  const others = EVENTS.flatMap((event) => [
    event,
    ...Object.keys(FULL_DRAFT.context).map((name) => ({ ...event, context: { ...event.context, [name]: `other ${name}` } })),
    { ...event, code: 503 },
    { ...event, content: '{"other":1}' },
  ])
  for (const event of [...others, ...others.reverse()]) expect(textOf(event)).toBe(sortedText(event))
})

it.each([
  ['quotes, backslashes and control characters', '"\\\u0000\u001f\n\u007f'],
  ['text of several scripts', 'Gödel \u2028 \u65e5\u672c \u{1f512}'],
  ['lone surrogates', 'a\ud800b\udc00'],
  ['a long text', 'x'.repeat(70_000)],
])('escapes %s as JSON does', (_what, text) => {
  for (const event of EVENTS) {
    const written = {
      ...event,
      message: text,
      table: text,
      vaultID: text,
      context: { ...event.context, actor: text, requestID: text },
    }
    expect(textOf(written)).toBe(sortedText(written))
  }
})

it('writes row numbers of every length', () => {
  const numbers = [1, 9, 10, 99, 100, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 48 - 1, Number.MAX_SAFE_INTEGER]
  for (const event of EVENTS) {
    const many = {
      ...event,
      rows: [
        { table: 't', runs: numbers.map((number) => [number, number] as const) },
        { table: 'u', runs: [] },
      ],
    }
    expect(textOf(many)).toBe(sortedText(many))
  }
})

it('returns the event that was encoded', () => {
  for (const event of EVENTS) expect(decodeEvent(encodeEvent(event))).toEqual(event)
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
