/** The compact form in which events are sealed: each event has one, it leads back to the same event and the same text, and other bytes are refused. */
import { expect, it } from 'vitest'
import { writeCompactEvent } from '../../../src/core/audit/compact-event.ts'
import { decodeEvent, encodeEvent, writeTextOf } from '../../../src/core/audit/encode-event.ts'
import type { ChainedEvent, EventContext, EventRows, NestedOutcome } from '../../../src/core/audit/event.ts'
import { ACCESS_TYPES, ACTION_TYPES, ACTOR_TYPES, AUTH_MODES, RESOURCE_TYPES } from '../../../src/core/audit/event-shape.ts'
import { toNanoseconds } from '../../../src/core/audit/instant.ts'
import { readCompactEvent } from '../../../src/core/audit/read-compact-event.ts'
import { ByteWriter, readUtf8, toHex, toUtf8 } from '../../../src/core/util/bytes.ts'
import { at } from '../../../src/core/util/lists.ts'
import { toTimestamp } from '../../../src/core/util/time.ts'
import { DRAFT, FAILED_DRAFT, FULL_DRAFT } from '../../support/audit/sample-trails.ts'
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

/** The compact form of an event. */
function compactOf(event: ChainedEvent): Uint8Array {
  const out = new ByteWriter()
  writeCompactEvent(out, event, { ...event, at: toNanoseconds(event.timestamp) })
  return out.written().slice()
}

/** The canonical text that is made of stored bytes; undefined if they are no event. */
function textOf(bytes: Uint8Array): string | undefined {
  const out = new ByteWriter()
  return writeTextOf(out, bytes) === undefined ? undefined : readUtf8(out.bytes, 0, out.length)
}

function lacksUndefined(event: ChainedEvent): unknown {
  return JSON.parse(JSON.stringify(event))
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
  // Version, flags and account | GET, change id | flags, code, content, caller | ids of request and trace | message |
  // chain, digest, sequence number | RECORD, rows, table | time.
  const known = [
    ['01', '00e0', '067631'],
    ['01', '00', '4549cb783fb24f61bfbb88eda5f1b20f'],
    ['01', '00c8', `1a${toHex(toUtf8('{"ids":["*REDACTED*"]}'))}`],
    ['00', `14${toHex(toUtf8('ann@acme.example'))}`, '00', '04', '04', '04'],
    ['00', 'f0c9a1f26a534d0f9f3a0d8a0f6c1b11', '01', '4bf92f3577b34da6a3ce929d0e0e4736'],
    ['04', '03', 'ab'.repeat(32), 'ac02'],
    ['00', '01', '0a70656f706c65', '01', 'ac02', '01', '0a70656f706c65'],
    ['18fae27693b40001'],
  ]
  expect(toHex(compactOf(SHORT))).toBe(known.flat().join(''))
})

it('a random event is read as it was written, and has its canonical text', () => {
  const random = seededRandom('compact events')
  for (let round = 0; round < 1000; round++) {
    const event = oddEvent(random)
    const bytes = compactOf(event)
    const read = decodeEvent(bytes)
    expect(lacksUndefined(read)).toEqual(event)
    // A listing returns the context as it is.
    expect(JSON.stringify(read.context)).toBe(JSON.stringify(decodeEvent(encodeEvent(event)).context))
    expect(compactOf(read)).toEqual(bytes)
    expect(textOf(bytes)).toBe(Buffer.from(encodeEvent(event)).toString('utf8'))
  }
})

it('events that follow one another are each written and read by their own members', () => {
  const events = [
    SHORT,
    { ...SHORT, code: 404 },
    { ...SHORT, content: '{}' },
    { ...FULL_DRAFT, ...CHAINED },
    { ...FAILED_DRAFT, ...CHAINED },
  ]
  for (const event of [...events, ...events.toReversed(), ...events]) {
    const bytes = compactOf(event)
    expect(lacksUndefined(decodeEvent(bytes))).toEqual(event)
    expect(textOf(bytes)).toBe(Buffer.from(encodeEvent(event)).toString('utf8'))
  }
})

