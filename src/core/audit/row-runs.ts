/** Row ids as runs of neighbors: a thousand records inserted together take one pair of numbers. */

/** Returns `[first row, count]` for each run, in the order given. */
export function toRuns(rows: readonly number[]): (readonly [first: number, count: number])[] {
  const runs: [number, number][] = []
  for (const row of rows) {
    const last = runs.at(-1)
    if (last !== undefined && last[0] + last[1] === row) last[1]++
    else runs.push([row, 1])
  }
  return runs
}

/** Returns the rows of these runs, in order. */
export function fromRuns(runs: readonly (readonly [first: number, count: number])[]): number[] {
  return runs.flatMap(([first, count]) => Array.from({ length: count }, (_, step) => first + step))
}
