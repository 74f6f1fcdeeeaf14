/** Tickets for one file and one direction. The HTTP adapter makes URLs of them. */
import { assertComplete } from '../barrier/parse-record.ts'
import { encodeRecordIds } from '../barrier/record-ids.ts'
import { fault } from '../errors.ts'
import { parseTable, toIds } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import {
  type FileColumn,
  type FileInput,
  type FileRequest,
  fileValues,
  NEW_FILE,
  parseFileInput,
  RECORDED_FILE,
  recordRow,
  requireFileColumn,
  requireOpenableFile,
  requireUpdatable,
} from '../execution/file-columns.ts'
import { type IssuedTicket, issueTicket } from '../execution/file-tickets.ts'
import { assertRequiredWritable, requireAccess } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { reserveFile } from '../file-store/file-rows.ts'
import type { TableAccess } from '../policy/table-access.ts'
import type { Table } from '../schema/layout.ts'
import { at } from '../util/lists.ts'

/** Returns a ticket to download a file, valid for 15 minutes, and as long as the file is neither replaced nor deleted. Throws like `openFile`. */
export const downloadTicket: Operation<FileInput, FileRequest, IssuedTicket> = {
  action: 'DOWNLOAD_URL',
  resourceType: 'FILE',
  verb: 'Download ticket',
  members: ['table', 'id', 'column'],
  recorded: RECORDED_FILE,
  parse: parseFileInput,
  async execute(context, { table, id, column: name }) {
    const access = requireAccess(context, table, 'READ')
    const column = requireFileColumn(context, access, { name, action: 'READ' })
    const { file, row } = await requireOpenableFile(context, access, { column, id })
    context.event.addRows(table, [row])
    return issueTicket(context, {
      direction: 'download',
      table: table.name,
      column: column.name,
      id: recordId(context, table, row),
      file: file.id,
    })
  },
}

function recordId({ barrier }: OperationContext, table: Table, row: number): string {
  return at(encodeRecordIds(barrier.ring, table, [row]), 0)
}

/** Input of upload tickets. */
export interface UploadTicketInput {
  readonly table: string
  /** Id of the record. Default: the upload makes a new record; then only one column can be named. */
  readonly id?: string
  readonly columns: readonly string[]
}

/** A parsed request, before grants are checked. */
export interface UploadTicketRequest {
  readonly table: Table
  readonly id: string | undefined
  readonly columns: readonly unknown[]
}

/** Returns a ticket for each column, valid for 15 minutes and for one upload. Needs the grants of the upload, then and now. */
export const uploadTicket: Operation<
  UploadTicketInput,
  UploadTicketRequest,
  { tickets: Readonly<Record<string, IssuedTicket>> }
> = {
  action: 'UPLOAD_URL',
  resourceType: 'FILE',
  verb: 'Upload ticket',
  members: ['table', 'id', 'columns'],
  recorded: { table: 'name', id: 'value', columns: 'columns' },
  parse({ table: name, id, columns }, context) {
    const table = parseTable(context, name)
    if (!Array.isArray(columns) || columns.length === 0 || columns.length > table.columns.length)
      throw fault('invalid_request')`columns must be a non-empty array of column names.`
    if (id === undefined && columns.length > 1)
      throw fault('invalid_request')`Without an id, each upload makes a record of its own: name one column.`
    return { table, id: id === undefined ? undefined : at(toIds([id]), 0), columns: [...columns] }
  },
  async execute(context, { table, id, columns: names }) {
    const action = id === undefined ? 'CREATE' : 'UPDATE'
    const access = requireAccess(context, table, action)
    const columns = names.map((name) => requireFileColumn(context, access, { name, action }))
    if (id === undefined) assertCreatable(context, access)
    else await assertUpdatable(context, access, { id, columns })
    const tickets: Record<string, IssuedTicket> = {}
    for (const column of columns) {
      const file = await reserveFile(context.unit.storage)
      tickets[column.name] = issueTicket(context, { direction: 'upload', table: table.name, column: column.name, id, file })
    }
    return { tickets }
  },
}

function assertCreatable(context: OperationContext, access: TableAccess): void {
  assertRequiredWritable(context, access)
  assertComplete(access.table, [], undefined)
}

async function assertUpdatable(
  context: OperationContext,
  access: TableAccess,
  { id, columns }: { readonly id: string; readonly columns: readonly FileColumn[] },
): Promise<void> {
  const { table } = access
  const row = await recordRow(context, context.unit.storage, { table, id })
  // Each ticket is for an upload of its own, so conditions are evaluated on the record with this one file.
  const writes = columns.map((column) => fileValues(table, column, NEW_FILE))
  context.event.addRows(table, [requireUpdatable(context, access, { id, row, writes }).id])
}
