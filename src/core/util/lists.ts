/** Lists: whether a value is one, an item that must exist, many items added, groups, gaps and cuts. A list that is too short is a defect, and must never seal or store as row 0. */
import { VaultError } from '../errors.ts'

/** The item at an index, from 0. Throws `internal` if there is none. */
export function at<T>(list: { readonly length: number; readonly [index: number]: T | undefined }, index: number): T {
  const item = list[index]
  if (item === undefined) throw missing(index, list.length)
  return item
}

/**
 * A value that must exist. Throws `internal` if it does not; `what` names it in the error. Loops over many rows use it instead of
 * `at`, as `required(list[index])`: the engine then specializes the access for the one type of that list.
 */
export function required<T>(value: T | undefined, what = 'An item of a list'): T {
  if (value === undefined) throw new VaultError('internal', `${what} is missing. This is a defect; please report it.`)
  return value
}

function missing(index: number, length: number): VaultError {
  return new VaultError('internal', `Index ${index} of a list of ${length} was read. This is a defect; please report it.`)
}

/** `Array.isArray` for a readonly list. */
export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

/** Adds the items at the end. They are no arguments of `push`, of which an engine takes some 100,000 at most. */
export function append<Item>(list: Item[], items: readonly Item[]): void {
  for (const item of items) list.push(item)
}

/** Returns the items by key, in order. An item without a key is in no group. Mostly all have one key. */
export function groupBy<Item, Key>(
  items: readonly Item[],
  keyOf: (item: Item) => Key | undefined,
): Iterable<readonly [key: Key, group: readonly Item[]]> {
  const [first] = items
  const key = first === undefined ? undefined : keyOf(first)
  if (items.every((item) => keyOf(item) === key)) return key === undefined ? [] : [[key, items]]
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    if (key === undefined) continue
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

/** Returns the items that are not undefined, in order: the list itself if it has no gap, as most have none. */
export function present<T>(list: readonly (T | undefined)[]): readonly T[] {
  return isWhole(list) ? list : list.filter((item) => item !== undefined)
}

function isWhole<T>(list: readonly (T | undefined)[]): list is readonly T[] {
  return !list.includes(undefined)
}

/** Returns consecutive parts of a list with these lengths, in order. */
export function cutList<T>(list: readonly T[], lengths: readonly number[]): T[][] {
  let start = 0
  return lengths.map((length) => {
    const part = list.slice(start, start + length)
    start += length
    return part
  })
}

/** Returns the keys of a record with the type that it has for the compiler. */
export function keysOf<Key extends string>(record: Readonly<Record<Key, unknown>>): [Key, ...Key[]] {
  return Object.keys(record) as [Key, ...Key[]] // Object.keys widens to string; the record's own type says which.
}

/** Returns names as a sentence lists them: `A, B or C`. */
export function inWords(names: readonly string[], joint: 'and' | 'or' = 'or'): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} ${joint} ${names.at(-1)}`
}
