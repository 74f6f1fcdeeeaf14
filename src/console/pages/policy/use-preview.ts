/** A preview, page by page: what it is of, what has come, and what failed. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { OperationInput } from '../../../index.ts'
import { perform } from '../../app/api.ts'
import type { Draft, Preview } from './contract.ts'

/** What a preview is of. */
export type PreviewInput = Omit<OperationInput<'previewAccess'>, 'after' | 'limit' | 'draft'> & { readonly draft?: Draft }

/** A preview in this tab. */
export interface LoadedPreview {
  /** Undefined until the first page has come. */
  readonly preview: Preview | undefined
  readonly failure: unknown
  /** Loads the next page, or the first one again after a failure. */
  more(): void
}

/** Records of one page. */
const LIMIT = 25

/** Returns the preview. Each page is one event under the name of the caller. */
export function usePreview(input: PreviewInput): LoadedPreview {
  const key = JSON.stringify(input)
  const [loaded, setLoaded] = useState<{ readonly key: string; readonly preview?: Preview; readonly failure?: unknown }>({
    key: '',
  })
  const current = loaded.key === key ? loaded : { key }
  const reading = useRef<AbortController | undefined>(undefined)
  // One page at a time: an answer that comes later than that of another choice is not wanted any more.
  const load = (): void => {
    const { preview } = current
    reading.current?.abort()
    reading.current = new AbortController()
    const { signal } = reading.current
    const page = { ...input, limit: LIMIT, ...(preview?.next === undefined ? {} : { after: preview.next }) }
    perform('previewAccess', page, { signal }).then(
      (next) => setLoaded({ key, preview: { ...next, records: [...(preview?.records ?? []), ...next.records] } }),
      (failure: unknown) => {
        if (!signal.aborted) setLoaded({ ...current, failure })
      },
    )
  }
  useEffect(() => {
    load()
    return () => reading.current?.abort()
  }, [key])
  return { preview: current.preview, failure: current.failure, more: load }
}
