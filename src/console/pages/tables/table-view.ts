/** What the caller looks at in a table: a look-up, an order, the pages of it, and the place among them. Kept until another table is opened. */
import { useLayoutEffect, useReducer, useState } from 'preact/hooks'
import { perform } from '../../app/api.ts'
import type { TableDescription, UntypedRecord } from '../../app/contract.ts'
import { currentSession, onSignOut } from '../../app/session.ts'
import type { CellPosition } from '../../ui/grid/moves.ts'
import { createPages, type LoadedPage, type Pages } from '../../ui/grid/pages.ts'

/** A whole value in a column. */
export interface LookUp {
  readonly column: string
  readonly text: string
}

/** The read that a view is of. */
export interface TableRead {
  readonly lookUp?: LookUp | undefined
  readonly isNewestFirst: boolean
}

/** A view. */
export interface TableView extends TableRead {
  readonly table: TableDescription
  readonly pages: Pages<UntypedRecord>
  readonly scroll: { top: number }
  current: CellPosition
}

/** Records of one page. */
const PAGE_SIZE = 200

/** The last view, without its records: coming back from a record, the caller is where they were. */
let last: TableView | undefined
let onChange = (): void => {}
onSignOut(forgetView)

/** Begins the next view of a table anew, after a record was inserted or deleted. */
export function forgetView(): void {
  last?.pages.close()
  last = undefined
}

/** Returns the view of a table, a function that opens another one, and one that draws it again. */
export function useTableView(table: TableDescription): readonly [TableView, (read: TableRead) => void, () => void] {
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const [view, setView] = useState(() => (last?.table === table ? last : openView(table, { isNewestFirst: false })))
  useLayoutEffect(() => {
    last = view
    onChange = () => redraw(undefined)
    return () => {
      onChange = () => {}
      view.pages.forget()
    }
  }, [view])
  return [view, (read) => setView(openView(table, read)), () => redraw(undefined)]
}

function openView(table: TableDescription, { lookUp, isNewestFirst }: TableRead): TableView {
  const limit = Math.min(PAGE_SIZE, currentSession().caller.limits.page)
  const order = isNewestFirst ? { orderBy: 'DESCENDING' as const } : {}
  // The value is in the body, and it is text, as the box has it.
  const where = lookUp === undefined ? {} : { where: { [lookUp.column]: lookUp.text } }
  const load = (after: string | undefined, signal: AbortSignal): Promise<LoadedPage<UntypedRecord>> => {
    const options = { limit, ...order, ...where, ...(after === undefined ? {} : { after }) }
    return perform('get', { table: table.name, options, areTexts: lookUp !== undefined }, { signal })
  }
  const pages = createPages<UntypedRecord>({ load, onChange: () => onChange(), ahead: limit })
  return { table, lookUp, isNewestFirst, pages, scroll: { top: 0 }, current: { row: 0, column: 0 } }
}
