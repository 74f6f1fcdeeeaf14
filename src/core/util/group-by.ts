/** Groups the items of a list by a key. */

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
