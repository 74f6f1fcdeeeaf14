/** Shows stored events as listings return them, with record ids in place of rows. Ids of a page are made together, because each alone costs many times as much. */
import type { AuditEvent, ChainedEvent, EventRows } from '../audit/event.ts'
import { type IdsByRows, rowsOfEvent, toAuditEvent } from '../audit/list-event.ts'
import { fromRuns } from '../audit/row-runs.ts'
import { encodeRecordIds } from '../barrier/record-ids.ts'
import { createPace, type Pace } from '../pace/pace.ts'
import { at } from '../util/lists.ts'
import type { OperationContext } from './context.ts'

/** Ids that are made together at most, and the bytes of one: a page can have a hundred events of a thousand records. */
const IDS_AT_ONCE = 4096
const ID_BYTES = 36

/** Returns the events as listings return them, in order. As many are shown at once as have so many ids: each of their results is an object. */
export async function showEvents(context: OperationContext, events: readonly ChainedEvent[]): Promise<AuditEvent[]> {
  const pace = createPace(context.audit)
  const shown: AuditEvent[] = []
  for (let start = 0; start < events.length; ) {
    const groups: EventRows[] = []
    let end = start
    for (let rows = 0; end < events.length && rows < IDS_AT_ONCE; end++) {
      for (const group of rowsOfEvent(at(events, end))) {
        groups.push(group)
        rows += countOf(group)
      }
    }
    const ids = await idsOfRows(context, groups, pace)
    for (; start < end; start++) shown.push(toAuditEvent(at(events, start), ids))
    await pace.worked()
  }
  return shown
}

function countOf({ runs }: EventRows): number {
  return runs.reduce((sum, [, count]) => sum + count, 0)
}

/** Returns the record ids of each group of rows. */
async function idsOfRows({ barrier, layout }: OperationContext, groups: readonly EventRows[], pace: Pace): Promise<IdsByRows> {
  const found = new Map<EventRows, string[]>()
  for (const name of new Set(groups.map(({ table }) => table))) {
    const table = layout.tables.get(name)
    if (table === undefined) continue
    const own = groups.filter((group) => group.table === name).map((group) => ({ group, rows: fromRuns(group.runs) }))
    const rows = own.flatMap((one) => one.rows)
    const ids: string[] = []
    while (ids.length < rows.length) {
      const slice = encodeRecordIds(barrier.ring, table, rows.slice(ids.length, ids.length + IDS_AT_ONCE))
      for (const id of slice) ids.push(id)
      await pace.worked(slice.length * ID_BYTES)
    }
    let start = 0
    for (const one of own) {
      found.set(one.group, ids.slice(start, start + one.rows.length))
      start += one.rows.length
    }
  }
  return found
}
