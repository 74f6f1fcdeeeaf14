/** Divides the written rows of requests that ran as one between their events. */
import type { Table } from '../schema/layout.ts'
import { at, required } from '../util/lists.ts'
import type { EventBuilder } from './event-builder.ts'

/** Returns what writes take in place of an event: the row at each position is that of the request at the same position. */
export function dividedRows(events: readonly EventBuilder[]): Pick<EventBuilder, 'setWrittenRows'> {
  return {
    setWrittenRows(table: Table, rows: readonly number[]): void {
      for (let index = 0; index < rows.length; index++) at(events, index).setWrittenRow(table, required(rows[index]))
    },
  }
}
