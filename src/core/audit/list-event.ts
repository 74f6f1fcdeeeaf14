/** Converts stored events to the form that `listEvents` returns. Source: specification, "Audit event". */
import type { AuditEvent, ChainedEvent, EventRows, NestedOutcome } from './event.ts'
import { fromRuns } from './row-runs.ts'

/** Returns the record ids of rows, in order; an empty list if the table does not exist. */
export type IdsOf = (table: string, rows: readonly number[]) => readonly string[]

/** Returns an event with record ids in place of rows. */
export function toAuditEvent(event: ChainedEvent, idsOf: IdsOf): AuditEvent {
  const { userEmail, ...context } = event.context
  const { code, message, timestamp, content, nested } = event
  return {
    context: { ...context, changeID: event.changeID },
    request: {
      actionType: event.action,
      resourceType: event.resourceType,
      vaultID: event.vaultID,
      resources: resourcesOf(event, idsOf),
      ...(userEmail === undefined ? {} : { userEmail }),
    },
    response: {
      code,
      message,
      timestamp,
      ...(content === undefined ? {} : { data: { content } }),
      ...(nested === undefined ? {} : { nestedResponse: nested.map((item) => toNested(item, idsOf)) }),
    },
  }
}

/** Returns the table and the records of an event, or its vault if it has neither. */
function resourcesOf({ table, rows, resourceType, vaultID }: ChainedEvent, idsOf: IdsOf): string[] {
  const type = resourceType === 'FILE' ? 'FILE' : 'RECORD'
  const records = (rows ?? []).flatMap((of) => idsIn(of, idsOf)).map((id) => `${type}/${id}`)
  if (table === undefined && records.length === 0) return [`VAULT/${vaultID}`]
  return table === undefined ? records : [`TABLE/${table}`, ...records]
}

function toNested({ code, message, rows, resourceType, content }: NestedOutcome, idsOf: IdsOf) {
  const [id, ...others] = rows === undefined ? [] : idsIn(rows, idsOf)
  return {
    code,
    message,
    // Empty if there is no record or more than one, as the specification allows.
    identifier: id === undefined || others.length > 0 ? '' : `${resourceType}/${id}`,
    ...(content === undefined ? {} : { data: { content } }),
  }
}

function idsIn({ table, runs }: EventRows, idsOf: IdsOf): readonly string[] {
  return idsOf(table, fromRuns(runs))
}
