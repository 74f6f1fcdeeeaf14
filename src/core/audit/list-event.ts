/** Converts stored events to the form that `listEvents` returns. Source: specification, "Audit event". */
import type { AuditEvent, ChainedEvent, EventRows, NestedOutcome } from './event.ts'

/** The record ids of each group of rows of an event. A group of a table that no longer exists has none. */
export type IdsByRows = ReadonlyMap<EventRows, readonly string[]>

/** Returns every group of rows of an event and of its nested results. */
export function rowsOfEvent({ rows = [], nested = [] }: Pick<ChainedEvent, 'rows' | 'nested'>): EventRows[] {
  return [...rows, ...nested.flatMap((item) => item.rows ?? [])]
}

/** Returns an event with record ids in place of rows. */
export function toAuditEvent(event: ChainedEvent, ids: IdsByRows): AuditEvent {
  const { userEmail, ...context } = event.context
  const { code, message, timestamp, content, nested } = event
  return {
    context: { ...context, changeID: event.changeID },
    request: {
      actionType: event.action,
      resourceType: event.resourceType,
      vaultID: event.vaultID,
      resources: resourcesOf(event, ids),
      ...(userEmail === undefined ? {} : { userEmail }),
    },
    response: {
      code,
      message,
      timestamp,
      ...(content === undefined ? {} : { data: { content } }),
      ...(nested === undefined ? {} : { nestedResponse: toNested(nested, ids) }),
    },
  }
}

/** Returns the tables, the records and the credential of an event, or its vault if it has neither. */
function resourcesOf({ table, tables, rows, credential, resourceType, vaultID }: ChainedEvent, ids: IdsByRows): string[] {
  const type = resourceType === 'FILE' ? 'FILE' : 'RECORD'
  const records = (rows ?? []).flatMap((group) => ids.get(group) ?? []).map((id) => `${type}/${id}`)
  const named = [...(table === undefined ? [] : [table]), ...(tables ?? [])].map((name) => `TABLE/${name}`)
  const resources = [...named, ...records, ...(credential === undefined ? [] : [`CREDENTIAL/${credential}`])]
  return resources.length === 0 ? [`VAULT/${vaultID}`] : resources
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
