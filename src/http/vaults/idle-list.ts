/** What is idle, and closed after a time; and waiting for a limited time. */

const DEFAULT_IDLE_MS = 600_000
/** Beyond it, what is idle for longest is closed at once. */
const MAX_IDLE = 100

/** Calls back after a time in milliseconds. Returns a function that prevents the call. */
export type After = (milliseconds: number, callback: () => void) => () => void

/** When something idle is closed. */
export interface IdleOptions {
  /** In milliseconds. Default: 10 minutes. */
  readonly idleMs: number
  /** Calls back after a time, without keeping the process alive. Returns a function that prevents the call. Default: a timer of the system. */
  readonly after: After
}

/** What is idle, in the order in which it became idle. */
export interface IdleList<Item> {
  add(item: Item): void
  remove(item: Item): void
  /** Removes all, and returns them. */
  clear(): readonly Item[]
}

/** Returns an empty list. It calls back, after removing it, with what was idle for the time, or longest of more than 100. */
export function createIdleList<Item>(options: Partial<IdleOptions>, onIdle: (item: Item) => void): IdleList<Item> {
  const { idleMs = DEFAULT_IDLE_MS, after = afterTime } = options
  const cancelOf = new Map<Item, () => void>()
  const remove = (item: Item): void => {
    cancelOf.get(item)?.()
    cancelOf.delete(item)
  }
  const end = (item: Item): void => {
    remove(item)
    onIdle(item)
  }
  return {
    add(item) {
      cancelOf.set(
        item,
        after(idleMs, () => end(item)),
      )
      const [longest] = cancelOf.keys()
      if (cancelOf.size > MAX_IDLE && longest !== undefined) end(longest)
    },
    remove,
    clear() {
      const all = [...cancelOf.keys()]
      for (const item of all) remove(item)
      return all
    },
  }
}

/** The timer of the system. It does not keep the process alive. */
export const afterTime: After = (milliseconds, callback) => {
  const timer = setTimeout(callback, milliseconds)
  timer.unref()
  return () => clearTimeout(timer)
}

/** What `withinTime` returns after the time. */
export const LATE: unique symbol = Symbol('late')

/** Returns what the promise resolves to, or `LATE` if it takes longer. Rejects as the promise does until then; a later error is ignored. */
export async function withinTime<T>(promise: Promise<T>, milliseconds: number, after: After): Promise<T | typeof LATE> {
  let prevent = (): void => {}
  const late = new Promise<typeof LATE>((resolve) => {
    prevent = after(milliseconds, () => resolve(LATE))
  })
  return Promise.race([promise, late]).finally(() => prevent())
}
