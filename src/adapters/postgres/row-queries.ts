/** The queries on rows that only PostgreSQL has: any number of rows in one statement, through arrays. */
import { type Compilable, type RawBuilder, sql } from 'kysely'
import type { Cell, Filter, NewRow, Patch } from '../../core/ports/storage.ts'
import { unknownColumnError } from '../errors/storage-errors.ts'
import { filterExpression, filterForm } from '../sql/filter-expression.ts'
import type { SqlDialect } from '../sql/sql-dialect.ts'
import { aliased, type SqlStatement, type SqlStatements, selectColumns } from '../sql/sql-statements.ts'
import { columnType, type TableShape } from '../sql/table-shapes.ts'
import type { PreparedQuery } from './driver-connection.ts'
import { stableHash } from './stable-names.ts'
import { TYPE_NAMES, toWireArray, toWireCell } from './wire-cells.ts'

/** Statements that get a name at most. A connection keeps every named statement until it closes. */
const MAX_NAMES = 500

export interface RowQueries {
  /** A compiled statement with its name and the parameters of this call. */
  bind(statement: SqlStatement, parameters: readonly unknown[]): PreparedQuery
  insert(shape: TableShape, rows: readonly NewRow[]): PreparedQuery
  get(shape: TableShape, ids: readonly number[]): PreparedQuery
  /**
   * Fails with a serialization failure if one of the rows was changed after the state that the transaction reads, or is being changed now.
   * Otherwise they keep their content until it ends. Locks nothing at READ COMMITTED, which reads the newest state in any case.
   */
  assertNewest(shape: TableShape, filter: Filter): PreparedQuery
  deleteIds(shape: TableShape, ids: readonly number[]): PreparedQuery
  /** All patches must set the same columns and no two the same row. Returns the ids that matched. */
  update(shape: TableShape, patches: readonly Patch[]): PreparedQuery
  /** Returns the first id of each block. */
  nextBlocks(sequence: string, count: number): PreparedQuery
}

export interface SqlContext {
  readonly schema: string
  readonly dialect: SqlDialect
  readonly statements: SqlStatements
  readonly named: boolean
}

export function createRowQueries(context: SqlContext): RowQueries {
  const { schema, dialect, statements } = context
  const bind = createBinder(context.named)
  const once = (key: string, build: (slot: () => RawBuilder<unknown>) => RawBuilder<unknown>): SqlStatement =>
    statements.once(key, (slots): Compilable => {
      const text = build(() => sql.val(slots.next()))
      return { compile: () => text.compile(dialect.compiler) }
    })

  return {
    bind,
    insert: (shape, rows) => bind(insertStatement(once, dialect, shape, rows.length === 1), insertParameters(shape, rows)),
    get(shape, ids) {
      const single = ids.length === 1
      const statement = once(`get ${shape.key} ${single}`, (slot) => {
        const matches = single ? sql`= ${slot()}` : sql`= any(${slot()}::int8[])`
        return sql`select ${sql.join(selectColumns(dialect, shape))} from ${aliased(dialect, shape)} where ${sql.id('id')} ${matches}`
      })
      return bind(statement, [single ? String(ids[0]) : toWireArray('integer', ids)])
    },
    assertNewest(shape, filter) {
      const form = filterForm(dialect, shape, filter)
      const statement = statements.once(`newest ${shape.key} ${form.key}`, (slots): Compilable => {
        const matches = filterExpression(dialect, shape, filter, slots)
        const text = sql`select ${sql.id('id')} from ${aliased(dialect, shape)} where ${matches}
          and current_setting('transaction_isolation') <> 'read committed' for share nowait`
        return { compile: () => text.compile(dialect.compiler) }
      })
      return bind(statement, form.values)
    },
    deleteIds(shape, ids) {
      const statement = once(
        `delete ids ${shape.key}`,
        (slot) =>
          sql`delete from ${dialect.tableName(shape.name)} where ${sql.id('id')} = any(${slot()}::int8[]) returning ${sql.id('id')}`,
      )
      return bind(statement, [toWireArray('integer', ids)])
    },
    update: (shape, patches) => bind(updateStatement(once, dialect, shape, patches), updateParameters(shape, patches)),
    nextBlocks(sequence, count) {
      // nextval takes the quoted name as text. The name comes from the schema option and the table, never from a request.
      const name = `"${schema}"."${sequence.replaceAll('"', '""')}"`
      const statement = once(
        `ids ${sequence}`,
        (slot) => sql`select nextval(${sql.lit(name)}) from generate_series(1, ${slot()}::int4)`,
      )
      return bind(statement, [String(count)])
    },
  }
}

type Once = (key: string, build: (slot: () => RawBuilder<unknown>) => RawBuilder<unknown>) => SqlStatement

