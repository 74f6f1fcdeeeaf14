/** The arguments of a session's methods as the input of their operations: of one record, a query, an upload, and of pages read one after the other. */

import type { SessionContext } from '../execution/context.ts'
import { perform } from '../execution/perform.ts'
import type { QueryValue } from '../expressions/parameter-values.ts'
import { DEFAULT_PAGE_SIZE } from '../limits.ts'
import { type GetOptions, type GetResult, get } from '../operations/get-records.ts'
import type { InsertInput, InsertOptions } from '../operations/insert-records.ts'
import { NO_QUERY_OPTIONS, type QueryInput, type QueryOptions } from '../operations/query-records.ts'
import type { TicketUpload, UploadFileInput, UploadFileOptions } from '../operations/upload-file.ts'
import type { Caller } from '../policy/caller.ts'
import type { TableDefinition } from '../schema/column.ts'
import type { SqlQuery } from '../sql/sql.ts'
import { assertMembers } from '../util/options.ts'
import type { ReadRecord } from './session-records.ts'

type Values = readonly QueryValue[]

/** Options of an insert of one record, with its tokens, which a list has beside the fields of each record. */
export type InsertOneOptions = InsertOptions & { readonly tokens?: unknown }

/** Returns the input for one record. Options are read inside the operation, so that a getter that throws there leaves an event. */
export function toInsertInput(table: string, fields: unknown, given: InsertOneOptions): InsertInput {
  return {
    table,
    get records() {
      return [{ fields, tokens: given?.tokens }]
    },
    get options() {
      // What is no object, the operation refuses.
      if (typeof given !== 'object' || given === null || Array.isArray(given)) return given
      const { tokens: _, ...options } = given
      return options
    },
  }
}

/** Returns the input of the operation. Whatever is before options counts as values, so that neither is ignored. */
export function toQueryInput(
  query: string | SqlQuery,
  second: Values | QueryOptions | undefined,
  third: QueryOptions | undefined,
): QueryInput {
  if (third === undefined && !isList(second)) return { query, options: second === undefined ? NO_QUERY_OPTIONS : second }
  // The operation refuses values that are not a list.
  return { query, values: second as Values, options: third === undefined ? NO_QUERY_OPTIONS : third }
}

/** Returns the values and the caller of a query to explain. */
export function toExplained(
  second: Values | Caller,
  third: Caller | undefined,
): { readonly values?: Values; readonly caller: Caller } {
  return isList(second) ? { values: second, caller: third as Caller } : { caller: second }
}

/** `Array.isArray` for a readonly list. False where it throws, for a Proxy that was revoked: the operation refuses that as options. */
function isList(given: unknown): given is Values {
  try {
    return Array.isArray(given)
  } catch {
    return false
  }
}

/** An upload with its options beside its other members. By ticket, it names no record. */
export type GivenUpload = Partial<UploadFileInput> & UploadFileOptions

const CONTENT = ['file', 'fileName'] as const
const OPTIONS = ['returnFileMetadata', 'signal'] as const

/** Returns the input of an upload into a record. Its members are read inside the operation, so that a getter that throws there leaves an event. */
export function toUploadInput(given: GivenUpload): UploadFileInput {
  return readLater(given, ['table', 'column', 'id', ...CONTENT]) as UploadFileInput
}

/** The same for an upload by ticket. */
export function toTicketUpload(given: GivenUpload): TicketUpload {
  return readLater(given, CONTENT) as TicketUpload
}

function readLater(given: GivenUpload, members: readonly (keyof GivenUpload)[]): Partial<UploadFileInput> {
  const input = {
    get options() {
      assertMembers(given, [...members, ...OPTIONS])
      const { returnFileMetadata, signal }: UploadFileOptions = given ?? {}
      return { ...(returnFileMetadata === undefined ? {} : { returnFileMetadata }), ...(signal === undefined ? {} : { signal }) }
    },
  }
  for (const name of members) Object.defineProperty(input, name, { get: () => given?.[name], enumerable: true })
  return input
}

/**
 * A page of records. `next` is the cursor of the next one: absent if there was no further record, unless the read is `resumable`. A
 * conditional type, because editors then show its records, and not its name with the whole schema as argument.
 */
export type RecordPage<T extends TableDefinition, O> = O extends { readonly resumable: true }
  ? { readonly records: ReadRecord<T, O>[]; readonly next: string }
  : { readonly records: ReadRecord<T, O>[]; readonly next?: string }

/** Yields the pages, and reads each when it is asked for. Between two pages nothing is open. */
export async function* readPages(
  context: SessionContext,
  table: string,
  given: GetOptions = {},
): AsyncGenerator<GetResult, undefined> {
  let options: GetOptions | undefined
  // Read inside the operation, so that a getter that throws there leaves an event.
  let page = await perform(context, get, {
    table,
    get options() {
      options ??= copyOf(given)
      return options
    },
  })
  const { offset: _, ...following }: GetOptions = options ?? {}
  const { limit = DEFAULT_PAGE_SIZE } = following
  for (;;) {
    yield page
    const { records, next } = page
    // A resumable page always has a cursor.
    if (next === undefined || records.length < limit) return undefined
    page = await perform(context, get, { table, options: { ...following, after: next } })
  }
}

/** Returns a copy that the caller cannot change between two pages; what is no object unchanged, for the operation to refuse. */
function copyOf(options: GetOptions): GetOptions {
  return typeof options === 'object' && options !== null ? { ...options } : options
}
