/** Adds many items to a list. */

/** Adds the items at the end. They are no arguments of `push`, of which an engine takes some 100,000 at most. */
export function append<Item>(list: Item[], items: readonly Item[]): void {
  for (const item of items) list.push(item)
}
