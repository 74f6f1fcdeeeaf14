/** The text and the bytes of events: each event has one of each, they lead to one another, and other bytes are refused. */
import { expect, it } from 'vitest'
import {
  ACCESS_TYPES,
  ACTION_TYPES,
  ACTOR_TYPES,
  AUTH_MODES,
  type ChainedEvent,
  type EventContext,
  type EventRows,
  type NestedOutcome,
  RESOURCE_TYPES,
} from '../../../src/core/audit/event.ts'
import { EVENT, type Kind, type Member } from '../../../src/core/audit/event-members.ts'
import { parseEventText } from '../../../src/core/audit/event-text.ts'
import { copyText, decodeEvent } from '../../../src/core/audit/read-event.ts'
import { encodeEvent } from '../../../src/core/audit/write-event.ts'
import { ByteWriter, readUtf8, toHex, toUtf8 } from '../../../src/core/util/bytes.ts'
import { toTimestamp } from '../../../src/core/util/time.ts'
import { jsonCanonical } from '../../../src/core/values/json-types.ts'
import { bytesOf, DRAFT, FAILED_DRAFT, FULL_DRAFT } from '../../support/audit/sample-trails.ts'
import { type SeededRandom, seededRandom } from '../../support/random/seeded-random.ts'

const DAMAGED = { code: 'data_loss', message: 'An audit event has an unknown format. Run vault.verifyAudit().' }
const CHAINED = {
  v: 1,
  position: { chain: 3, sequence: 300, previous: 'ab'.repeat(32) },
  changeID: '4549cb78-3fb2-4f61-bfbb-88eda5f1b20f',
  timestamp: '2027-01-15T08:00:00.000000001Z',
  vaultID: 'v1',
  accountID: 'v1',
} as const
const SHORT: ChainedEvent = {
  ...CHAINED,
  context: { ...DRAFT.context, ipAddress: '' },
  action: 'GET',
  resourceType: 'RECORD',
  table: 'people',
  rows: [{ table: 'people', runs: [[300, 1]] }],
  code: 200,
  message: '',
  content: '{"ids":["*REDACTED*"]}',
}

const EVENTS: ChainedEvent[] = [DRAFT, FULL_DRAFT, FAILED_DRAFT].map((draft) => ({ ...draft, ...CHAINED }))

/** The canonical text of an event, as it is written. */
function textOf(event: ChainedEvent): string {
  return Buffer.from(encodeEvent(event)).toString('utf8')
}

/** The same, written by sorting its members. */
function sortedText(event: ChainedEvent): string {
  return jsonCanonical(JSON.parse(JSON.stringify(event)))
}

/** The canonical text that is made of stored bytes; undefined if they are no event. */
function copiedText(bytes: Uint8Array): string | undefined {
  const out = new ByteWriter()
  return copyText(out, bytes) === undefined ? undefined : readUtf8(out.bytes, 0, out.length)
}

/** An event that was read, without members that are undefined, and with the digest as text. */
function lacksUndefined(event: ChainedEvent): unknown {
  const previous = Buffer.from(event.position.previous).toString('hex')
  return JSON.parse(JSON.stringify({ ...event, position: { ...event.position, previous } }))
}

/** Texts of every kind: ids, texts that are nearly ids, any script, escapes, and lone surrogates. */
function oddText(random: SeededRandom): string {
  const digits = (count: number) => Array.from({ length: count }, () => '0123456789abcdef'[random.below(16)]).join('')
  const uuid = `${digits(8)}-${digits(4)}-${digits(4)}-${digits(4)}-${digits(12)}`
  const other = random.pick(['A', 'g', '`', '/', ':', '-', '\u0131', '\u0461', '0'])
  const edited = (text: string) => {
    const place = random.below(text.length)
    return text.slice(0, place) + other + text.slice(place + 1)
  }
  return random.pick([
    () => '',
    () => 'ann@acme.example',
    () => uuid,
    () => edited(uuid),
    () => uuid.toUpperCase(),
    () => digits(32),
    () => edited(digits(32)),
    () => digits(64),
    () => edited(digits(64)),
    () => digits(random.below(70)),
    () => 'é'.repeat(random.below(40)),
    () => '"quoted" \\ \u0000\u001f\u007f \u2028 日本 \u{1f512}',
    () => '\ufeff\ufffd',
    () => 'a\ud800b',
    () => `\udc00${digits(35)}`,
    () => 'x'.repeat(random.below(300)),
  ])()
}

