/** The page of a table: a grid of its records, each column at the caller's level. */
import './tables.css'
import { useState } from 'preact/hooks'
import { announce } from '../../app/announce.ts'
import type { ColumnDescription, TableDescription } from '../../app/contract.ts'
import { Link } from '../../app/link.tsx'
import { go, type PageProps } from '../../app/router.ts'
import { tableOf } from '../../app/session.ts'
import { cellOf } from '../../ui/cell.ts'
import { copyCell, copyText } from '../../ui/copy.ts'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { columnsOf } from '../../ui/grid/columns.ts'
import { type CellActions, Grid } from '../../ui/grid/grid.tsx'
import { isRevealable } from '../../ui/grid/row.tsx'
import { LevelMark } from '../../ui/level-mark.tsx'
import { Page } from '../../ui/page.tsx'
import { HideRevealed, RevealDialog, type RevealProps } from '../../ui/reveal.tsx'
import { forgetRevealed } from '../../ui/revealed.ts'
import { WhyDialog } from '../../ui/why.tsx'
import { ColumnMenu } from './column-menu.tsx'
import { LookUpBox, lookUpColumns } from './look-up.tsx'
import { NoSuchTable } from './no-such-table.tsx'
import { useRecordCount } from './record-count.ts'
import { currentRecord, StatusLine } from './status-line.tsx'
import { type TableView, useTableView } from './table-view.ts'

const KEYS = [
  ['R', 'reveal'],
  ['W', 'why'],
  ['↵', 'open'],
  ['?', 'keys'],
] as const

/** Draws the page. */
export function TablesPage({ path: [name = ''] }: PageProps) {
  const table = tableOf(name)
  return table === undefined ? <NoSuchTable /> : <TablePage table={table} />
}

/** What is open over the grid. */
type Over =
  | { readonly kind: 'why'; readonly column: ColumnDescription; readonly at: DOMRect | undefined }
  | ({ readonly kind: 'reveal' } & Omit<RevealProps, 'onClose'>)

function TablePage({ table }: { readonly table: TableDescription }) {
  const [view, open, redraw] = useTableView(table)
  const [over, setOver] = useState<Over | undefined>()
  const columns = columnsOf(table)
  const total = useRecordCount(view)
  const { pages, lookUp, isNewestFirst } = view
  const column = columns.shown()[view.current.column - 1]
  const actions: CellActions = {
    pick(position) {
      view.current = position
      redraw()
    },
    open: (id) => go(['tables', table.name, id]),
    explain: (one, at) => setOver({ kind: 'why', column: one, at }),
    reveal({ row, column: index }, at) {
      const record = pages.at(row)
      const one = columns.shown()[index - 1]
      if (typeof record !== 'object' || one === undefined) return
      if (isRevealable(one, cellOf(record, one.name, table.name)))
        setOver({ kind: 'reveal', table: table.name, id: record.id, column: one.name, at })
      else announce('There is nothing to reveal in this cell')
    },
    copy: () => void copyCurrent(view, column),
    hide: forgetRevealed,
  }
  const close = (): void => setOver(undefined)
  const searchable = lookUpColumns(table.columns)
  const isEmpty = pages.isWhole && pages.count === 0
  return (
    <Page
      title={table.name}
      isFull
      head={
        <>
          {searchable.length === 0 ? null : (
            <LookUpBox columns={searchable} current={lookUp} onLookUp={(next) => open({ lookUp: next, isNewestFirst })} />
          )}
          <span class="spacer" />
          <HideRevealed />
          <Legend />
          <button
            type="button"
            class="button toggle"
            aria-pressed={isNewestFirst}
            onClick={() => open({ lookUp, isNewestFirst: !isNewestFirst })}
          >
            <span>
              Newest<span class="only-wide"> first</span>
            </span>
          </button>
          <ColumnMenu table={table} columns={columns} onChange={redraw} />
          {table.canInsert ? (
            <Link to={['tables', table.name, 'new']} class="button primary">
              Insert
            </Link>
          ) : null}
        </>
      }
      foot={<StatusLine view={view} total={total} column={column} />}
      keys={KEYS}
    >
      {pages.failure !== undefined && pages.count === 0 ? (
        <div class="pad">
          <Failure error={pages.failure} retry={() => pages.retry()} />
        </div>
      ) : isEmpty ? (
        <NoRecords view={view} onShowAll={() => open({ isNewestFirst })} />
      ) : (
        <Grid
          table={table}
          columns={columns}
          pages={pages}
          total={lookUp === undefined ? total : undefined}
          current={view.current}
          actions={actions}
          scroll={view.scroll}
        />
      )}
      {over?.kind === 'why' ? <WhyDialog table={table.name} {...over} onClose={close} /> : null}
      {over?.kind === 'reveal' ? <RevealDialog {...over} onClose={close} /> : null}
    </Page>
  )
}

async function copyCurrent(view: TableView, column: ColumnDescription | undefined): Promise<void> {
  const record = currentRecord(view)
  if (record === undefined) return
  if (column === undefined) await copyText(record.id, 'Id')
  else await copyCell(cellOf(record, column.name, view.table.name), column.name)
}

/** The words of the marks in the header of the grid. */
function Legend() {
  return (
    <div class="legend" aria-hidden="true">
      <span>
        <LevelMark of="PLAIN_TEXT" />
        plain
      </span>
      <span>
        <LevelMark of="MASKED" />
        masked
      </span>
      <span>
        <LevelMark of="REDACTED" />
        redacted
      </span>
    </div>
  )
}

function NoRecords({ view: { table, lookUp }, onShowAll }: { readonly view: TableView; onShowAll(): void }) {
  if (lookUp === undefined) {
    return (
      <Empty title="No records yet.">
        <p>
          {table.canInsert
            ? 'Insert one here, or send records to the API.'
            : 'Records appear here when an application inserts them.'}
        </p>
      </Empty>
    )
  }
  return (
    <Empty title={`No record with this ${lookUp.column}.`}>
      <p>No record that you can see has exactly this value. Look-ups compare the whole value.</p>
      <button type="button" class="button" onClick={onShowAll}>
        Show all records
      </button>
    </Empty>
  )
}
