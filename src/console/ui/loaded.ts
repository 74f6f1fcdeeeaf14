/** What a page reads from the vault: the value, or why there is none, and another try. */
import { useEffect, useState } from 'preact/hooks'

/** What was read. While it is read again, the last value stays. */
export interface Loaded<T> {
  readonly value?: T
  readonly failure?: unknown
  readonly isLoading: boolean
}

/** Reads when the page is first drawn, and whenever a dependency changes. What is not needed any more is aborted. Returns what was read, and what reads it again. */
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  dependencies: readonly unknown[],
): readonly [Loaded<T>, () => void] {
  const [loaded, setLoaded] = useState<Loaded<T>>({ isLoading: true })
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const abort = new AbortController()
    setLoaded(({ failure: _, ...last }) => ({ ...last, isLoading: true }))
    load(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setLoaded({ value, isLoading: false })
      },
      (failure: unknown) => {
        if (!abort.signal.aborted) setLoaded({ failure, isLoading: false })
      },
    )
    return () => abort.abort()
  }, [...dependencies, turn])
  return [loaded, () => setTurn((last) => last + 1)]
}
