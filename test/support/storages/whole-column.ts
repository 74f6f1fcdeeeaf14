/** Reads every part of a column: how long parts are differs by storage. */

import type { BytesPart, Cell, ColumnCells, ColumnPage, Filter, Storage } from '../../../src/core/ports/storage.ts'
import { slabItem } from '../../../src/core/util/memory.ts'

interface Asked extends Pick<ColumnPage, 'column' | 'limit'> {
  readonly filter: Filter
}

/** Returns all cells, as `readColumn` does. */
export async function wholeColumn(storage: Storage, table: string, { filter, ...asked }: Asked): Promise<readonly Cell[]> {
  const cells: Cell[] = []
  for (let page: ColumnPage | undefined = asked; page !== undefined; ) {
    const part: ColumnCells = await storage.readColumn(table, filter, page)
    cells.push(...part.cells)
    page = part.next === undefined ? undefined : { ...page, after: part.next }
  }
  return cells
}

/** Returns all ids, each with its cell after it, as `readBytes` does. */
export async function wholeBytes(storage: Storage, table: string, { filter, ...asked }: Asked): Promise<readonly Cell[]> {
  const cells: Cell[] = []
  for (let page: ColumnPage | undefined = asked; page !== undefined; ) {
    const part: BytesPart = await storage.readBytes(table, filter, page)
    for (const [index, id] of part.ids.entries()) cells.push(id, slabItem(part.cells, index).slice())
    page = part.next === undefined ? undefined : { ...page, after: part.next }
  }
  return cells
}
