/** The files of a record by the state of their scan: download, upload and deletion where the policy allows them. */
import { useEffect, useState } from 'preact/hooks'
import type { OperationResult } from '../../../index.ts'
import { announce } from '../../app/announce.ts'
import { perform } from '../../app/api.ts'
import type { ColumnDescription, TableDescription, UntypedRecord } from '../../app/contract.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Failure } from '../../ui/failure.tsx'
import { downloadFile, type FilePlace, uploadFile } from './file-transfer.ts'

type FileStatuses = OperationResult<'fileStatuses'>['records'][number]['fields']

/** The states of a scan: the word, and how it is marked. */
const STATES: Readonly<Record<string, readonly [word: string, mark: string]>> = {
  SCAN_CLEAN: ['clean', 'chip ok'],
  SCAN_PENDING: ['waits for its scan', 'chip'],
  SCAN_UNSCANNABLE: ['not scanned', 'chip masked'],
  SCAN_ERROR: ['scan failed, is repeated', 'chip masked'],
  SCAN_INFECTED: ['infected', 'chip bad'],
  SCAN_DELETED: ['infected, content destroyed', 'chip bad'],
  SCAN_FILE_NOT_FOUND: ['content is missing', 'chip bad'],
  SCAN_INVALID: ['content failed authentication', 'chip bad'],
}

/** What the section is made of. */
export interface FileSectionProps {
  readonly table: TableDescription
  readonly record: UntypedRecord
  /** Called when a file was uploaded or deleted. */
  onChange(): void
}

/** Draws it; nothing for a table without files that the caller may read or write. */
export function FileSection({ table, record, onChange }: FileSectionProps) {
  const columns = table.columns.filter((column) => column.type === 'FILE' && (canRead(column) || canWrite(column)))
  const [statuses, setStatuses] = useState<FileStatuses>({})
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const [asked, setAsked] = useState<FilePlace | undefined>()
  useEffect(() => {
    const fileColumns = columns.filter(canRead).map(({ name }) => name)
    if (fileColumns.length === 0) return
    const abort = new AbortController()
    const records = [{ table: table.name, id: record.id, fileColumns }]
    perform('fileStatuses', { records }, { signal: abort.signal }).then(
      (found) => setStatuses(found.records[0]?.fields ?? {}),
      (error: unknown) => {
        if (!abort.signal.aborted) setFailure(error)
      },
    )
    return () => abort.abort()
  }, [record])
  if (columns.length === 0) return null
  const act = (done: string, work: () => Promise<unknown>, changes: boolean) => (): void => {
    setFailure(undefined)
    setBusy(true)
    work()
      .then(() => {
        announce(done)
        if (changes) onChange()
      }, setFailure)
      .finally(() => setBusy(false))
  }
  return (
    <section class="section" aria-labelledby="files">
      <h2 id="files">Files</h2>
      {failure === undefined ? null : <Failure error={failure} />}
      <div class="list">
        {columns.map((column) => {
          const place = { table: table.name, column: column.name, id: record.id }
          const isThere = statuses[column.name]?.fileStatus === 'UPLOADED'
          return (
            <div key={column.name}>
              <span class="faint token-column">{column.name}</span>
              <FileAbout record={record} column={column.name} status={statuses[column.name]} />
              <span class="chips at-end">
                {isThere && column.read.highestLevel === 'PLAIN_TEXT' ? (
                  <button
                    type="button"
                    class="button small"
                    disabled={isBusy}
                    onClick={act('File downloaded', () => downloadFile(place), false)}
                  >
                    Download
                  </button>
                ) : null}
                {canWrite(column) ? (
                  <label class="button small">
                    {isThere ? 'Replace' : 'Upload'}
                    <input
                      type="file"
                      class="spoken"
                      disabled={isBusy}
                      aria-label={`File for ${column.name}`}
                      onChange={({ currentTarget }) => {
                        const [file] = currentTarget.files ?? []
                        if (file !== undefined) act('File uploaded', () => uploadFile(place, file), true)()
                        // The same file can be chosen again.
                        currentTarget.value = ''
                      }}
                    />
                  </label>
                ) : null}
                {isThere && canWrite(column) ? (
                  <button type="button" class="button quiet small" disabled={isBusy} onClick={() => setAsked(place)}>
                    Delete file
                  </button>
                ) : null}
              </span>
            </div>
          )
        })}
      </div>
      {asked === undefined ? null : (
        <Confirm
          title={`Delete the file of ${asked.column}`}
          action="Delete file"
          run={async () => {
            await perform('deleteFile', asked)
            announce('File deleted')
            onChange()
          }}
          onClose={() => setAsked(undefined)}
        >
          <p>Its content is destroyed. The record stays.</p>
        </Confirm>
      )}
    </section>
  )
}

function FileAbout({
  record,
  column,
  status,
}: {
  readonly record: UntypedRecord
  readonly column: string
  readonly status: FileStatuses[string] | undefined
}) {
  if (status === undefined) return null
  if (status.fileStatus === 'NOT_UPLOADED') return <span class="faint">no file</span>
  const metadata = record.fileMetadata?.[column]
  const [word, mark] = STATES[status.avScanStatus] ?? [status.avScanStatus, 'chip']
  return (
    <span class="file-about">
      <span dir="auto">{metadata?.fileName ?? 'A file'}</span>
      <span class="chips">
        <span class={mark}>{word}</span>
        {metadata === undefined ? null : (
          <span class="faint">
            {metadata.fileSizeKB.toLocaleString('en')} kB, {metadata.fileType}
          </span>
        )}
      </span>
    </span>
  )
}

function canRead({ read }: ColumnDescription): boolean {
  return read.decision !== 'DENIED'
}

function canWrite({ update }: ColumnDescription): boolean {
  return update !== 'DENIED'
}