const NUMBERS = [1, 127, 128, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 48 - 1, Number.MAX_SAFE_INTEGER]

function oddRows(random: SeededRandom): EventRows {
  const runs = Array.from({ length: random.below(4) }, () => [random.pick(NUMBERS), random.pick(NUMBERS)] as const)
  return { table: oddText(random), runs }
}

function oddOutcome(random: SeededRandom): NestedOutcome {
  const text = (name: string) => (random.chance(0.5) ? { [name]: oddText(random) } : {})
  return {
    code: 100 + random.below(500),
    message: oddText(random),
    resourceType: random.pick(RESOURCE_TYPES),
    ...text('content'),
    ...(random.chance(0.5) ? { contentOf: random.pick([0, ...NUMBERS]) } : {}),
    ...(random.chance(0.5) ? { items: random.pick([2, 2 ** 48 - 1]) } : {}),
    ...(random.chance(0.5) ? { rows: oddRows(random) } : {}),
  }
}

function oddEvent(random: SeededRandom): ChainedEvent {
  const text = (name: string) => (random.chance(0.5) ? { [name]: oddText(random) } : {})
  const several = <T>(item: (from: SeededRandom) => T) => Array.from({ length: random.below(4) }, () => item(random))
  const context: EventContext = {
    requestID: oddText(random),
    traceID: oddText(random),
    actor: oddText(random),
    actorType: random.pick(ACTOR_TYPES),
    accessType: random.pick(ACCESS_TYPES),
    ipAddress: oddText(random),
    authMode: random.pick(AUTH_MODES),
    jwtID: oddText(random),
    ...text('sessionID'),
    ...text('origin'),
    ...text('bearerTokenContextID'),
    ...text('keyID'),
    ...text('subject'),
    ...text('clientTraceID'),
    ...text('userEmail'),
  }
  const vaultID = oddText(random)
  return {
    v: 1,
    position: {
      chain: random.pick([1, 127, 128, 65_535]),
      sequence: random.pick([1, 128, 2 ** 31, 2 ** 32 - 1]),
      previous: random.chance(0.2) ? '' : toHex(Uint8Array.from({ length: 32 }, () => random.below(256))),
    },
    changeID: oddText(random),
    timestamp: toTimestamp(random.pick([0n, 1n, 1_799_999_999_999_999_999n, 2n ** 63n - 1n])),
    vaultID,
    accountID: random.chance(0.5) ? vaultID : oddText(random),
    context,
    action: random.pick(ACTION_TYPES),
    resourceType: random.pick(RESOURCE_TYPES),
    code: 100 + random.below(500),
    message: oddText(random),
    ...text('table'),
    ...text('credential'),
    ...text('content'),
    ...(random.chance(0.3) ? { tables: several(oddText) } : {}),
    ...(random.chance(0.5) ? { rows: several(oddRows) } : {}),
    ...(random.chance(0.3) ? { nested: several(oddOutcome) } : {}),
  }
}

it('a short event has the bytes it has always had', () => {
  // Version, flags and account | GET, change id | code, content | flags and caller | ids of request and trace | message, chain,
  // digest, sequence number | RECORD, rows, table | time, vault.
  const known = [
    ['01', '51', '067631'],
    ['01', '00', '4549cb783fb24f61bfbb88eda5f1b20f'],
    ['c801', `1a${toHex(toUtf8('{"ids":["*REDACTED*"]}'))}`],
    ['00', '00', `14${toHex(toUtf8('ann@acme.example'))}`, '00', '04', '04', '04'],
    ['00', 'f0c9a1f26a534d0f9f3a0d8a0f6c1b11', '01', '4bf92f3577b34da6a3ce929d0e0e4736'],
    ['04', '03', '01', 'ab'.repeat(32), 'ac02'],
    ['00', '01', '01', 'ac02', '01', '0a70656f706c65', '0a70656f706c65'],
    ['18fae27693b40001', '00'],
  ]
  expect(toHex(bytesOf(SHORT))).toBe(known.flat().join(''))
})

