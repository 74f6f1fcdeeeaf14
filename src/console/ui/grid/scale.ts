/** Positions of more rows than a browser can lay out: beyond a height, a position of the scroll bar stands for a part of the rows. */

/** Pixels that every browser lays out exactly. Firefox ends at 17.8 million, Chromium and Safari at 33.5. */
export const MAX_HEIGHT = 16_000_000

/** What one pixel of the scroll bar means. */
export interface Scale {
  /** Height of the element that holds the rows. */
  readonly height: number
  /** Where the scroll bar is for a position among the rows. */
  toDrawn(position: number): number
  /** The position among the rows for one of the scroll bar. */
  toRows(drawn: number): number
}

/** Returns the scale of rows with a total height, in a window of a height. Up to `max` it is one to one. */
export function scaleOf(total: number, view: number, max = MAX_HEIGHT): Scale {
  const height = Math.min(total, max)
  const ratio = height < total && height > view ? (total - view) / (height - view) : 1
  return { height, toDrawn: (position) => position / ratio, toRows: (drawn) => drawn * ratio }
}
