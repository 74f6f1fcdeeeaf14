/** The line under the grid: where the current cell is, how it is shown, and which statement decided that. */
import type { ColumnDescription, UntypedRecord } from '../../app/contract.ts'
import { type Cell, cellOf, LEVEL_WORDS, levelOf } from '../../ui/cell.ts'
import { decidingStatements, statementName } from '../../ui/decision.ts'
import { messageOf } from '../../ui/failure.tsx'
import type { TableView } from './table-view.ts'

const STATE_WORDS: Readonly<Record<Cell['state'], string>> = {
  plain: 'plain',
  masked: 'masked',
  redacted: 'redacted',
  revealed: 'revealed',
  null: 'empty',
  hidden: 'not shown in this record',
}

/** What the line is made of. */
export interface StatusLineProps {
  readonly view: TableView
  readonly total: number | undefined
  /** The column of the current cell; undefined for the id. */
  readonly column: ColumnDescription | undefined
}

/** Draws it. */
export function StatusLine({ view, total, column }: StatusLineProps) {
  const { pages, current, table } = view
  const content = pages.at(current.row)
  return (
    <>
      <span class="number">{pages.count === 0 ? '0 records' : `${numbered(current.row + 1)} of ${countText(view, total)}`}</span>
      {column !== undefined && typeof content === 'object' ? (
        <CellText column={column} state={cellOf(content, column.name, table.name).state} />
      ) : null}
      {pages.failure === undefined || pages.count === 0 ? null : <FailedPage view={view} />}
    </>
  )
}

function CellText({ column, state }: { readonly column: ColumnDescription; readonly state: Cell['state'] }) {
  const [first, ...others] = decidingStatements(column)
  const isNever = state === 'hidden' && levelOf(column) === 'NONE'
  return (
    <span class="faint cell-text">
      <b>{column.name}</b> is {isNever ? `${LEVEL_WORDS.NONE} to you` : STATE_WORDS[state]}
      {first === undefined || state === 'null' ? null : (
        <>
          {' by '}
          <span class="mono">{statementName(first)}</span>
          {others.length === 0 ? '' : ` and ${others.length} more`}
        </>
      )}
    </span>
  )
}

/** A page in the middle that could not be read: what is there stays, and it goes on from here. */
function FailedPage({ view: { pages } }: Pick<StatusLineProps, 'view'>) {
  return (
    <span class="chip bad" role="alert">
      {messageOf(pages.failure)}
      <button type="button" class="link" onClick={() => pages.retry()}>
        Try again
      </button>
    </span>
  )
}

function countText({ pages, lookUp }: TableView, total: number | undefined): string {
  if (pages.isWhole) return numbered(pages.count)
  return lookUp === undefined && total !== undefined ? numbered(total) : `${numbered(pages.count)}+`
}

function numbered(count: number): string {
  return count.toLocaleString('en')
}

/** Returns the record of the current row; undefined where none is read. */
export function currentRecord({ pages, current }: TableView): UntypedRecord | undefined {
  const content = pages.at(current.row)
  return typeof content === 'object' ? content : undefined
}
