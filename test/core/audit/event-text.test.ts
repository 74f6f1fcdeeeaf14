/** What a verification reads off the text of an event is what parsing it gives, and text that is not canonical is not accepted. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { verifyExport } from '../../../src/audit-verifier/index.ts'
import type { ChainedEvent, EventDraft } from '../../../src/core/audit/event.ts'
import { matchEvent, parseEventText, readCanonical } from '../../../src/core/audit/event-text.ts'
import { encodeEvent } from '../../../src/core/audit/write-event.ts'
import { readUtf8, sameBytes, toUtf8 } from '../../../src/core/util/bytes.ts'
import { at, required } from '../../../src/core/util/lists.ts'
import { bytesOf, DRAFT, FAILED_DRAFT, FULL_DRAFT, textOf, writeChain } from '../../support/audit/sample-trails.ts'
import { type SeededRandom, seededRandom } from '../../support/random/seeded-random.ts'

/** The slow way: parse the text, write the event again, and compare the bytes. */
function parsed(bytes: Uint8Array): ChainedEvent | undefined {
  const event = parseEventText(readUtf8(bytes, 0, bytes.length))
  return event !== undefined && sameBytes(encodeEvent(event), bytes) ? event : undefined
}

/** Fails if both ways differ. Returns whether the bytes were accepted. */
function isAccepted(bytes: Uint8Array): boolean {
  const [links, event] = [readCanonical(bytes), parsed(bytes)]
  const { position, timestamp, vaultID } = event ?? {}
  const { position: ownPosition, timestamp: ownTime, vaultID: ownVault } = links ?? {}
  expect([ownPosition, ownTime, ownVault], readUtf8(bytes, 0, bytes.length)).toEqual([position, timestamp, vaultID])
  return links !== undefined
}

/** A batch with every kind of nested outcome. */
const BATCH_DRAFT: EventDraft = {
  ...FULL_DRAFT,
  context: { ...DRAFT.context, clientTraceID: 'plain', userEmail: 'cy@acme.example' },
  tables: ['people', 'orders'],
  rows: [],
  nested: [
    {
      items: 3,
      code: 200,
      message: '',
      resourceType: 'RECORD',
      rows: { table: 'people', runs: [[1, 3]] },
      content: '{"a":"b\\"c"}',
    },
    { items: 2 ** 47, code: 599, message: 'x', resourceType: 'TOKEN', contentOf: 0 },
    { code: 100, message: '', resourceType: 'VAULT', rows: { table: 'people', runs: [] } },
  ],
}
const DRAFTS = [DRAFT, FULL_DRAFT, FAILED_DRAFT, BATCH_DRAFT]
const EVENTS = writeChain(3, DRAFTS).rows.map(({ bytes }) => textOf(bytes))
const TEXT = readUtf8(at(EVENTS, 3), 0, at(EVENTS, 3).length)

/** The lines that an earlier build exported. */
const EXPORTED: readonly string[] = JSON.parse(readFileSync(new URL('../../vectors/audit-export.json', import.meta.url), 'utf8'))

it('an export of an earlier build is verified, and its events still have the same texts and digests', async () => {
  expect(await verifyExport(EXPORTED)).toEqual({ ok: true, eventCount: 6, checkpoints: 0 })
  const events = EXPORTED.flatMap((line) => /^\{"digest":"[0-9a-f]*","event":(.*)\}$/.exec(line)?.[1] ?? [])
  expect(events.length).toBe(6)
  for (const text of events) {
    const event = required(parseEventText(text))
    const stored = textOf(bytesOf(event))
    const copied = readUtf8(stored, 0, stored.length)
    expect([readUtf8(encodeEvent(event), 0, text.length), copied]).toEqual([text, text])
    expect(matchEvent(text)).toBeDefined()
  }
})

it('an event of each kind is accepted with its links', () => {
  expect(EVENTS.map(isAccepted)).toEqual([true, true, true, true])
})

it('a text without rare characters is matched, and so is not parsed', () => {
  const plain = EVENTS.map((bytes) => readUtf8(bytes, 0, bytes.length)).map((text) =>
    text.replace(/[^\x20-\x7f]|\\u....|(?<="items":)\d{15,}/g, '9'),
  )
  expect(plain.map((text) => matchEvent(text) !== undefined)).toEqual([true, true, true, true])
})

