/** Cuts a list into parts, for work that several requests share. */

/** Returns consecutive parts of a list with these lengths, in order. */
export function cutList<T>(list: readonly T[], lengths: readonly number[]): T[][] {
  let start = 0
  return lengths.map((length) => {
    const part = list.slice(start, start + length)
    start += length
    return part
  })
}
