/** The methods of the storage port over a runner of work: what reads, what writes, and what opens transactions. */
import type { Changes, NewRow, PhysicalTable, Storage, TransactionOptions } from '../../core/ports/storage.ts'
import { bytesOfRows, columnOfRows, rowsOfColumn } from '../sql/column-of-rows.ts'
import { commitInTransaction } from '../sql/commit-in-transaction.ts'
import { assertBytes, type TableShape, type TableShapes } from '../sql/table-shapes.ts'
import type { IdBlocks } from './id-blocks.ts'
import { prepareWork } from './prepare-tables.ts'
import type { RowWork } from './row-work.ts'
import type { TableWork } from './table-work.ts'
import type { Yielder } from './yielder.ts'

/** What all storages of one handle share. */
export interface HandleState {
  readonly shapes: TableShapes
  readonly rows: RowWork
  readonly ids: IdBlocks
  readonly yielder: Yielder
}

/** Each member returns without a promise if its connection does, and may throw instead of rejecting. */
export interface WorkRunner {
  read<T>(work: TableWork<T>): T | Promise<T>
  write<T>(work: TableWork<T>): T | Promise<T>
  insert(table: string, newRows: readonly NewRow[]): void | Promise<void>
  reserveIds(shape: TableShape, count: number): readonly number[] | Promise<readonly number[]>
  transaction<T>(work: (storage: Storage) => Promise<T>, options?: TransactionOptions): T | Promise<T>
  /** Stores all changes or none. Absent where a transaction does the same. */
  commit?(changes: Changes): boolean | Promise<boolean>
  /** True when these tables need no change; absent if a query of its own is not worth it. */
  tablesExist?(tables: readonly PhysicalTable[]): Promise<boolean>
}

/** Every method is async so that every failure, also before anything ran, is a rejection. */
export function createPort({ shapes, rows }: HandleState, runner: WorkRunner): Storage {
  return {
    async prepare(tables) {
      if ((await runner.tablesExist?.(tables)) !== true) await runner.write(prepareWork(tables))
      shapes.add(tables)
    },
    async reserveIds(table, count) {
      const shape = shapes.of(table)
      return count > 0 ? runner.reserveIds(shape, count) : []
    },
    async insert(table, newRows) {
      await runner.insert(table, newRows)
    },
    async get(table, ids) {
      return runner.read(rows.get(table, ids))
    },
    async find(table, filter, page) {
      return runner.read(rows.find(table, filter, page))
    },
    async readColumn(table, filter, page) {
      return columnOfRows(await runner.read(rows.find(table, filter, rowsOfColumn(page))), page)
    },
    async readBytes(table, filter, page) {
      assertBytes(shapes.of(table), page.column)
      return bytesOfRows(await runner.read(rows.find(table, filter, rowsOfColumn(page))), page)
    },
    async update(table, patches) {
      return runner.write(rows.update(table, patches))
    },
    async commit(changes) {
      const transaction: Storage['transaction'] = async (work) => runner.transaction(work)
      return runner.commit?.(changes) ?? commitInTransaction({ transaction }, changes)
    },
    async delete(table, target) {
      return runner.write(rows.delete(table, target))
    },
    async aggregate(table, filter, aggregates) {
      return runner.read(rows.aggregate(table, filter, aggregates))
    },
    // One writer at a time has the whole file.
    async lock(tables) {
      for (const table of tables) shapes.of(table)
    },
    async tryLock(table) {
      shapes.of(table)
      return true
    },
    async transaction(work, options) {
      return runner.transaction(work, options)
    },
  }
}
