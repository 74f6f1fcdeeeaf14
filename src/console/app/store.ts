/** A value that components draw, and draw again when it changes. */
import { useEffect, useState } from 'preact/hooks'

/** A value that can be watched. */
export interface Store<T> {
  get(): T
  set(value: T): void
  /** Calls back after each change, until the returned function is called. */
  watch(onChange: () => void): () => void
}

/** Returns a store in the memory of this tab. */
export function createStore<T>(first: T): Store<T> {
  let value = first
  const watchers = new Set<() => void>()
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return
      value = next
      for (const onChange of [...watchers]) onChange()
    },
    watch(onChange) {
      watchers.add(onChange)
      return () => watchers.delete(onChange)
    },
  }
}

/** Returns the value of a store, and draws the component again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const [, redraw] = useState({})
  const drawn = store.get()
  useEffect(() => {
    // It can have changed between the drawing and now.
    if (!Object.is(drawn, store.get())) redraw({})
    return store.watch(() => redraw({}))
  }, [store])
  return drawn
}
