/** Row ids in numeric order. They are sorted when they are read, and those that are gone stay among them until they are many. */

/** Ids, of which some may be gone. */
export interface IdOrder {
  ids: number[]
  readonly gone: Set<number>
  sorted: boolean
}

export function createOrder(ids: number[] = []): IdOrder {
  return { ids, gone: new Set(), sorted: ids.length < 2 }
}

export function addId(order: IdOrder, id: number): void {
  if (order.gone.delete(id)) return
  if (id < (order.ids.at(-1) ?? Number.NEGATIVE_INFINITY)) order.sorted = false
  order.ids.push(id)
}

export function dropId({ gone }: IdOrder, id: number): void {
  gone.add(id)
}

/** Number of ids that are not gone. */
export function countOf({ ids, gone }: IdOrder): number {
  return ids.length - gone.size
}

/** Every id, rising, and some that are gone. */
export function idsOf(order: IdOrder): readonly number[] {
  if (!order.sorted) order.ids.sort((left, right) => left - right)
  order.sorted = true
  return order.ids
}

/** Drops the ids that are gone, once they are more than the others. So each id costs the same, however many there are. */
export function sweep(order: IdOrder): void {
  if (order.gone.size <= countOf(order) + 64) return
  order.ids = order.ids.filter((id) => !order.gone.has(id))
  order.gone.clear()
}
