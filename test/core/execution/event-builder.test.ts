/** Events of operations: rows named where they were written, for every outcome; trace ids of untrusted headers; and the recorded input, each getter read once. */
import { expect, it } from 'vitest'
import { OUTCOME_UNKNOWN, ROLLED_BACK, SUCCESS } from '../../../src/core/audit/event.ts'
import { EventBuilder, type EventStart, recordedInput, traceIdOf } from '../../../src/core/execution/event-builder.ts'
import { EMPTY_CATALOG_SCHEMA } from '../../../src/core/schema/catalog-schema.ts'
import { layoutSchema, type Table } from '../../../src/core/schema/layout.ts'

const PEOPLE = { name: 'people' } as Table // The builder reads the name alone.
const START: EventStart = {
  context: {
    requestID: 'request',
    traceID: 'trace',
    actor: 'ann',
    actorType: 'USER',
    accessType: 'API',
    ipAddress: '',
    authMode: 'STS',
    jwtID: '',
  },
  action: 'INSERT',
  resourceType: 'RECORD',
  content: '{}',
}
const ROWS = [{ table: 'people', runs: [[1, 2]] }]

function written(): EventBuilder {
  const event = new EventBuilder()
  event.setTable(PEOPLE)
  event.setWrittenRows(PEOPLE, [7])
  event.setWrittenRows(PEOPLE, [1, 2])
  return event
}

it.each([
  ['succeeded', SUCCESS],
  ['rolled back with its transaction', ROLLED_BACK],
  ['ended in doubt', OUTCOME_UNKNOWN],
])('a change that %s names the rows of its last attempt', (_how, outcome) => {
  expect(written().build(START, outcome)).toEqual({ ...START, ...outcome, table: 'people', rows: ROWS })
})

it('a change that was refused names no rows it would have written, but those it read', () => {
  const event = written()
  event.addRows(PEOPLE, [4, 5])
  const refused = { code: 422, message: 'Insert failed.' }
  expect(event.build(START, refused)).toEqual({
    ...START,
    ...refused,
    table: 'people',
    rows: [{ table: 'people', runs: [[4, 2]] }],
  })
})

it('a read names a row once, in the order it was first read, and counts it once', () => {
  const pets = { name: 'pets' } as Table // The builder reads the name alone.
  const event = new EventBuilder()
  event.addRows(PEOPLE, [4, 2, 4])
  event.addRows(pets, [2])
  event.addRows(PEOPLE, [2, 3])
  expect(event.rowsOf(SUCCESS)).toEqual([
    {
      table: 'people',
      runs: [
        [4, 1],
        [2, 2],
      ],
    },
    { table: 'pets', runs: [[2, 1]] },
  ])
  expect(event.countRows()).toEqual({ read: 4, written: 0 })
})

it.each([
  ['one row', [[5]], [[5, 1]]],
  ['one row in two reads', [[5], [5]], [[5, 1]]],
  ['a row twice in one read', [[5, 5, 6]], [[5, 2]]],
  ['a number that no row has', [[0]], []],
])('a read of %s names each row once', (_what, reads, runs) => {
  const event = new EventBuilder()
  for (const rows of reads) event.addRows(PEOPLE, rows)
  expect(event.rowsOf(SUCCESS)).toEqual([{ table: 'people', runs }])
})

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'

it.each([
  ['of version 00', `00-${TRACE}-00f067aa0ba902b7-01`],
  ['of a later version', `01-${TRACE}-00f067aa0ba902b7-01`],
  ['of a later version with more parts', `cc-${TRACE}-00f067aa0ba902b7-01-what-the-future-will-be-like`],
])('returns the trace id of a header %s', (_what, header) => {
  expect(traceIdOf(header)).toBe(TRACE)
})

it.each([
  ['that is not there', undefined],
  ['that is empty', ''],
  ['of version ff', `ff-${TRACE}-00f067aa0ba902b7-01`],
  ['of version 00 with more behind', `00-${TRACE}-00f067aa0ba902b7-01-more`],
  ['of a later version with more that is not set off', `01-${TRACE}-00f067aa0ba902b7-01more`],
  ['with a trace of zeros', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`],
  ['with a parent of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['in capitals', `00-${TRACE.toUpperCase()}-00f067aa0ba902b7-01`],
  ['that is too short', `00-${TRACE.slice(1)}-00f067aa0ba902b7-01`],
  ['with a line more', `00-${TRACE}-00f067aa0ba902b7-01\n`],
])('returns undefined for a header %s', (_what, header) => {
  expect(traceIdOf(header)).toBeUndefined()
})

const operation = { recorded: { table: 'name', ids: 'value', limit: 'number', offset: 'number' } } as const
const session = { layout: { ...layoutSchema(EMPTY_CATALOG_SCHEMA), names: new Set(['people']) } }
const recorded = (given: object): string => recordedInput(session, operation, given)

it('records options that the input inherits, as the operation reads them', () => {
  const withOptions = class {
    get options(): object {
      return { limit: 3 }
    }
  }
  const input = Object.assign(new withOptions(), { table: 'people', ids: ['a'] })
  expect(recorded(input)).toBe('{"table":"people","ids":["*REDACTED*"],"limit":3}')
  expect(recorded(Object.assign(Object.create({ options: { limit: 3 } }), { table: 'people' }))).toBe(
    '{"table":"people","limit":3}',
  )
})

it('records its own options in place of those it inherits', () => {
  const inherited = { options: { limit: 3 } }
  const own = (options: unknown): object => Object.create(inherited, { options: { value: options, enumerable: true } })
  expect(recorded(own({ offset: 4 }))).toBe('{"offset":4}')
  expect(recorded(own(undefined))).toBe('{}')
})

it('reads each getter of the input once', () => {
  const reads: string[] = []
  const reading = (name: string, value: unknown): PropertyDescriptor => ({
    enumerable: true,
    get: () => {
      reads.push(name)
      return value
    },
  })
  const options = Object.create(null, { limit: reading('limit', 3), table: reading('table of options', 'pets') })
  const input = Object.create(null, { table: reading('table', 'people'), options: reading('options', options) })
  expect(recorded(input)).toBe('{"table":"people","limit":3}')
  expect(reads.toSorted()).toEqual(['limit', 'options', 'table', 'table of options'])
})

it('records nothing of an input with a getter that throws', () => {
  const throwing = {
    get options(): never {
      throw new Error('a value')
    },
  }
  expect(recorded(throwing)).toBe('')
  expect(recorded(Object.create(throwing))).toBe('')
})
