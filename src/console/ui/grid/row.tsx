/** One row of the grid. Its element is kept while rows scroll through it, and drawn again only when what it shows changes. */
import { Component } from 'preact'
import type { ColumnDescription, UntypedRecord } from '../../app/contract.ts'
import { hrefOf } from '../../app/router.ts'
import { type Cell, canReveal, cellOf, textOf } from '../cell.ts'
import { Value } from '../value.tsx'
import type { CellPosition } from './moves.ts'
import type { RowContent } from './pages.ts'

/** What a row is drawn from. */
export interface RowProps {
  readonly table: string
  readonly row: number
  /** Pixels from the top of the rows. */
  readonly top: number
  readonly content: RowContent<UntypedRecord>
  readonly columns: readonly ColumnDescription[]
  /** The column of the current cell, from 0 for the id; undefined if the current cell is in another row. */
  readonly current: number | undefined
  /** Counts the changes of revealed values. */
  readonly revealed: number
  readonly actions: RowActions
}

/** What is done with a cell by the pointer. */
export interface RowActions {
  pick(position: CellPosition): void
  open(id: string): void
  reveal(position: CellPosition): void
}

/** Letters of a text that a cell draws at most. The page of the record has all of it. */
const MAX_LETTERS = 300
/** Letters of an id that a row shows: enough to recognize it. */
const ID_LETTERS = 8

/** Returns the id of the element of a cell. */
export function cellElementId({ row, column }: CellPosition): string {
  return `cell-${row}-${column}`
}

/** True for a cell that the caller may reveal now. */
export function isRevealable(column: ColumnDescription, { state }: Cell): boolean {
  return (state === 'masked' || state === 'redacted') && canReveal(column)
}

/** Draws a row. */
export class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const { props } = this
    return DRAWN.some((name) => next[name] !== props[name])
  }

  override render() {
    const { row, top, content, columns, current } = this.props
    const record = typeof content === 'object' ? content : undefined
    return (
      <div
        role="row"
        class={current === undefined ? 'grid-row' : 'grid-row current'}
        aria-rowindex={row + 2}
        style={{ transform: `translateY(${top}px)` }}
      >
        <div role="rowheader" {...this.placeOf(0)}>
          {record === undefined ? <NoRecord content={content} /> : this.link(record)}
        </div>
        {columns.map((column, index) => (
          <div role="gridcell" key={column.name} {...this.placeOf(index + 1, isNumeric(column))}>
            {record === undefined ? <NoRecord content={content} isCell /> : this.value(record, column, index + 1)}
          </div>
        ))}
      </div>
    )
  }

  private placeOf(column: number, isNumber = false) {
    const { row, current, content, actions } = this.props
    const position = { row, column }
    const names = [isNumber ? 'number' : '', current === column ? 'current' : '']
    return {
      id: cellElementId(position),
      class: names.filter((name) => name !== '').join(' '),
      onMouseDown: () => actions.pick(position),
      onDblClick: () => {
        if (typeof content === 'object') actions.open(content.id)
      },
    }
  }

  private link({ id }: UntypedRecord) {
    const { table, actions } = this.props
    return (
      <a
        class="mono faint"
        tabIndex={-1}
        href={hrefOf(['tables', table, id])}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
          event.preventDefault()
          actions.open(id)
        }}
      >
        {id.slice(0, ID_LETTERS)}
      </a>
    )
  }

  private value(record: UntypedRecord, column: ColumnDescription, index: number) {
    const { table, row, current, actions } = this.props
    const cell = cellOf(record, column.name, table)
    return (
      <>
        <Value cell={shortened(cell)} />
        {current === index && isRevealable(column, cell) ? (
          <button type="button" class="reveal" tabIndex={-1} onClick={() => actions.reveal({ row, column: index })}>
            Reveal
          </button>
        ) : null}
      </>
    )
  }
}

/** What a row shows depends on these alone. */
const DRAWN = ['row', 'top', 'content', 'columns', 'current', 'revealed', 'table'] as const

/** A row that is not read yet, or whose record was deleted since it was. */
function NoRecord({ content, isCell = false }: { readonly content: RowContent<UntypedRecord>; readonly isCell?: boolean }) {
  // A header of a row has a name from the first.
  if (content === undefined) return <span class="skeleton">{isCell ? null : <span class="spoken">not read yet</span>}</span>
  return isCell ? null : <span class="faint">deleted</span>
}

/** True for a column whose values are aligned as numbers. */
export function isNumeric({ type }: ColumnDescription): boolean {
  return type === 'INTEGER' || type === 'DECIMAL' || type === 'FLOAT'
}

function shortened(cell: Cell): Cell {
  if (cell.state !== 'plain' && cell.state !== 'masked' && cell.state !== 'revealed') return cell
  const text = textOf(cell.value)
  if (text.length <= MAX_LETTERS) return cell
  // A character of two units is not cut in half.
  return { ...cell, value: `${text.slice(0, MAX_LETTERS).replace(/[\uD800-\uDBFF]$/, '')}…` }
}
