/** Which rows are drawn, and in which element each: an element is kept and gets another text, so scrolling makes no elements. */

/** A row that is drawn, and the key of its element. */
export interface Slot {
  readonly row: number
  readonly slot: number
}

/** Returns the rows of a range in order, with the current one also if it is far off: what `aria-activedescendant` names must exist. */
export function drawnRows(first: number, last: number, current: number): number[] {
  const rows: number[] = []
  if (current < first) rows.push(current)
  for (let row = first; row <= last; row++) rows.push(row)
  if (current > last) rows.push(current)
  return rows
}

/** Returns a function that gives each row a slot. A row that stays drawn keeps its slot, and a new one takes a free one. */
export function createSlots(): (rows: readonly number[]) => Slot[] {
  let slots = new Map<number, number>()
  return (rows) => {
    const kept = new Map<number, number>()
    for (const row of rows) {
      const slot = slots.get(row)
      if (slot !== undefined) kept.set(row, slot)
    }
    const taken = new Set(kept.values())
    let free = 0
    for (const row of rows) {
      if (kept.has(row)) continue
      while (taken.has(free)) free++
      taken.add(free)
      kept.set(row, free)
    }
    slots = kept
    // In the order of the slots, so that no element moves among its neighbors.
    return [...kept].map(([row, slot]) => ({ row, slot })).sort((a, b) => a.slot - b.slot)
  }
}
