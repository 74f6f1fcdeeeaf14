/** Reads one record with its version and the metadata of its files. */
import { useEffect, useState } from 'preact/hooks'
import { perform } from '../../app/api.ts'
import type { TableDescription, UntypedRecord } from '../../app/contract.ts'

/** The record, or why it is not there. */
export interface RecordState {
  readonly record?: UntypedRecord
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
    perform('getOne', { table: table.name, id, options }, { signal }).then(
      (record) => setState({ record }),
      (failure: unknown) => {
        if (!signal.aborted) setState({ failure })
      },
    )
    return () => abort.abort()
  }, [table, id, reads])
  return [state, () => setReads(reads + 1)]
}