/** The name is derived from the text, so that all processes behind one pooler give a statement the same name. */
function createBinder(named: boolean): RowQueries['bind'] {
  const names = new Map<string, string>()
  return ({ text }, parameters) => {
    if (!named) return { text, parameters }
    let name = names.get(text)
    if (name === undefined) {
      if (names.size >= MAX_NAMES) return { text, parameters }
      name = `sr_${stableHash(text)}`
      names.set(text, name)
    }
    return { text, name, parameters }
  }
}

function insertStatement(once: Once, dialect: SqlDialect, shape: TableShape, single: boolean): SqlStatement {
  return once(`insert ${shape.key} ${single}`, (slot) => {
    const columns = sql.join(shape.columns.map(({ name }) => sql.id(name)))
    const into = sql`insert into ${dialect.tableName(shape.name)} (${columns})`
    if (single) return sql`${into} values (${sql.join(shape.columns.map(slot))})`
    // As a list of calls the server unnests row by row; as a table it would first copy each array.
    return sql`${into} select ${sql.join(shape.columns.map(({ type }) => sql`unnest(${arraySlot(slot, type)})`))}`
  })
}

function arraySlot(slot: () => RawBuilder<unknown>, type: keyof typeof TYPE_NAMES): RawBuilder<unknown> {
  return sql`${slot()}::${sql.raw(TYPE_NAMES[type])}[]`
}

function insertParameters(shape: TableShape, rows: readonly NewRow[]): unknown[] {
  for (const row of rows) assertKnown(shape, row)
  const [only] = rows
  if (rows.length === 1 && only !== undefined) {
    return shape.columns.map(({ name, type }) => toWireCell(type, only[name] ?? absent(name)))
  }
  return shape.columns.map(({ name, type }) => {
    const missing = absent(name)
    return toWireArray(
      type,
      rows.map((row) => row[name] ?? missing),
    )
  })
}

/** The cell of a column that is left out. */
function absent(column: string): Cell {
  return column === 'version' ? 1 : null
}

function assertKnown(shape: TableShape, cells: Readonly<Record<string, unknown>>): void {
  for (const column in cells) if (!shape.types.has(column)) throw unknownColumnError(shape.name, column)
}

/** The columns a patch sets, sorted, so that patches of the same columns share one statement. */
export function patchedColumns(patch: Patch): readonly string[] {
  return Object.keys(patch.set).sort()
}

function updateStatement(once: Once, dialect: SqlDialect, shape: TableShape, patches: readonly Patch[]): SqlStatement {
  const [first] = patches
  const columns = first === undefined ? [] : patchedColumns(first)
  const single = patches.length === 1
  return once(`patch ${shape.key} ${single} ${JSON.stringify(columns)}`, (slot) => {
    const raise = sql`${sql.id('version')} = ${sql.id('t', 'version')} + 1`
    const into = sql`update ${aliased(dialect, shape)} set`
    if (single) {
      const set = columns.map((column) => sql`${sql.id(column)} = ${slot()}`)
      const where = sql`${sql.id('t', 'id')} = ${slot()} and ${sql.id('t', 'version')} = ${slot()}`
      return sql`${into} ${sql.join([...set, raise])} where ${where} returning ${sql.id('t', 'id')}`
    }
    const set = columns.map((column, position) => sql`${sql.id(column)} = ${sql.id('p', `c${position}`)}`)
    const types = [...columns.map((column) => columnType(shape, column)), 'integer', 'integer'] as const
    const arrays = sql.join(types.map((type) => arraySlot(slot, type)))
    const names = sql.join([...columns.map((_, position) => `c${position}`), 'i', 'v'].map((name) => sql.id(name)))
    const where = sql`${sql.id('t', 'id')} = ${sql.id('p', 'i')} and ${sql.id('t', 'version')} = ${sql.id('p', 'v')}`
    return sql`${into} ${sql.join([...set, raise])} from unnest(${arrays}) as p(${names}) where ${where} returning ${sql.id('t', 'id')}`
  })
}

function updateParameters(shape: TableShape, patches: readonly Patch[]): unknown[] {
  for (const { set } of patches) assertKnown(shape, set)
  const [first] = patches
  const columns = first === undefined ? [] : patchedColumns(first)
  const typed = columns.map((name) => ({ name, type: columnType(shape, name) }))
  if (patches.length === 1 && first !== undefined) {
    return [...typed.map(({ name, type }) => toWireCell(type, first.set[name] ?? null)), String(first.id), String(first.version)]
  }
  return [
    ...typed.map(({ name, type }) =>
      toWireArray(
        type,
        patches.map(({ set }) => set[name] ?? null),
      ),
    ),
    toWireArray(
      'integer',
      patches.map(({ id }) => id),
    ),
    toWireArray(
      'integer',
      patches.map(({ version }) => version),
    ),
  ]
}
