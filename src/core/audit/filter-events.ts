/** Finds the events a filter asks for, each by itself, so that any number can stream past. */
import { unreachable } from '../util/unreachable.ts'
import type { ChainedEvent, EventRows } from './event.ts'
import type { ContextMember, EventFilter, ResourceFilter } from './event-query.ts'
import { toNanoseconds } from './instant.ts'

/** A row of a table, as the id of a record is turned into it. */
export interface RecordRow {
  readonly table: string
  readonly row: number
}

/** The row behind a record's id, or undefined where it is none of this vault. */
export type RowOf = (id: string) => RecordRow | undefined

/** True for the events asked for. */
export type EventTest = (event: ChainedEvent) => boolean

/** A filter made ready for many events. */
export function createEventTest(filter: EventFilter, rowOf: RowOf): EventTest {
  if (filter.isElsewhere) return () => false
  const tests = [...memberTests(filter), ...contextTests(filter), ...timeTests(filter)]
  if (filter.resources !== undefined) {
    const resources = filter.resources.map((resource) => resourceTest(resource, rowOf))
    tests.push((event) => resources.some((test) => test(event)))
  }
  return (event) => tests.every((test) => test(event))
}

function memberTests({ accountID, vaultID, action, resourceType, userEmail }: EventFilter): EventTest[] {
  const tests: EventTest[] = [(event) => event.accountID === accountID]
  if (vaultID !== undefined) tests.push((event) => event.vaultID === vaultID)
  if (action !== undefined) tests.push((event) => event.action === action)
  if (resourceType !== undefined) tests.push((event) => event.resourceType === resourceType)
  if (userEmail !== undefined) tests.push((event) => event.context.userEmail === userEmail)
  return tests
}

function contextTests({ context }: EventFilter): EventTest[] {
  const { changeID, ...members } = context
  const tests: EventTest[] = changeID === undefined ? [] : [(event) => event.changeID === changeID]
  // The members left are the context's own: the filter's type has no others.
  for (const [member, asked] of Object.entries(members) as [Exclude<ContextMember, 'changeID'>, string][]) {
    tests.push(({ context: told }) => told[member] === asked)
  }
  return tests
}

function timeTests({ from, to }: EventFilter): EventTest[] {
  if (from === undefined && to === undefined) return []
  return [
    ({ timestamp }) => {
      const at = toNanoseconds(timestamp)
      return (from === undefined || at >= from) && (to === undefined || at <= to)
    },
  ]
}

/** Tells events about a resource by what they are listed with: rows, the table, or else the vault. Tokens are not kept, so none is found by one. */
function resourceTest({ type, id }: ResourceFilter, rowOf: RowOf): EventTest {
  switch (type) {
    case 'RECORD':
    case 'FILE': {
      const found = rowOf(id)
      if (found === undefined) return () => false
      return (event) => (type === 'RECORD' || event.resourceType === 'FILE') && rowsOf(event).some((rows) => holds(rows, found))
    }
    case 'TABLE':
      return (event) => event.table === id || rowsOf(event).some(({ table }) => table === id)
    case 'VAULT':
      return (event) => event.vaultID === id
    case 'TOKEN':
      return () => false
    default:
      return unreachable(type)
  }
}

/** Rows of an event and of the items inside it. */
function rowsOf({ rows, nested }: ChainedEvent): readonly EventRows[] {
  if (nested === undefined) return rows ?? []
  return [...(rows ?? []), ...nested.flatMap((item) => item.rows ?? [])]
}

function holds({ table, runs }: EventRows, sought: RecordRow): boolean {
  return table === sought.table && runs.some(([first, count]) => sought.row >= first && sought.row < first + count)
}
