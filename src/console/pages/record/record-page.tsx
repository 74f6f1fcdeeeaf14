/** The page of one record: its fields, tokens and files, who saw it, and the forms that change it. */
import './record.css'
import { useState } from 'preact/hooks'
import { announce } from '../../app/announce.ts'
import { ApiError, perform } from '../../app/api.ts'
import type { TableDescription } from '../../app/contract.ts'
import { Link } from '../../app/link.tsx'
import { go, type PageProps, replace } from '../../app/router.ts'
import { tableOf } from '../../app/session.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Page } from '../../ui/page.tsx'
import { HideRevealed } from '../../ui/reveal.tsx'
import { forgetRevealed } from '../../ui/revealed.ts'
import { WhoSaw } from '../audit/who-saw.tsx'
import { NoSuchTable } from '../tables/no-such-table.tsx'
import { changeCount } from '../tables/record-count.ts'
import { forgetView } from '../tables/table-view.ts'
import { FieldSection } from './fields.tsx'
import { FileSection } from './files.tsx'
import { useRecord } from './one-record.ts'
import { RecordForm } from './record-form.tsx'
import { TokenSection } from './tokens.tsx'

/** In place of an id: the form of a new record. */
const NEW = 'new'
/** Letters of an id in the head: enough to recognize it. */
const ID_LETTERS = 8

/** Draws the page. */
export function RecordPage({ path: [name = '', id = ''] }: PageProps) {
  const table = tableOf(name)
  if (table === undefined) return <NoSuchTable />
  return id === NEW && table.canInsert ? <NewRecord table={table} /> : <StoredRecord table={table} id={id} />
}

function NewRecord({ table }: { readonly table: TableDescription }) {
  return (
    <Page title={table.name} before={<Back table={table} />} head={<span class="faint">new record</span>}>
      <RecordForm
        table={table}
        onWritten={(id) => {
          changeCount(table.name, 1)
          forgetView()
          announce('Record inserted')
          replace(['tables', table.name, id])
        }}
        onCancel={() => go(['tables', table.name])}
      />
    </Page>
  )
}

function StoredRecord({ table, id }: { readonly table: TableDescription; readonly id: string }) {
  const [{ record, failure }, reload] = useRecord(table, id)
  const [mode, setMode] = useState<'read' | 'edit' | 'delete'>('read')
  const canEdit = table.columns.some(({ type, update }) => type !== 'FILE' && update !== 'DENIED')
  return (
    <Page
      title={table.name}
      before={<Back table={table} />}
      head={
        <>
          <span class="mono faint" title={id}>
            {id.slice(0, ID_LETTERS)}
          </span>
          <span class="spacer" />
          <HideRevealed />
          {table.canDelete && record !== undefined ? (
            <button type="button" class="button" onClick={() => setMode('delete')}>
              Delete
            </button>
          ) : null}
          {canEdit && record !== undefined && mode !== 'edit' ? (
            <button type="button" class="button" data-start onClick={() => setMode('edit')}>
              Edit
            </button>
          ) : null}
        </>
      }
    >
      {failure !== undefined ? (
        <RecordFailure error={failure} retry={reload} />
      ) : record !== undefined && mode === 'edit' ? (
        <RecordForm
          table={table}
          record={record}
          onWritten={() => {
            // A value that was revealed may be another one now.
            forgetRevealed()
            setMode('read')
            reload()
            announce('Changes saved')
          }}
          onCancel={(isRefused) => {
            setMode('read')
            if (isRefused) reload()
          }}
        />
      ) : (
        <div class="record-columns">
          <div>
            <FieldSection table={table} record={record} />
            {record === undefined ? null : <FileSection table={table} record={record} onChange={reload} />}
            {record === undefined ? null : <TokenSection table={table} id={id} />}
          </div>
          {record === undefined ? null : <WhoSaw id={id} />}
        </div>
      )}
      {mode === 'delete' && record !== undefined ? (
        <Confirm
          title="Delete this record"
          action="Delete record"
          run={async () => {
            // One that was written meanwhile is not deleted.
            const options = record.version === undefined ? {} : { ifVersion: record.version }
            await perform('deleteOne', { table: table.name, id, options })
            changeCount(table.name, -1)
            forgetView()
            forgetRevealed()
            announce('Record deleted')
            replace(['tables', table.name])
          }}
          onClose={(isRefused) => {
            setMode('read')
            if (isRefused) reload()
          }}
        >
          <p>
            All its fields, tokens and files are deleted: <span class="mono">{id}</span> of {table.name}. The audit trail keeps
            what happened to it.
          </p>
        </Confirm>
      ) : null}
    </Page>
  )
}

/** A record that is hidden and one that does not exist are said alike, as the vault does. */
function RecordFailure({ error, retry }: { readonly error: unknown; retry(): void }) {
  if (!(error instanceof ApiError) || error.status !== 404) return <Failure error={error} retry={retry} />
  return (
    <Empty title="No such record.">
      <p>It does not exist, or none of its columns is shown to you. The vault does not say which.</p>
    </Empty>
  )
}

function Back({ table }: { readonly table: TableDescription }) {
  return (
    <Link to={['tables', table.name]} class="back">
      <span aria-hidden="true">←</span>
      <span class="spoken">Back to {table.name}</span>
    </Link>
  )
}
