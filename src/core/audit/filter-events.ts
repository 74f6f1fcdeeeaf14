/** Tests single events against a filter, so that events can be streamed. */
import { unreachable } from '../util/causes.ts'
import { toNanoseconds } from '../util/time.ts'
import type { ChainedEvent, EventRows } from './event.ts'
import type { ContextMember, EventFilter, ResourceFilter } from './event-query.ts'
import { rowsOfEvent } from './list-event.ts'

/** The row of a record. */
export interface RecordRow {
  readonly table: string
  readonly row: number
}

/** The row of each record id in a filter. Ids of no record are left out. */
export type RecordRows = ReadonlyMap<string, RecordRow>

/** Returns true for an event that matches. */
export type EventTest = (event: ChainedEvent) => boolean

/** Compiles a filter. */
export function createEventTest(filter: EventFilter, records: RecordRows): EventTest {
  if (filter.isOutsideVault) return () => false
  const tests = [...memberTests(filter), ...contextTests(filter), ...timeTests(filter)]
  if (filter.resources !== undefined) {
    const resources = filter.resources.map((resource) => resourceTest(resource, records))
    tests.push((event) => resources.some((test) => test(event)))
  }
  return (event) => tests.every((test) => test(event))
}

function memberTests({ accountID, vaultID, actions, resourceType, userEmail }: EventFilter): EventTest[] {
  const tests: EventTest[] = [(event) => event.accountID === accountID]
  if (vaultID !== undefined) tests.push((event) => event.vaultID === vaultID)
  if (actions !== undefined) tests.push((event) => actions.includes(event.action))
  if (resourceType !== undefined) tests.push((event) => event.resourceType === resourceType)
  if (userEmail !== undefined) tests.push((event) => event.context.userEmail === userEmail)
  return tests
}

function contextTests({ context }: EventFilter): EventTest[] {
  const { changeID: given, ...members } = context
  const changeID = given?.toLowerCase()
  const tests: EventTest[] = changeID === undefined ? [] : [(event) => event.changeID === changeID]
  // The type of the filter has no other members than those of the context.
  for (const [member, value] of Object.entries(members) as [Exclude<ContextMember, 'changeID'>, string][]) {
    tests.push((event) => event.context[member] === value)
  }
  return tests
}

function timeTests({ from, to }: EventFilter): EventTest[] {
  if (from === undefined && to === undefined) return []
  return [
    ({ timestamp }) => {
      const at = toNanoseconds(timestamp)
      return (from === undefined || at >= from) && (to === undefined || at < to)
    },
  ]
}

/** Tests whether an event concerns a resource: by its rows, its table, its credential or its vault. Events do not store tokens, so no event matches a token. */
function resourceTest({ type, id }: ResourceFilter, records: RecordRows): EventTest {
  switch (type) {
    case 'RECORD':
    case 'FILE': {
      const found = records.get(id)
      if (found === undefined) return () => false
      return (event) =>
        (type === 'RECORD' || event.resourceType === 'FILE') && rowsOfEvent(event).some((rows) => contains(rows, found))
    }
    case 'TABLE':
      return (event) =>
        event.table === id || event.tables?.includes(id) === true || rowsOfEvent(event).some(({ table }) => table === id)
    case 'VAULT':
      return (event) => event.vaultID === id
    case 'CREDENTIAL':
      return (event) => event.credential === id
    case 'TOKEN':
      return () => false
    default:
      return unreachable(type)
  }
}

function contains({ table, runs }: EventRows, record: RecordRow): boolean {
  return table === record.table && runs.some(([first, count]) => record.row >= first && record.row < first + count)
}