it.each([4095, 4096, 4097, 20_000])('a text of %i units with lone surrogates is read as it was written', (length) => {
  const content = `\udfff${'x\u{1f512}é'.repeat(length)}`.slice(0, length)
  const event = { ...SHORT, content, nested: [{ code: 200, message: content, resourceType: 'RECORD' as const }] }
  const bytes = compactOf(event)
  expect(lacksUndefined(decodeEvent(bytes))).toEqual(event)
  expect(textOf(bytes)).toBe(Buffer.from(encodeEvent(event)).toString('utf8'))
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
  const bytes = compactOf(event)
  expect(lacksUndefined(decodeEvent(bytes))).toEqual(event)
  expect(textOf(bytes)).toBe(Buffer.from(encodeEvent(event)).toString('utf8'))
})

/** Fails unless the bytes are refused, or are the one form of an event. */
function expectOneForm(bytes: Uint8Array): boolean {
  const event = readCompactEvent(bytes)
  if (event === undefined) {
    expect(textOf(bytes)).toBeUndefined()
    expect(() => decodeEvent(bytes)).toThrow(expect.objectContaining(DAMAGED))
    return false
  }
  expect(compactOf(event)).toEqual(bytes)
  expect(textOf(bytes)).toBe(Buffer.from(encodeEvent(event)).toString('utf8'))
  return true
}

it('an event that was cut or continued is refused', () => {
  for (const bytes of [SHORT, { ...FULL_DRAFT, ...CHAINED }].map(compactOf)) {
    for (let length = 1; length < bytes.length; length++) expect(expectOneForm(bytes.slice(0, length))).toBe(false)
    expect(expectOneForm(Uint8Array.of(...bytes, 0))).toBe(false)
  }
})

it('of 10,000 random edits each is refused, or is the one form of another event', () => {
  const random = seededRandom('edited compact events')
  const events = Array.from({ length: 40 }, () => compactOf(oddEvent(random)))
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
  ['a number in more bytes than it needs', (hex) => hex.replace('0403ab', '048300ab')],
  ['a vault id that is also the account id', (hex) => `${hex.replace('0100e0', '0102e0')}067631`],
  ['an unknown flag', (hex) => hex.replace('0100e0', '0104e0')],
  ['an unknown action', (hex) => hex.replace('06763101', '06763116')],
  ['a code out of range', (hex) => hex.replace('0100c81a', '0102581a')],
  ['a time before 1970', (hex) => hex.replace('18fae27693b40001', 'f8fae27693b40001')],
  ['a chain that is too high', (hex) => hex.replace('0403ab', '04808004ab')],
  ['a sequence number that is too high', (hex) => hex.replace('abac020001', 'ab80808080100001')],
  ['a run of no rows', (hex) => hex.replace('ac02010a', 'ac02000a')],
  ['a run of 2^53 rows', (hex) => hex.replace('ac02010a', 'ac0280808080808080100a')],
  ['a number that does not end', (hex) => hex.replace('ac02010a', `ac02${'ff'.repeat(40)}0a`)],
  ['more runs than there are bytes', (hex) => hex.replace('6501ac02', '65ffffffff07ac02')],
  ['a text that is longer than the event', (hex) => hex.replace('0403ab', 'ffffffffffff0703ab')],
  ['a text as units that needs none', (hex) => hex.replace('067631', '030200760031')],
  ['a text that is not UTF-8', (hex) => hex.replace('067631', '0676ff')],
  ['text in a longer form of UTF-8', (hex) => hex.replace('067631', '06c1a1')],
])('an event with %s is refused', (_, edit) => {
  const hex = toHex(compactOf(SHORT))
  expect(edit(hex)).not.toBe(hex)
  expect(expectOneForm(Uint8Array.from(Buffer.from(edit(hex), 'hex')))).toBe(false)
})

it('text begins with another byte than the compact form', () => {
  expect([at(encodeEvent(SHORT), 0), at(compactOf(SHORT), 0)]).toEqual([0x7b, 1])
  expect(() => decodeEvent(Uint8Array.of(2, ...compactOf(SHORT).subarray(1)))).toThrow(expect.objectContaining(DAMAGED))
  expect(compactOf(SHORT).length).toBeLessThan(encodeEvent(SHORT).length / 3)
})
