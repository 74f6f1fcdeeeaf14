/** The mark of a level: a frame for plain, half a bar for masked, a bar for redacted. */
import type { ColumnLevel } from './cell.ts'

/** Draws the mark. The word is beside it. */
export function LevelMark({ of }: { readonly of: ColumnLevel }) {
  return <span class={`level level-${of}`} aria-hidden="true" />
}
