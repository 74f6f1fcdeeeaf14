/** Waiting for a limited time. */

/** Calls back after a time in milliseconds. Returns a function that prevents the call. */
export type After = (milliseconds: number, callback: () => void) => () => void

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
