/** Reads one record with its version and the metadata of its files. */
import { useEffect, useState } from 'preact/hooks'
import { perform } from '../../app/api.ts'
import type { TableDescription, UntypedRecord } from '../../app/contract.ts'

/** A file of a record, as far as the caller may know it. */
export interface FileMetadata {
  readonly fileName: string
  /** Kilobytes of 1,024 bytes. */
  readonly fileSizeKB: number
  readonly fileType: string
}

/** One record. */
export interface OneRecord extends UntypedRecord {
  readonly version?: string
  readonly fileMetadata?: Readonly<Record<string, FileMetadata>>
}

/** The record, or why it is not there. */
export interface RecordState {
  readonly record?: OneRecord
  readonly failure?: unknown
}

/** Returns the record, and a function that reads it again. */
export function useRecord(table: TableDescription, id: string): readonly [RecordState, () => void] {
  const [state, setState] = useState<RecordState>({})
  const [reads, setReads] = useState(0)
  useEffect(() => {
    const abort = new AbortController()
    const { signal } = abort
    const options = { version: true, returnFileMetadata: table.columns.some(({ type }) => type === 'FILE') }
    perform<OneRecord>('getOne', { table: table.name, id, options }, { signal }).then(
      (record) => setState({ record }),
      (failure: unknown) => {
        if (!signal.aborted) setState({ failure })
      },
    )
    return () => abort.abort()
  }, [table, id, reads])
  return [state, () => setReads(reads + 1)]
}
