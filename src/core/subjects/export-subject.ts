/** Export of a subject: the operations that find its rows, show them, and find the events that name them, each with an event of its own. */
import { rowsOfEvent } from '../audit/listed-events.ts'
import { decodeEvent } from '../audit/read-event.ts'
import { eachEvent } from '../audit-log/read-trail.ts'
import { encodeRecordIds } from '../barrier/record-ids.ts'
import { assertAuditor } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { withFiles } from '../execution/show-files.ts'
import { showRecords, type UntypedRecord } from '../records/show-records.ts'
import { evaluateAccessInSlices } from '../row-access/evaluate-access.ts'
import type { Table } from '../schema/layout.ts'
import { present } from '../util/lists.ts'
import { type FoundRows, findRows } from './find-rows.ts'
import {
  findExisting,
  locateSubject,
  parseSubject,
  SUBJECT_OPERATION,
  type SubjectInput,
  type SubjectRequest,
} from './find-subject.ts'

type ExportOperation<Result> = Operation<SubjectInput, SubjectRequest, Result>

const EXPORT = { ...SUBJECT_OPERATION, action: 'EXPORT_SUBJECT', verb: 'Export', parse: parseSubject } as const

/** Begins an export: returns the rows of the subject. Needs what `findSubject` needs. */
export const beginExport: ExportOperation<FoundRows> = {
  ...EXPORT,
  execute: async (context, request) => findExisting(context, locateSubject(context, request, 'READ'), request.id),
}

/** Rows of one table that are shown together. */
export interface ExportedRows {
  readonly table: Table
  /** The version of each by its id, as the export found it. */
  readonly rows: ReadonlyMap<number, number>
}

/**
 * Returns the operation that shows rows at the levels of the caller, with the metadata of their files. Rows that were deleted meanwhile are left out, and of
 * those that were changed the ones that are no longer of the subject.
 */
export function showExported({ table, rows: wanted }: ExportedRows): ExportOperation<readonly UntypedRecord[]> {
  return {
    ...EXPORT,
    async execute(context, request) {
      const { plan, row } = locateSubject(context, request, 'READ')
      const { unit, barrier, access } = context
      const stored = present(await unit.storage.get(table.physical.name, [...wanted.keys()]))
      const isChanged = stored.some(({ id, version }) => wanted.get(id) !== version)
      const current = isChanged ? (await findRows(unit.storage, context, { plan, row })).get(table) : wanted
      const own = stored.filter(({ id }) => current?.has(id) === true)
      const rows = await evaluateAccessInSlices(context, access.table(table), own)
      const rowIds = own.map(({ id }) => id)
      context.event.addRows(table, rowIds)
      const ids = encodeRecordIds(barrier.ring, table, rowIds)
      const columns = table.readable
      const shown = await showRecords(context, { rows, ids }, { table, columns, redaction: 'PLAIN_TEXT', asTokens: false })
      const withMetadata = {
        table,
        shown,
        columns: table.files,
        downloadTickets: false,
        returnFileMetadata: table.files.length > 0,
      }
      return withFiles(context, rows, withMetadata)
    },
  }
}

/** An event that names a record of a subject. */
export interface NamingEvent {
  readonly changeID: string
  readonly timestamp: string
  readonly actionType: string
}

/** Returns the operation that lists the events that name these rows. It reads the whole trail, and needs AUDIT. */
export function findNamingEvents(found: FoundRows): ExportOperation<readonly NamingEvent[]> {
  const byName = new Map([...found].map(([{ name }, rows]) => [name, rows]))
  return {
    ...EXPORT,
    async execute(context, request) {
      locateSubject(context, request, 'READ')
      assertAuditor(context)
      const naming: NamingEvent[] = []
      for await (const entries of eachEvent(context.audit)) {
        for (const { bytes } of entries) {
          if (bytes === undefined) continue
          const event = decodeEvent(bytes)
          const names = rowsOfEvent(event).some(({ table, runs }) => runs.some((run) => isIn(byName.get(table), run)))
          if (names) naming.push({ changeID: event.changeID, timestamp: event.timestamp, actionType: event.action })
        }
      }
      return naming
    },
  }
}

/** True if one of the rows is in a run of neighbors. */
function isIn(rows: ReadonlyMap<number, number> | undefined, [first, count]: readonly [first: number, count: number]): boolean {
  if (rows === undefined) return false
  if (count > rows.size) return [...rows.keys()].some((row) => row >= first && row < first + count)
  for (let row = first; row < first + count; row++) if (rows.has(row)) return true
  return false
}
