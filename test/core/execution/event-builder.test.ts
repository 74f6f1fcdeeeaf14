/** Events of changes for every outcome: rows are named where they were written, also if the transaction rolled back later. */
import { expect, it } from 'vitest'
import { OUTCOME_UNKNOWN, ROLLED_BACK, SUCCESS } from '../../../src/core/audit/event.ts'
import { EventBuilder, type EventStart } from '../../../src/core/execution/event-builder.ts'
import type { Table } from '../../../src/core/schema/layout.ts'

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
