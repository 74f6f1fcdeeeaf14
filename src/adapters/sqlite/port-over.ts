/** The port's methods over three ways of running work: reading, writing, and transactions. */
import type { PhysicalTable, Storage } from '../../core/ports/storage.ts'
import type { TableShape, TableShapes } from '../sql/table-shapes.ts'
import { prepareWork } from './prepare-work.ts'
import type { RowIds } from './row-ids.ts'
import type { RowWork } from './row-work.ts'
import type { TableWork } from './table-work.ts'

/** What every storage of one handle shares. */
export interface Engine {
  readonly shapes: TableShapes
  readonly rows: RowWork
  readonly ids: RowIds
}

/** Each answers at once where its connection does, and may throw instead of rejecting. */
export interface Ways {
  read<T>(work: TableWork<T>): T | Promise<T>
  write<T>(work: TableWork<T>): T | Promise<T>
  reserveIds(shape: TableShape, count: number): readonly number[] | Promise<readonly number[]>
  transaction<T>(work: (storage: Storage) => Promise<T>): T | Promise<T>
  /** True when these tables need nothing; left out where finding out is not worth a question of its own. */
  stand?(tables: readonly PhysicalTable[]): Promise<boolean>
}

/** Every method is async so that whatever goes wrong, also before anything ran, comes as a rejection. */
export function portOver({ shapes, rows }: Engine, ways: Ways): Storage {
  return {
    async prepare(tables) {
      if ((await ways.stand?.(tables)) !== true) await ways.write(prepareWork(tables))
      shapes.add(tables)
    },
    async reserveIds(table, count) {
      const shape = shapes.of(table)
      return count > 0 ? ways.reserveIds(shape, count) : []
    },
    async insert(table, newRows) {
      await ways.write(rows.insert(table, newRows))
    },
    async get(table, ids) {
      return ways.read(rows.get(table, ids))
    },
    async find(table, filter, page) {
      return ways.read(rows.find(table, filter, page))
    },
    async update(table, patches) {
      return ways.write(rows.update(table, patches))
    },
    async delete(table, doomed) {
      return ways.write(rows.delete(table, doomed))
    },
    async measure(table, filter, measures) {
      return ways.read(rows.measure(table, filter, measures))
    },
    async transaction(work) {
      return ways.transaction(work)
    },
  }
}
