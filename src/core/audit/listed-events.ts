/** The events of a listing: which of them match its filter, and what is returned of each. Source: specification, "Audit event". */
import { unreachable } from '../util/causes.ts'
import { toNanoseconds } from '../util/time.ts'
import type { AuditEvent, ChainedEvent, EventRows, NestedOutcome } from './event.ts'
import type { ContextMember, EventFilter, ResourceFilter } from './event-query.ts'

/** The row of a record. */
export interface RecordRow {
  readonly table: string
  readonly row: number
}

/** The row of each record id in a filter. Ids of no record are left out. */
export type RecordRows = ReadonlyMap<string, RecordRow>

/** Returns true for an event that matches. */
export type EventTest = (event: ChainedEvent) => boolean

/** Compiles a filter to a test of single events, so that events can be streamed. */
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
  const tests: EventTest[] = []
  if (accountID !== undefined) tests.push((event) => event.accountID === accountID)
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

/** The record ids of each group of rows of an event. A group of a table that no longer exists has none. */
export type IdsByRows = ReadonlyMap<EventRows, readonly string[]>

/** Returns every group of rows of an event and of its nested results. */
export function rowsOfEvent({ rows = [], nested = [] }: Pick<ChainedEvent, 'rows' | 'nested'>): EventRows[] {
  return [...rows, ...nested.flatMap((item) => item.rows ?? [])]
}

/** An event, with how many of its resources are listed and how many it has; both are absent where all are listed. */
export interface CutEvent {
  readonly event: ChainedEvent
  readonly most?: number
  readonly resourceCount?: number
}

/** Returns an event with the rows of so many resources at most, and without the outcomes of items. */
export function cutEvent({ nested: _, ...event }: ChainedEvent, most: number): CutEvent {
  let count = tablesOf(event).length + (event.credential === undefined ? 0 : 1)
  let left = Math.max(0, most - count)
  const rows = (event.rows ?? []).map(({ table, runs }): EventRows => {
    const kept = runs.flatMap(([first, length]): (readonly [number, number])[] => {
      const taken = Math.min(length, left)
      count += length
      left -= taken
      return taken === 0 ? [] : [[first, taken]]
    })
    return { table, runs: kept }
  })
  // Without any, the vault is listed.
  return { event: { ...event, rows }, most, resourceCount: Math.max(1, count) }
}

/** Returns an event with record ids in place of rows. */
export function toAuditEvent({ event, most, resourceCount }: CutEvent, ids: IdsByRows): AuditEvent {
  const { userEmail, ...context } = event.context
  const { code, level, message, timestamp, content, nested, seenAs } = event
  return {
    context: { ...context, changeID: event.changeID },
    request: {
      actionType: event.action,
      resourceType: event.resourceType,
      vaultID: event.vaultID,
      resources: resourcesOf(event, ids).slice(0, most),
      ...(resourceCount === undefined ? {} : { resourceCount }),
      ...(seenAs === undefined ? {} : { seenAs: { roles: seenAs.roles, context: JSON.parse(seenAs.context) } }),
      ...(userEmail === undefined ? {} : { userEmail }),
    },
    response: {
      code,
      message,
      timestamp,
      ...(level === undefined ? {} : { level }),
      ...(content === undefined ? {} : { data: { content } }),
      ...(nested === undefined ? {} : { nestedResponse: toNested(nested, ids) }),
    },
  }
}

/** Returns the tables, the records and the credential of an event, or its vault if it has neither. */
function resourcesOf(event: ChainedEvent, ids: IdsByRows): string[] {
  const type = event.resourceType === 'FILE' ? 'FILE' : 'RECORD'
  const records = (event.rows ?? []).flatMap((group) => ids.get(group) ?? []).map((id) => `${type}/${id}`)
  const { credential } = event
  const resources = [...tablesOf(event), ...records, ...(credential === undefined ? [] : [`CREDENTIAL/${credential}`])]
  return resources.length === 0 ? [`VAULT/${event.vaultID}`] : resources
}

function tablesOf({ table, tables = [] }: Pick<ChainedEvent, 'table' | 'tables'>): string[] {
  return [...(table === undefined ? [] : [table]), ...tables].map((name) => `TABLE/${name}`)
}

/** Returns the result of each item of a batch. */
function toNested(nested: readonly NestedOutcome[], ids: IdsByRows) {
  return nested.flatMap(({ items = 1, code, message, rows, resourceType, content, contentOf }) => {
    const named = rows === undefined ? [] : (ids.get(rows) ?? [])
    const body = content ?? (contentOf === undefined ? undefined : nested[contentOf]?.content)
    return Array.from({ length: items }, (_, index) => ({
      code,
      message,
      // Empty if there is no record or more than one, as the specification allows.
      identifier: named.length === items ? `${resourceType}/${named[index]}` : '',
      ...(body === undefined ? {} : { data: { content: body } }),
    }))
  })
}
