/** The grid of records: one tab stop with a current cell, rows by @tanstack/virtual-core, as many elements as fit the window. */
import './grid.css'
import { observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core'
import { useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks'
import type { ColumnDescription, TableDescription, UntypedRecord } from '../../app/contract.ts'
import { useStore } from '../../app/store.ts'
import { revealedChanges } from '../revealed.ts'
import { type GridColumns, ID_WIDTH } from './columns.ts'
import { GridHeader } from './header.tsx'
import { type CellPosition, clampCell, moveCell, scrollToRow } from './moves.ts'
import type { Pages } from './pages.ts'
import { cellElementId, Row, type RowActions } from './row.tsx'
import { scaleOf } from './scale.ts'
import { createSlots, drawnRows } from './slots.ts'

/** What the caller does with a cell. `at` is where it is drawn. */
export interface CellActions {
  /** Chooses the current cell. */
  pick(position: CellPosition): void
  open(id: string): void
  reveal(position: CellPosition, at: DOMRect | undefined): void
  /** Says why a column looks as it does. */
  explain(column: ColumnDescription, at: DOMRect | undefined): void
  copy(position: CellPosition): void
  /** Hides what is revealed. */
  hide(): void
}

/** What the grid is made of. */
export interface GridProps {
  readonly table: TableDescription
  readonly columns: GridColumns
  readonly pages: Pages<UntypedRecord>
  /** Number of records, where it is known. */
  readonly total: number | undefined
  /** The current cell. Column 0 is the id. */
  readonly current: CellPosition
  readonly actions: CellActions
  /** Where the rows are scrolled to, in pixels from the first one: read at the start, and written while they scroll. */
  readonly scroll: { top: number }
}

/** Rows that are drawn as not read yet, below the last one that is known. */
const WAITING_ROWS = 12
/** Rows that are drawn above and below the window. */
const OVERSCAN = 6
/** Height of the header, in pixels; as in grid.css. */
const HEADER_HEIGHT = 40

/** Draws the grid, by roles and not by `<table>`: a table of HTML has no rows that are not there, and its cells would each be a tab stop. */
export function Grid({ table, columns, pages, total, current, actions, scroll }: GridProps) {
  const element = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const revealed = useStore(revealedChanges)
  const assign = useMemo(createSlots, [pages])
  const rowHeight = useRowHeight()
  const count = pages.isWhole || pages.failure !== undefined ? pages.count : pages.count + WAITING_ROWS
  const scale = useRef(scaleOf(0, 0))
  const virtual = useMemo(
    () =>
      new Virtualizer<HTMLDivElement, HTMLDivElement>({
        count,
        getScrollElement: () => element.current,
        estimateSize: () => rowHeight,
        initialOffset: scroll.top,
        overscan: OVERSCAN,
        onChange: () => redraw(undefined),
        scrollToFn: (offset, _, { scrollElement }) => {
          if (scrollElement !== null) scrollElement.scrollTop = scale.current.toDrawn(offset)
        },
        observeElementRect: (own, onRect) =>
          observeElementRect(own, (rect) => {
            setWidth(rect.width)
            onRect(rect)
          }),
        observeElementOffset: (own, onOffset) =>
          observeElementOffset(own, (offset, isScrolling) => onOffset(scale.current.toRows(offset), isScrolling)),
      }),
    [pages, rowHeight],
  )
  virtual.setOptions({
    ...virtual.options,
    count,
    rangeExtractor: ({ startIndex, endIndex }) =>
      drawnRows(Math.max(0, startIndex - OVERSCAN), Math.min(count - 1, endIndex + OVERSCAN), Math.min(count - 1, current.row)),
  })
  const view = (virtual.scrollRect?.height ?? 0) - HEADER_HEIGHT
  const position = virtual.scrollOffset ?? scroll.top
  scale.current = scaleOf(count * rowHeight, view)
  scroll.top = position
  const { height, toDrawn } = scale.current
  useLayoutEffect(() => virtual._didMount(), [virtual])
  useLayoutEffect(() => virtual._willUpdate())
  useLayoutEffect(() => {
    // More rows give each position of the scroll bar another meaning.
    const drawn = toDrawn(scroll.top)
    if (height < count * rowHeight && element.current !== null) element.current.scrollTop = drawn
  }, [count])

  const rows = virtual.getVirtualIndexes()
  const inWindow = rows.filter((row) => row !== current.row || rows.length === 1)
  useLayoutEffect(() => pages.look(inWindow[0] ?? 0, inWindow.at(-1) ?? 0))

  const shown = columns.shown()
  const tracks = [ID_WIDTH, ...columns.widths(width - ID_WIDTH)]
  const extent = { rows: pages.count, columns: shown.length + 1, page: Math.max(1, Math.floor(view / rowHeight) - 1) }
  const focus = (): void => element.current?.focus({ preventScroll: true })
  const rectOf = (cell: CellPosition) => document.getElementById(cellElementId(cell))?.getBoundingClientRect()
  const actionsNow = useRef(actions)
  actionsNow.current = actions
  const rowActions = useMemo(
    (): RowActions => ({
      pick: (cell) => actionsNow.current.pick(cell),
      open: (id) => actionsNow.current.open(id),
      reveal(cell) {
        // The button is gone once the cell is revealed: the focus returns to the grid.
        focus()
        actionsNow.current.reveal(cell, rectOf(cell))
      },
    }),
    [],
  )

  function moveTo(cell: CellPosition): void {
    actions.pick(cell)
    const grid = element.current
    if (grid === null) return
    const top = scrollToRow(cell.row, rowHeight, { position, view })
    if (top !== position) grid.scrollTop = toDrawn(top)
    scrollToColumn(grid, tracks, cell.column)
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.target !== element.current) return
    const to = moveCell(current, event, extent)
    if (to !== undefined) moveTo(to)
    else if (!act(event)) return
    event.preventDefault()
  }

  function act(event: KeyboardEvent): boolean {
    const isCopy = event.key.toLowerCase() === 'c' && !event.altKey
    if (isCopy) actions.copy(current)
    if (isCopy || event.ctrlKey || event.metaKey || event.altKey) return isCopy
    const column = shown[current.column - 1]
    const content = pages.at(current.row)
    switch (event.key) {
      case 'Enter':
        if (typeof content === 'object') actions.open(content.id)
        return true
      case 'r':
        actions.reveal(current, rectOf(current))
        return true
      case 'w':
        if (column !== undefined) actions.explain(column, rectOf(current))
        return true
      case 'Escape':
        actions.hide()
        return true
      default:
        return false
    }
  }

  return (
    <div
      class="grid"
      ref={element}
      role="grid"
      tabIndex={0}
      data-start
      aria-label={`Records of ${table.name}`}
      aria-rowcount={pages.isWhole ? pages.count + 1 : total === undefined ? -1 : total + 1}
      aria-activedescendant={cellElementId(clampCell(current, { rows: count, columns: extent.columns }))}
      aria-busy={pages.isLoading}
      style={{
        '--columns': tracks.map((one) => `${one}px`).join(' '),
        '--width': `${tracks.reduce((sum, one) => sum + one, 0)}px`,
      }}
      onKeyDown={onKeyDown}
    >
      <GridHeader
        columns={shown}
        model={columns}
        onResize={() => redraw(undefined)}
        onExplain={(column, at) => {
          focus()
          actions.explain(column, at)
        }}
      />
      <div role="rowgroup" class="grid-rows" style={{ height: `${height}px` }}>
        {assign(rows).map(({ row, slot }) => (
          <Row
            key={slot}
            table={table.name}
            row={row}
            top={row * rowHeight - position + toDrawn(position)}
            content={pages.at(row)}
            columns={shown}
            current={row === current.row ? current.column : undefined}
            revealed={revealed}
            actions={rowActions}
          />
        ))}
      </div>
    </div>
  )
}

/** Height of a row in pixels: `--row` of the styles, which is higher where fingers are. */
function useRowHeight(): number {
  const [height, setHeight] = useState(readRowHeight)
  useLayoutEffect(() => {
    const onResize = (): void => setHeight(readRowHeight)
    addEventListener('resize', onResize)
    return () => removeEventListener('resize', onResize)
  }, [])
  return height
}

function readRowHeight(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row'))
}

/** Scrolls as little as shows a column. */
function scrollToColumn(grid: HTMLElement, tracks: readonly number[], column: number): void {
  const start = tracks.slice(0, column).reduce((sum, track) => sum + track, 0)
  const end = start + (tracks[column] ?? 0)
  if (column === 0 || start < grid.scrollLeft) grid.scrollLeft = column === 0 ? 0 : start
  else if (end > grid.scrollLeft + grid.clientWidth) grid.scrollLeft = end - grid.clientWidth
}
