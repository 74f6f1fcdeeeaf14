/** Records as they travel: the record id is a member under the name that the host chose. */
import type { OperationResult, UntypedRecord } from '../../index.ts'
import type { Names } from '../names.ts'
import { fileUrl, type UrlCall } from '../router/urls.ts'

/** A record of a read, as the wire has it. */
export interface WireRecord {
  readonly fields: Record<string, unknown>
  readonly tokens?: Record<string, unknown>
  readonly fileMetadata?: UntypedRecord['fileMetadata'] & {}
}

/**
 * Returns a record as clients read it. With tokens, `fields` holds the id and the tokens, and `tokens` the same without the id. A file
 * that can be downloaded has its URL in `fields`.
 */
export function toWireRecord(record: UntypedRecord, call: UrlCall): WireRecord {
  const { id, fields, tokens, fileMetadata, downloadTickets } = record
  return {
    fields: { [call.options.names.id]: id, ...fields, ...tokens, ...urlsOf(downloadTickets, call) },
    ...(tokens === undefined ? {} : { tokens }),
    ...(fileMetadata === undefined ? {} : { fileMetadata }),
  }
}

function urlsOf(tickets: UntypedRecord['downloadTickets'], call: UrlCall): Record<string, string> | undefined {
  if (tickets === undefined) return undefined
  return Object.fromEntries(Object.entries(tickets).map(([column, ticket]) => [column, fileUrl(call, ticket)]))
}

/** Returns inserted records. The wire has no `onConflict`, so none is left out. */
export function toWireIds(names: Names, records: OperationResult<'insert'>['records']): Record<string, unknown>[] {
  return records.flatMap((record) => (record.ignored === true ? [] : [toWireId(names, record)]))
}

/** Returns a stored record: its id, and its tokens where they were asked for. */
export function toWireId(
  { id: name }: Names,
  { id, tokens }: { readonly id: string; readonly tokens?: object },
): Record<string, unknown> {
  return { [name]: id, ...(tokens === undefined ? {} : { tokens }) }
}
