/** The records of a long table, page by page: cursors and ids of every page that was read, records of the nearest pages alone. */

/** Anything with an id. */
export interface Identified {
  readonly id: string
}

/** A page as the vault returns it. */
export interface LoadedPage<R> {
  readonly records: readonly R[]
  /** Cursor of the next page. Absent after the last one. */
  readonly next?: string | undefined
}

/** What the pages need. */
export interface PagesOptions<R> {
  /** Reads the page after a cursor; the first one without. */
  load(after: string | undefined, signal: AbortSignal): Promise<LoadedPage<R>>
  /** Called after each page that is read, and after each failure. */
  onChange(): void
  /** Rows before the end of what was asked for at which the next page is asked for. */
  readonly ahead?: number
  /** Pages whose records are kept at most: at least 4, because three can be looked at. */
  readonly kept?: number
}

/** A record, `deleted` for one that was there when its page was read first, or undefined while it is not read. */
export type RowContent<R> = R | 'deleted' | undefined

/** The pages of one read. */
export interface Pages<R> {
  /** Rows that are known: one for each record that was read, also if it was deleted since. */
  readonly count: number
  /** True once the last page was read. */
  readonly isWhole: boolean
  readonly isLoading: boolean
  /** Why a page could not be read. Nothing more is read until `retry`. */
  readonly failure: unknown
  at(index: number): RowContent<R>
  /** Says which rows are looked at. Reads their pages and the one ahead, where they are not there. */
  look(first: number, last: number): void
  retry(): void
  /** Forgets every record, and keeps ids and cursors: a row stays where it was. */
  forget(): void
  /** Aborts what is being read. */
  close(): void
}

interface Page<R> {
  /** Row of its first record. */
  readonly first: number
  readonly after: string | undefined
  /** Ids by row; undefined before it was read. A record keeps its row also when others before it are deleted. */
  ids?: readonly string[]
  records?: ReadonlyMap<string, R> | undefined
}

/** Reads at the same time: a fast scroll asks for the newest pages only, and not for all that it passed. */
const MAX_READS = 2

/** Returns the pages of a read. Nothing is read before `look`. */
export function createPages<R extends Identified>({ load, onChange, ahead = 200, kept = 24 }: PagesOptions<R>): Pages<R> {
  const pages: Page<R>[] = [{ first: 0, after: undefined }]
  const reading = new Map<Page<R>, AbortController>()
  let failure: unknown
  let isWhole = false
  let looked: readonly [number, number] | undefined

  const last = (): Page<R> => pages[pages.length - 1] as Page<R>
  const count = (): number => last().first + (last().ids?.length ?? 0)

  function pageAt(row: number): number {
    let low = 0
    for (let high = pages.length - 1; low < high; ) {
      const middle = (low + high + 1) >> 1
      if ((pages[middle]?.first ?? 0) <= row) low = middle
      else high = middle - 1
    }
    return low
  }

  function readLooked(): void {
    if (looked === undefined || failure !== undefined) return
    const [first, end] = looked
    for (const row of [first, end, end + ahead]) {
      const page = pages[pageAt(row)]
      if (reading.size >= MAX_READS) return
      if (page !== undefined && page.records === undefined && !reading.has(page)) void read(page)
    }
  }

  async function read(page: Page<R>): Promise<void> {
    const abort = new AbortController()
    reading.set(page, abort)
    try {
      const { records, next } = await load(page.after, abort.signal)
      if (abort.signal.aborted) return
      page.records = new Map(records.map((record) => [record.id, record]))
      if (page === last()) {
        // Read again, the last page can have records that were inserted since.
        const known = new Set(page.ids)
        page.ids = [...(page.ids ?? []), ...records.flatMap(({ id }) => (known.has(id) ? [] : [id]))]
        isWhole = next === undefined
        if (next !== undefined) pages.push({ first: count(), after: next })
      }
      forgetFar()
    } catch (error) {
      if (abort.signal.aborted) return
      failure = error
    }
    reading.delete(page)
    readLooked()
    onChange()
  }

  function forgetFar(): void {
    const near = looked === undefined ? 0 : pageAt((looked[0] + looked[1] + ahead) >> 1)
    const held = pages
      .map((page, index) => ({ page, far: Math.abs(index - near) }))
      .filter(({ page }) => page.records !== undefined)
    held.sort((a, b) => a.far - b.far)
    for (const { page } of held.slice(kept)) page.records = undefined
  }

  function close(): void {
    for (const abort of reading.values()) abort.abort()
    reading.clear()
    looked = undefined
  }

  return {
    get count() {
      return count()
    },
    get isWhole() {
      return isWhole
    },
    get isLoading() {
      return reading.size > 0
    },
    get failure() {
      return failure
    },
    at(row) {
      const page = pages[pageAt(row)]
      if (page?.ids === undefined || page.records === undefined) return undefined
      const id = page.ids[row - page.first]
      return id === undefined ? undefined : (page.records.get(id) ?? 'deleted')
    },
    look(first, end) {
      looked = [first, end]
      readLooked()
    },
    retry() {
      failure = undefined
      readLooked()
      onChange()
    },
    forget() {
      close()
      failure = undefined
      isWhole = false
      for (const page of pages) page.records = undefined
    },
    close,
  }
}
