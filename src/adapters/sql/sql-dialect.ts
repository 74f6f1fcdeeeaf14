/** What the shared SQL body needs of an engine: its compiler, and the few expressions in which engines differ. */
import {
  type DialectAdapter,
  DummyDriver,
  type Expression,
  Kysely,
  type QueryCompiler,
  type RawBuilder,
  type SqlBool,
} from 'kysely'
import type { Aggregate, Cell, PhysicalType } from '../../core/ports/storage.ts'
import type { TableShape } from './table-shapes.ts'

/** Physical tables are known at run time only, so every name is a string to Kysely. */
export type AnyTables = Record<string, Record<string, unknown>>

/** An index that holds parts of cells. Cells order as their parts do, or their parts are equal. */
export interface PartialIndex {
  /** The part of a cell; null of null. */
  part(cell: Expression<unknown>): Expression<unknown>
  /** `part in parts of list`, where `list` is one bound parameter holding any number of cells. */
  partAmong(cell: Expression<unknown>, list: RawBuilder<unknown>): Expression<SqlBool>
}

export interface SqlDialect {
  /** Compiles and never runs. */
  readonly compiler: Kysely<AnyTables>
  /** The quoted name of a table, with its schema if the engine has schemas: `sql.id(…)`. */
  tableName(name: string): RawBuilder<unknown>
  /** `column in list`, where `list` is one bound parameter holding any number of values. */
  inList(column: Expression<unknown>, type: PhysicalType, list: RawBuilder<unknown>): Expression<SqlBool>
  /** The one value to bind for such a list. */
  bindList(type: PhysicalType, values: readonly Exclude<Cell, null>[]): unknown
  /** The bound value on the right of `column =`; absent if it needs no change. */
  equalTo?(value: RawBuilder<unknown>): Expression<unknown>
  /** The index that finds a column by parts of its cells; undefined without one. A condition on the column then has the same for the parts. */
  partialIndex?(shape: TableShape, column: string): PartialIndex | undefined
  /** The value to bind for one cell of a column. */
  bindCell(type: PhysicalType, cell: Cell): unknown
  /** The expression that reads a column so that nothing is lost on the way to JavaScript. */
  readColumn(column: Expression<unknown>, type: PhysicalType): Expression<unknown>
  /** The expressions that compute one aggregate; several if the engine needs parts. `type` is undefined for a bare count. */
  aggregateParts(
    kind: Aggregate['kind'],
    column: Expression<unknown> | undefined,
    type: PhysicalType | undefined,
  ): Expression<unknown>[]
}

/** A Kysely that only builds and compiles: it has no driver and opens nothing. */
export function createCompiler(adapter: () => DialectAdapter, queryCompiler: () => QueryCompiler): Kysely<AnyTables> {
  return new Kysely<AnyTables>({
    dialect: {
      createAdapter: adapter,
      createDriver: () => new DummyDriver(),
      createQueryCompiler: queryCompiler,
      createIntrospector: () => {
        throw new Error('this Kysely compiles statements only')
      },
    },
  })
}
