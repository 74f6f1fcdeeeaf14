/** Reports to the metrics of a vault how many operations a commit stored together. */

/** Called after a commit, with the number of operations that it stored. Undefined without metrics. */
export type OnCommit = ((operations: number) => void) | undefined

/** Returns the result of a commit, after it was counted. Without metrics, returns the commit itself, so that it ends no later. */
export function noted<T>(onCommit: OnCommit, committed: Promise<T>, count: () => number): Promise<T> {
  if (onCommit === undefined) return committed
  return committed.then((result) => {
    onCommit(count())
    return result
  })
}
