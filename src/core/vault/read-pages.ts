/** Reads records page by page: each page is one read, and begins after the last record of the page before. */
import type { SessionContext } from '../execution/context.ts'
import { perform } from '../execution/perform.ts'
import { DEFAULT_PAGE_SIZE } from '../limits.ts'
import { type GetOptions, type GetResult, get } from '../operations/get-records.ts'
import type { TableDefinition } from '../schema/column.ts'
import type { ReadRecord } from './session-records.ts'

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
