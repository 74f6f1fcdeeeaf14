/** What is read again every two seconds, while the page can be seen. */
import { useEffect, useState } from 'preact/hooks'

const PERIOD_MS = 2000

/** Returns the newest result of a read, and why the last try had none. */
export function usePolled<T>(read: (signal: AbortSignal) => Promise<T>): { readonly value?: T; readonly failure?: unknown } {
  const [polled, setPolled] = useState<{ readonly value?: T; readonly failure?: unknown }>({})
  useEffect(() => {
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const poll = async (): Promise<void> => {
      if (!document.hidden) {
        try {
          const value = await read(abort.signal)
          if (!abort.signal.aborted) setPolled({ value })
        } catch (failure) {
          if (!abort.signal.aborted) setPolled((last) => ({ ...last, failure }))
        }
      }
      if (!abort.signal.aborted) timer = setTimeout(() => void poll(), PERIOD_MS)
    }
    void poll()
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [])
  return polled
}