it.each<readonly [string, (text: string) => string]>([
  ['a space between members', (text) => text.replace(',"action"', ', "action"')],
  ['a space before it', (text) => ` ${text}`],
  ['a line end after it', (text) => `${text}\n`],
  ['two members swapped', (text) => text.replace(/("accountID":"acme"),("action":"BATCH")/, '$2,$1')],
  ['a member twice', (text) => text.replace('"v":1', '"v":1,"v":1')],
  ['an unknown member', (text) => text.replace('"v":1', '"u":1,"v":1')],
  ['an unknown member of its context', (text) => text.replace('"actor":', '"acting":"x","actor":')],
  ['a missing member', (text) => text.replace('"vaultID":"v1"', '"vaultID":null')],
  ['no vault', (text) => text.replace(',"vaultID":"v1"', '')],
  ['another version', (text) => text.replace('"v":1', '"v":2')],
  ['an unknown action', (text) => text.replace('"BATCH"', '"BATCHES"')],
  ['an escape that need not be one', (text) => text.replace('"acme"', '"\\u0061cme"')],
  ['an escaped slash', (text) => text.replace('"acme"', '"ac\\/me"')],
  ['a control character', (text) => text.replace('"acme"', '"ac\u0001me"')],
  ['a code with an exponent', (text) => text.replace('"code":200', '"code":2e2')],
  ['a code with decimals', (text) => text.replace('"code":200', '"code":200.0')],
  ['a code out of range', (text) => text.replace('"code":200', '"code":600')],
  ['chain 0', (text) => text.replace('"chain":3', '"chain":0')],
  ['a chain that is too high', (text) => text.replace('"chain":3', '"chain":65536')],
  ['a chain with a leading zero', (text) => text.replace('"chain":3', '"chain":03')],
  ['a sequence number that is too high', (text) => text.replace('"sequence":4', '"sequence":4294967296')],
  ['a digest in capitals', (text) => text.replace(/"previous":"[0-9a-f]{64}"/, `"previous":"${'A'.repeat(64)}"`)],
  ['a digest that is too short', (text) => text.replace(/"previous":"[0-9a-f]{64}"/, `"previous":"${'a'.repeat(63)}"`)],
  ['a time with an offset', (text) => text.replace(/(\d{9})Z"/, '$1+00:00"')],
  ['one item of neighbors', (text) => text.replace('"items":3', '"items":1')],
  ['a run of no rows', (text) => text.replace('[1,3]', '[1,0]')],
  ['a run of three numbers', (text) => text.replace('[1,3]', '[1,3,4]')],
])('an event with %s is not accepted', (_, edit) => {
  const edited = edit(TEXT)
  expect(edited).not.toBe(TEXT)
  expect(isAccepted(toUtf8(edited))).toBe(false)
})

it.each<readonly [string, (text: string) => string]>([
  ['the highest chain', (text) => text.replace('"chain":3', '"chain":65535')],
  ['the highest sequence number', (text) => text.replace('"sequence":4', '"sequence":4294967295')],
  ['the highest row', (text) => text.replace('[1,3]', '[281474976710655,1]')],
  ['no previous event', (text) => text.replace(/"previous":"[0-9a-f]{64}"/, '"previous":""')],
  ['letters of any alphabet', (text) => text.replace('"acme"', '"日本 é 😀"')],
  ['an escaped control character', (text) => text.replace('"acme"', '"\\u0001\\n"')],
  ['quotes in its change id', (text) => text.replace(/"changeID":"[^"]*"/, '"changeID":"a\\"b\\\\"')],
  ['a long text', (text) => text.replace('"acme"', `"${'ab"c'.repeat(20_000).replaceAll('"', '\\"')}"`)],
])('an event with %s is accepted', (_, edit) => {
  const edited = edit(TEXT)
  expect(edited).not.toBe(TEXT)
  expect(isAccepted(toUtf8(edited))).toBe(true)
})

it('bytes that are not valid UTF-8 are not accepted, even if a lenient decoder reads the text of an event', () => {
  const bytes = toUtf8(TEXT)
  const start = TEXT.indexOf('acme')
  // 0xc1 0xa1 is a longer form of the letter a.
  const longer = Uint8Array.from([...bytes.subarray(0, start), 0xc1, 0xa1, ...bytes.subarray(start + 1)])
  expect(readUtf8(longer, 0, longer.length)).not.toBe(TEXT)
  expect(isAccepted(longer)).toBe(false)
})

/** Bytes with one random edit, mostly of characters that mean something in JSON. */
function edited(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const place = random.below(bytes.length)
  const written = random.chance(0.7) ? at([...toUtf8('"\\{}[],:0123456789 azAZ')], random.below(23)) : random.below(256)
  const removed = random.pick([0, 1, 1, 2, 9])
  const added = random.chance(0.7) ? [written] : random.chance(0.5) ? [] : [...bytes.subarray(place, place + random.below(12))]
  return Uint8Array.from([...bytes.subarray(0, place), ...added, ...bytes.subarray(place + removed)])
}

it('6,000 random edits are accepted if and only if parsing accepts them', () => {
  const random = seededRandom('canonical events')
  let accepted = 0
  for (let round = 0; round < 6_000; round++) if (isAccepted(edited(random.pick(EVENTS), random))) accepted++
  expect(accepted).toBeGreaterThan(30)
})

it.each([
  ['invalid UTF-8', '\u00ff'],
  ['invalid JSON', '{'],
  ['a JSON array', '[]'],
  ['another version', TEXT.replace('"v":1', '"v":2')],
  ['an unknown member', TEXT.replace('"v":1', '"u":1,"v":1')],
  ['a missing member', TEXT.replace('"code":200,', '')],
])('bytes with %s are no event', (_what, text) => {
  expect(parseEventText(text)).toBeUndefined()
  expect(readCanonical(Uint8Array.from(Buffer.from(text, 'latin1')))).toBeUndefined()
})
