/** The items of a list that has gaps. */

/** Returns the items that are not undefined, in order: the list itself if it has no gap, as most have none. */
export function present<T>(list: readonly (T | undefined)[]): readonly T[] {
  return isWhole(list) ? list : list.filter((item) => item !== undefined)
}

function isWhole<T>(list: readonly (T | undefined)[]): list is readonly T[] {
  return !list.includes(undefined)
}