/** All members of an event, and of the objects in it. */
function membersOf({ item, own, shared }: Kind): readonly (readonly Member[])[] {
  const members = [...shared, ...own]
  const inner = [...members.map(({ kind }) => kind), ...(item === undefined ? [] : [item])].flatMap(membersOf)
  return members.length === 0 ? inner : [members, ...inner]
}

it('the members of each object are in canonical order, the first always exists, and their flags fit a byte', () => {
  for (const members of membersOf(EVENT)) {
    const names = members.map(({ name }) => name)
    expect(names).toEqual(names.toSorted())
    expect(members[0]?.flag).toBe(0)
    expect(Math.max(...members.map(({ flag }) => flag))).toBeLessThan(0x100)
  }
})

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
    const context = { ...event.context, actor: text, requestID: text }
    const written = { ...event, message: text, table: text, vaultID: text, context }
    expect(textOf(written)).toBe(sortedText(written))
  }
})

it('writes row numbers of every length', () => {
  const numbers = [1, 9, 10, 99, 100, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 48 - 1, Number.MAX_SAFE_INTEGER]
  const rows = [
    { table: 't', runs: numbers.map((number) => [number, number] as const) },
    { table: 'u', runs: [] },
  ]
  for (const event of EVENTS) expect(textOf({ ...event, rows })).toBe(sortedText({ ...event, rows }))
})

it('writes the same text for members in another order', () => {
  const turned = Object.fromEntries(Object.entries(SHORT).reverse())
  expect(textOf({ ...SHORT, ...turned })).toBe(textOf(SHORT))
})

it('a random event is read as it was written, and has its canonical text', () => {
  const random = seededRandom('bytes of events')
  for (let round = 0; round < 1000; round++) {
    const event = oddEvent(random)
    const bytes = bytesOf(event)
    const read = decodeEvent(bytes)
    expect(lacksUndefined(read)).toEqual(event)
    // A listing returns the context as it is.
    expect(JSON.stringify(read.context)).toBe(JSON.stringify(parseEventText(textOf(event))?.context))
    expect(bytesOf(read)).toEqual(bytes)
    expect(copiedText(bytes)).toBe(textOf(event))
  }
})

it('events that follow one another are each written and read by their own members', () => {
  const events = [
    SHORT,
    { ...SHORT, code: 404 },
    { ...SHORT, content: '{}' },
    { ...FULL_DRAFT, ...CHAINED },
    { ...FAILED_DRAFT, ...CHAINED },
    { ...SHORT, context: { ...SHORT.context, actor: 'long'.repeat(500) } },
    { ...SHORT, context: { ...SHORT.context, sessionID: 's', actor: 'long'.repeat(500) } },
  ]
  for (const event of [...events, ...events.toReversed(), ...events]) {
    const bytes = bytesOf(event)
    expect(lacksUndefined(decodeEvent(bytes))).toEqual(event)
    expect(copiedText(bytes)).toBe(textOf(event))
  }
})

it.each([4095, 4096, 4097, 20_000])('a text of %i units with lone surrogates is read as it was written', (length) => {
  const content = `\udfff${'x\u{1f512}é'.repeat(length)}`.slice(0, length)
  const event = { ...SHORT, content, nested: [{ code: 200, message: content, resourceType: 'RECORD' as const }] }
  const bytes = bytesOf(event)
  expect(lacksUndefined(decodeEvent(bytes))).toEqual(event)
  expect(copiedText(bytes)).toBe(textOf(event))
})

it('many runs of several tables are written as text in their order', () => {
  const runs = Array.from({ length: 1000 }, (_, index) => [1 + index * 7919, NUMBERS[index % NUMBERS.length] ?? 1] as const)
  const rows = ['people', 'a "quoted" name', ''].map((table) => ({ table, runs }))
  const [first] = rows
  const event: ChainedEvent = {
    ...SHORT,
    rows: [...rows, { table: 'none', runs: [] }],
    nested: [{ code: 200, message: '', resourceType: 'RECORD', ...(first === undefined ? {} : { rows: first }) }],
  }
  const bytes = bytesOf(event)
  expect(lacksUndefined(decodeEvent(bytes))).toEqual(event)
  expect(copiedText(bytes)).toBe(textOf(event))
})

/** Fails unless the bytes are refused, or are the one form of an event. */
function expectOneForm(bytes: Uint8Array): boolean {
  if (copiedText(bytes) === undefined) {
    expect(() => decodeEvent(bytes)).toThrow(expect.objectContaining(DAMAGED))
    return false
  }
  const event = decodeEvent(bytes)
  expect(bytesOf(event)).toEqual(bytes)
  expect(copiedText(bytes)).toBe(textOf(event))
  return true
}

