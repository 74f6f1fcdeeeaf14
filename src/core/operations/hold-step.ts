/** The events of legal holds. The vault places and lifts them itself, as changes of its catalog; who asked for it is the caller of the event. */
import type { Operation } from '../execution/operation.ts'
import type { Table } from '../schema/layout.ts'

/** A hold that was placed or lifted. */
export interface HoldStep {
  /** Its id. */
  readonly hold: string
  /** The table of the records, or of the subjects. */
  readonly table: string
}

/** Returns the operation that only records a step, with the rows of the records or subjects that the hold is of. */
export function holdStep(
  action: 'PLACE_HOLD' | 'LIFT_HOLD',
  { table, rows }: { readonly table: Table | undefined; readonly rows: readonly number[] },
): Operation<HoldStep, undefined, undefined> {
  return {
    action,
    resourceType: 'RECORD',
    verb: 'Recording',
    members: ['hold', 'table'],
    recorded: { hold: 'value', table: 'name' },
    parse: () => undefined,
    async execute({ event }) {
      if (table === undefined) return
      event.setTable(table)
      event.addRows(table, rows)
    },
  }
}
