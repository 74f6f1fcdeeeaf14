/** Logs and records digests that do not agree with their values, as an operation saw them. */
import { type EventContext, type EventDraft, outcomeOf, SUCCESS, toRuns } from '../audit/event.ts'
import { type Fault, fault } from '../errors.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import type { SessionContext } from './context.ts'
import type { EventBuilder } from './event-builder.ts'
import type { Operation } from './operation.ts'

/** The operation that saw them, and who asked for it. */
export interface MismatchSource {
  readonly session: Pick<SessionContext, 'units' | 'log'>
  readonly operation: Pick<Operation<never, never, never>, 'action'>
  requestContext(): EventContext
}

/**
 * Logs each column with digests that do not agree with their values, and records an event of its own for it. The operation has its result
 * whether or not that event can be stored: the record was not returned for a value it does not have. Source: docs/decisions/0022.
 */
export async function recordMismatches({ mismatches }: EventBuilder, source: MismatchSource): Promise<void> {
  const { session, operation } = source
  for (const { table, column, rows } of mismatches) {
    const context = source.requestContext()
    const { requestID, traceID } = context
    const fields = { operation: operation.action, requestID, traceID, code: 'data_loss', table: table.name, column: column.name }
    session.log?.error({ ...fields, records: rows.size }, 'a stored digest does not agree with its value')
    const finding = mismatched(table, column)
    const event: EventDraft = {
      context,
      action: operation.action,
      resourceType: 'RECORD',
      table: table.name,
      rows: [{ table: table.name, runs: toRuns([...rows]) }],
      code: finding.httpStatus,
      message: finding.message,
    }
    try {
      await session.units.begin(() => () => event).record(SUCCESS)
    } catch (error) {
      session.log?.error({ ...fields, code: outcomeOf(error).failure }, 'audit event not stored')
    }
  }
}

function mismatched(table: Table, column: Column): Fault {
  return fault(
    'data_loss',
  )`Integrity check failed. The digest of column ${column.name} of table ${table.name} does not agree with its value. Run vault.verifyRecords().`
}