it('an event that was cut or continued is refused', () => {
  for (const bytes of [SHORT, { ...FULL_DRAFT, ...CHAINED }].map(bytesOf)) {
    for (let length = 1; length < bytes.length; length++) expect(expectOneForm(bytes.slice(0, length))).toBe(false)
    expect(expectOneForm(Uint8Array.of(...bytes, 0))).toBe(false)
  }
})

it('of 10,000 random edits each is refused, or is the one form of another event', () => {
  const random = seededRandom('edited bytes of events')
  const events = Array.from({ length: 40 }, () => bytesOf(oddEvent(random)))
  let accepted = 0
  for (let round = 0; round < 10_000; round++) {
    const bytes = random.pick(events)
    const place = 1 + random.below(bytes.length - 1)
    const written = random.chance(0.5) ? random.pick([0, 1, 2, 3, 4, 5, 0x7f, 0x80, 0xff]) : random.below(256)
    const edited = [...bytes.subarray(0, place), written, ...bytes.subarray(place + random.pick([0, 1, 1, 1, 2]))]
    if (expectOneForm(Uint8Array.from(edited))) accepted++
  }
  expect(accepted).toBeGreaterThan(1000)
})

it.each<readonly [string, (hex: string) => string]>([
  ['a UUID as text', (hex) => hex.replace('00f0c9a1f26a534d0f9f3a0d8a0f6c1b11', `28${toHex(toUtf8(DRAFT.context.requestID))}`)],
  ['digits as text', (hex) => hex.replace('014bf92f3577b34da6a3ce929d0e0e4736', `24${toHex(toUtf8(DRAFT.context.traceID))}`)],
  ['a digest that is neither absent nor one', (hex) => hex.replace('0301ab', '0302ab')],
  ['a number in more bytes than it needs', (hex) => hex.replace('040301ab', '04830001ab')],
  ['a vault id that is also the account id', (hex) => hex.replace(/00$/, '01067631')],
  ['a flag of a member that it lacks', (hex) => hex.replace('0151', '01d1')],
  ['an unknown flag of its context', (hex) => hex.replace('5d7d0000', '5d7d8000')],
  ['an unknown action', (hex) => hex.replace('06763101', '06763140')],
  ['a code out of range', (hex) => hex.replace('c8011a', 'd8041a')],
  ['a time before 1970', (hex) => hex.replace('18fae27693b40001', 'f8fae27693b40001')],
  ['a chain that is too high', (hex) => hex.replace('040301ab', '0480800401ab')],
  ['a sequence number that is too high', (hex) => hex.replace('abac020001', 'ab80808080100001')],
  ['a run of no rows', (hex) => hex.replace('ac02010a', 'ac02000a')],
  ['a run of 2^53 rows', (hex) => hex.replace('ac02010a', 'ac0280808080808080100a')],
  ['a number that does not end', (hex) => hex.replace('ac02010a', `ac02${'ff'.repeat(40)}0a`)],
  ['more runs than there are bytes', (hex) => hex.replace('0101ac02', '01ffffffff07ac02')],
  ['a text that is longer than the event', (hex) => hex.replace('040301ab', 'ffffffffffff070301ab')],
  ['a text as units that needs none', (hex) => hex.replace('067631', '030200760031')],
  ['a text that is not UTF-8', (hex) => hex.replace('067631', '0676ff')],
  ['text in a longer form of UTF-8', (hex) => hex.replace('067631', '06c1a1')],
])('an event with %s is refused', (_, edit) => {
  const hex = toHex(bytesOf(SHORT))
  expect(edit(hex)).not.toBe(hex)
  expect(expectOneForm(Uint8Array.from(Buffer.from(edit(hex), 'hex')))).toBe(false)
})

it('bytes in another version are refused, as text is', () => {
  for (const bytes of [Uint8Array.of(2, ...bytesOf(SHORT).subarray(1)), encodeEvent(SHORT), new Uint8Array(0)])
    expect(expectOneForm(bytes)).toBe(false)
  expect(bytesOf(SHORT).length).toBeLessThan(encodeEvent(SHORT).length / 3)
})
