/** One thing that is wrong with a vault, as `doctor` shows it. */
import type { Row } from '../output/cells.ts'

/** What is wrong, and what to do. `unsafe`: data or keys can be lost or seen. `warning`: it will hurt later. */
export interface Finding extends Row {
  readonly level: 'unsafe' | 'warning'
  readonly finding: string
  readonly remedy: string
}

/** Returns a list with the finding if it is found, else an empty one. */
export function when(
  isFound: boolean,
  level: Finding['level'],
  [finding, remedy]: readonly [string, string],
): readonly Finding[] {
  return isFound ? [{ level, finding, remedy }] : []
}
