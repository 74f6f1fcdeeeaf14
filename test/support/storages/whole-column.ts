/** Scans of a storage: every part of a column, however long parts are, and storages with another scan. */

import type { BytesPart, Cell, ColumnCells, ColumnPage, Filter, Scans, Storage } from '../../../src/core/ports/storage.ts'
import { slabItem } from '../../../src/core/util/memory.ts'

interface Asked extends Pick<ColumnPage, 'column' | 'limit'> {
  readonly filter: Filter
}

/** Returns all cells, as scans of the shape `column` do. */
export async function wholeColumn(storage: Storage, table: string, { filter, ...asked }: Asked): Promise<readonly Cell[]> {
  const cells: Cell[] = []
  for (let page: ColumnPage | undefined = asked; page !== undefined; ) {
    const part: ColumnCells = await storage.scan(table, filter, { ...page, shape: 'column' })
    cells.push(...part.cells)
    page = part.next === undefined ? undefined : { ...page, after: part.next }
  }
  return cells
}

/** Returns all ids, each with its cell after it, as scans of the shape `bytes` do. */
export async function wholeBytes(storage: Storage, table: string, { filter, ...asked }: Asked): Promise<readonly Cell[]> {
  const cells: Cell[] = []
  for (let page: ColumnPage | undefined = asked; page !== undefined; ) {
    const part: BytesPart = await storage.scan(table, filter, { ...page, shape: 'bytes' })
    for (const [index, id] of part.ids.entries()) cells.push(id, slabItem(part.cells, index).slice())
    page = part.next === undefined ? undefined : { ...page, after: part.next }
  }
  return cells
}

/** Returns the scans of a storage, one function for each shape. */
export function scansOf(storage: Pick<Storage, 'scan'>): Scans {
  return {
    column: (table, filter, page) => storage.scan(table, filter, { ...page, shape: 'column' }),
    bytes: (table, filter, page) => storage.scan(table, filter, { ...page, shape: 'bytes' }),
  }
}

/** Returns the `scan` of these functions. */
export function scanWith(scans: Scans): Pick<Storage, 'scan'> {
  return { scan: (table, filter, page) => scans[page.shape](table, filter, page) }
}
