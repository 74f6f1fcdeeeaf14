/** The queries on rows that only PostgreSQL has: any number of rows in one statement, through arrays. */
import { type Compilable, type RawBuilder, sql } from 'kysely'
import type { Cell, Filter, NewRow, Patch, PhysicalColumn } from '../../core/ports/storage.ts'
import { append } from '../../core/util/lists.ts'
import { unknownColumnError } from '../errors/storage-errors.ts'
import type { SqlDialect } from '../sql/sql-dialect.ts'
import {
  aliased,
  filterExpression,
  filterForm,
  type SqlStatement,
  type SqlStatements,
  selectColumns,
} from '../sql/sql-statements.ts'
import { columnType, type TableShape } from '../sql/table-shapes.ts'
import type { PreparedQuery } from './driver-connection.ts'
import { stableHash } from './postgres-sql-dialect.ts'
import { TYPE_NAMES, toWireArray, toWireCell, toWireIds } from './wire-cells.ts'

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
  /** Locks rows until the transaction ends, in the order of their ids: two transactions that change the same rows cannot wait for each other. */
  lock(shape: TableShape, ids: readonly number[]): PreparedQuery
  /** Locks an id until the transaction ends, without waiting. Returns 0 if another open transaction has it, or by chance another id with an equal hash; else 1. */
  tryLock(shape: TableShape, id: number): PreparedQuery
  deleteIds(shape: TableShape, ids: readonly number[]): PreparedQuery
  /** All patches must set and expect the same columns, and no two the same row. Returns the ids that matched. */
  update(shape: TableShape, patches: readonly Patch[]): PreparedQuery
  /**
   * All of it or nothing. Fails with a division by zero if the patch matches no row, or another open transaction has locked its id.
   * With `read` it returns that row as `get` does; if there is none, it stores nothing and returns nothing.
   */
  commit(parts: CommitParts): PreparedQuery
  /** Returns the first id of each block. */
  nextBlocks(sequence: string, count: number): PreparedQuery
  /** The same in a statement that commits by itself: when it is answered, the log of the sequence is on disk. */
  nextDurableBlocks(sequence: string, count: number): PreparedQuery
}

/** Changes that fit into one statement: one patch at most, and lists of at least one row. */
export interface CommitParts {
  readonly update: { readonly shape: TableShape; readonly patch: Patch } | undefined
  readonly inserts: readonly { readonly shape: TableShape; readonly rows: readonly NewRow[] }[]
  /** The row that must exist for the changes to be stored. Default: none. */
  readonly read?: { readonly shape: TableShape; readonly id: number } | undefined
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
      const statement = once(`get ${shape.key} ${single}`, (slot) =>
        single
          ? selectOne(slot, dialect, shape)
          : sql`${selectFrom(dialect, shape)} where ${sql.id('id')} = any(${slot()}::pg_catalog.int8[])`,
      )
      return bind(statement, [single ? String(ids[0]) : toWireIds(ids)])
    },
    assertNewest(shape, filter) {
      const form = filterForm(dialect, shape, filter)
      const statement = statements.once(`newest ${shape.key} ${form.key}`, (slots): Compilable => {
        const matches = filterExpression(dialect, shape, filter, slots)
        const text = sql`select ${sql.id('id')} from ${aliased(dialect, shape)} where ${matches}
          and pg_catalog.current_setting('transaction_isolation') <> 'read committed' for share nowait`
        return { compile: () => text.compile(dialect.compiler) }
      })
      return bind(statement, form.values)
    },
    lock(shape, ids) {
      const statement = once(`lock ${shape.key}`, (slot) => {
        const id = sql.id('id')
        const locked = sql`select ${id} from ${aliased(dialect, shape)} where ${id} = any(${slot()}::pg_catalog.int8[]) order by ${id} for update`
        // One number is less to send and to read than all ids.
        return sql`select pg_catalog.count(*) from (${locked}) as ${sql.id('locked')}`
      })
      return bind(statement, [toWireIds(ids)])
    },
    tryLock(shape, id) {
      const statement = once('try lock', (slot) => sql`select (${lockAttempt(slot)})::pg_catalog.int4`)
      return bind(statement, lockParameters(schema, shape, id))
    },
    deleteIds(shape, ids) {
      const statement = once(
        `delete ids ${shape.key}`,
        (slot) =>
          sql`delete from ${dialect.tableName(shape.name)} where ${sql.id('id')} = any(${slot()}::pg_catalog.int8[]) returning ${sql.id('id')}`,
      )
      return bind(statement, [toWireIds(ids)])
    },
    update: (shape, patches) => bind(updateStatement(once, dialect, shape, patches), updateParameters(shape, patches)),
    commit: (parts) => bind(commitStatement(once, dialect, parts), commitParameters(schema, parts)),
    nextBlocks(sequence, count) {
      const statement = once(`ids ${sequence}`, (slot) => nextBlocksText(slot, schema, sequence, []))
      return bind(statement, [String(count)])
    },
    nextDurableBlocks(sequence, count) {
      const statement = once(`durable ids ${sequence}`, (slot) => nextBlocksText(slot, schema, sequence, [LOG_WRITTEN]))
      return bind(statement, [String(count)])
    },
  }
}

/**
 * Writes the log to disk if it is behind. A commit does so only after the transaction has written to the log itself, and 32 of 33 calls of `nextval`
 * write nothing: an earlier one, of a transaction that may still be open, has logged them in advance. An empty message is the least to write.
 * Where commits wait for a standby, it is written in any case: how far the standby is, only the commit asks.
 */
const LOG_WRITTEN = sql`case when pg_catalog.pg_current_xact_id_if_assigned() is null
    and (pg_catalog.pg_current_wal_insert_lsn() > pg_catalog.pg_current_wal_flush_lsn()
      or pg_catalog.current_setting('synchronous_standby_names') <> '')
  then pg_catalog.pg_logical_emit_message(true, 'strongroom', '') end`

/** nextval takes the quoted name as text. The name comes from the schema option and the table, never from a request. */
function nextBlocksText(slot: Slot, schema: string, sequence: string, more: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  const name = `"${schema}"."${sequence.replaceAll('"', '""')}"`
  return sql`select ${sql.join([sql`pg_catalog.nextval(${sql.lit(name)})`, ...more])} from pg_catalog.generate_series(1, ${slot()}::pg_catalog.int4)`
}

type Slot = () => RawBuilder<unknown>
type Once = (key: string, build: (slot: Slot) => RawBuilder<unknown>) => SqlStatement

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

function selectFrom(dialect: SqlDialect, shape: TableShape): RawBuilder<unknown> {
  return sql`select ${sql.join(selectColumns(dialect, shape))} from ${aliased(dialect, shape)}`
}

function selectOne(slot: Slot, dialect: SqlDialect, shape: TableShape): RawBuilder<unknown> {
  return sql`${selectFrom(dialect, shape)} where ${sql.id('id')} = ${slot()}`
}

function insertStatement(once: Once, dialect: SqlDialect, shape: TableShape, single: boolean): SqlStatement {
  return once(`insert ${shape.key} ${single}`, (slot) => insertText(slot, dialect, shape, single))
}

function insertText(slot: Slot, dialect: SqlDialect, shape: TableShape, single: boolean): RawBuilder<unknown> {
  const rows = single ? sql`values (${sql.join(shape.columns.map(slot))})` : unnested(slot, shape)
  return insertInto(dialect, shape, rows)
}

function insertInto(dialect: SqlDialect, shape: TableShape, rows: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`insert into ${dialect.tableName(shape.name)} (${sql.join(shape.columns.map(({ name }) => sql.id(name)))}) ${rows}`
}

/** The same where the row that is read exists. */
function insertTextIfFound(slot: Slot, dialect: SqlDialect, shape: TableShape, single: boolean): RawBuilder<unknown> {
  const cell = ({ type }: PhysicalColumn) => sql`${slot()}::${sql.raw(TYPE_NAMES[type])}`
  const rows = single ? sql`select ${sql.join(shape.columns.map(cell))}` : unnested(slot, shape)
  return insertInto(dialect, shape, sql`${rows} where ${IS_FOUND}`)
}

/** The rows of a list, as one array for each column. As a list of calls the server unnests row by row; as a table it would first copy each array. */
function unnested(slot: Slot, shape: TableShape): RawBuilder<unknown> {
  return sql`select ${sql.join(shape.columns.map(({ type }) => sql`pg_catalog.unnest(${arraySlot(slot, type)})`))}`
}

function arraySlot(slot: Slot, type: keyof typeof TYPE_NAMES): RawBuilder<unknown> {
  return sql`${slot()}::${sql.raw(TYPE_NAMES[type])}[]`
}

function insertParameters(shape: TableShape, rows: readonly NewRow[]): unknown[] {
  const [only] = rows
  if (rows.length !== 1 || only === undefined) return arraysOf(shape, rows)
  assertKnown(shape, only)
  return shape.columns.map(({ name, type }) => toWireCell(type, only[name] ?? absent(name)))
}

function arraysOf(shape: TableShape, rows: readonly NewRow[]): unknown[] {
  for (const row of rows) assertKnown(shape, row)
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

/** The columns a patch compares with what it expects, sorted. */
export function comparedColumns({ expected = {} }: Patch): readonly string[] {
  return Object.keys(expected).sort()
}

/** Identifies the columns that a patch sets and compares. */
function patchKey(patch: Patch | undefined): string {
  return patch === undefined ? '' : JSON.stringify([patchedColumns(patch), comparedColumns(patch)])
}

function updateStatement(once: Once, dialect: SqlDialect, shape: TableShape, patches: readonly Patch[]): SqlStatement {
  const [first] = patches
  const single = patches.length === 1
  return once(`patch ${shape.key} ${single} ${patchKey(first)}`, (slot) => {
    if (first === undefined) throw new Error('an update has no patch')
    return single ? updateOne(slot, dialect, shape, first) : updateMany(slot, dialect, shape, first)
  })
}

const RAISED = sql`${sql.id('version')} = ${sql.id('t', 'version')} + 1`

/** `condition` is a further one, which the server checks first because it does not depend on the row. Its slots follow those of the patch. */
function updateOne(
  slot: Slot,
  dialect: SqlDialect,
  shape: TableShape,
  patch: Patch,
  condition?: () => RawBuilder<unknown>,
): RawBuilder<unknown> {
  const set = patchedColumns(patch).map((column) => sql`${sql.id(column)} = ${slot()}`)
  const where = [sql`${sql.id('t', 'id')} = ${slot()}`, sql`${sql.id('t', 'version')} = ${slot()}`]
  for (const column of comparedColumns(patch)) where.push(sql`${sql.id('t', column)} is not distinct from ${slot()}`)
  if (condition !== undefined) where.push(condition())
  return sql`update ${aliased(dialect, shape)} set ${sql.join([...set, RAISED])} where ${sql.join(where, sql` and `)} returning ${sql.id('t', 'id')}`
}

/** `patch` is one of them: all have the same columns. */
function updateMany(slot: Slot, dialect: SqlDialect, shape: TableShape, patch: Patch): RawBuilder<unknown> {
  const columns = patchedColumns(patch)
  const compared = comparedColumns(patch)
  const set = columns.map((column, position) => sql`${sql.id(column)} = ${sql.id('p', `c${position}`)}`)
  const types = [...[...columns, ...compared].map((column) => columnType(shape, column)), 'integer', 'integer'] as const
  const lists = sql.join(types.map((type) => sql`pg_catalog.unnest(${arraySlot(slot, type)})`))
  const names = [...columns.map((_, position) => `c${position}`), ...compared.map((_, position) => `e${position}`), 'i', 'v']
  const where = [
    sql`${sql.id('t', 'id')} = ${sql.id('p', 'i')}`,
    sql`${sql.id('t', 'version')} = ${sql.id('p', 'v')}`,
    ...compared.map((column, position) => sql`${sql.id('t', column)} is not distinct from ${sql.id('p', `e${position}`)}`),
  ]
  const from = sql`rows from (${lists}) as p(${sql.join(names.map((name) => sql.id(name)))})`
  return sql`update ${aliased(dialect, shape)} set ${sql.join([...set, RAISED])} from ${from} where ${sql.join(where, sql` and `)} returning ${sql.id('t', 'id')}`
}

function updateParameters(shape: TableShape, patches: readonly Patch[]): unknown[] {
  for (const { set, expected = {} } of patches) {
    assertKnown(shape, set)
    assertKnown(shape, expected)
  }
  const [first] = patches
  if (first === undefined) return []
  if (patches.length === 1) return patchParameters(shape, first)
  const arrayOf = (name: string, cellOf: (patch: Patch) => Cell) => toWireArray(columnType(shape, name), patches.map(cellOf))
  return [
    ...patchedColumns(first).map((name) => arrayOf(name, ({ set }) => set[name] ?? null)),
    ...comparedColumns(first).map((name) => arrayOf(name, ({ expected }) => expected?.[name] ?? null)),
    arrayOf('id', ({ id }) => id),
    arrayOf('version', ({ version }) => version),
  ]
}

function patchParameters(shape: TableShape, patch: Patch): unknown[] {
  const wire = (name: string, cell: Cell = null) => toWireCell(columnType(shape, name), cell)
  return [
    ...patchedColumns(patch).map((name) => wire(name, patch.set[name])),
    String(patch.id),
    String(patch.version),
    ...comparedColumns(patch).map((name) => wire(name, patch.expected?.[name])),
  ]
}

/** The lock of an id, which `tryLock` and a commit must take alike: one of a text and a number, which are hashed together. */
function lockAttempt(slot: Slot): RawBuilder<unknown> {
  return sql`pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtextextended(${slot()}, ${slot()}::pg_catalog.int8))`
}

function lockParameters(schema: string, { name }: TableShape, id: number): string[] {
  return [`strongroom ${schema}.${name}`, String(id)]
}

/** The row that a commit reads. */
const FOUND = sql.id('found')
const IS_FOUND = sql`exists (select 1 from ${FOUND})`

/**
 * Rows are inserted before the patch locks its row, as in a transaction that does the same in several statements: in opposite orders the two
 * could wait for each other. The server runs what `patched` reads first, so `patched` reads the inserted rows. A patch that misses is
 * noticed last, by a division by zero, which undoes the inserts. Before all of them, the lock of the row is tried: the transaction that has
 * it can have inserted equal rows, for which this statement would wait. CASE keeps this order. If a row is to be read and does not exist,
 * nothing is inserted, nothing is patched, and nothing is divided.
 */
function commitStatement(once: Once, dialect: SqlDialect, { update, inserts, read }: CommitParts): SqlStatement {
  const rowKeys = inserts.map(({ shape, rows }) => `${shape.key} ${rows.length === 1}`)
  const key = `commit ${read?.shape.key ?? ''} ${update?.shape.key ?? ''} ${patchKey(update?.patch)} ${rowKeys.join(' ')}`
  return once(key, (slot) => {
    const reads = read === undefined ? [] : [sql`${FOUND} as (${selectOne(slot, dialect, read.shape)})`]
    const insert = read === undefined ? insertText : insertTextIfFound
    const parts = inserts.map(
      ({ shape, rows }, index) => sql`${sql.id(`i${index}`)} as (${insert(slot, dialect, shape, rows.length === 1)} returning 1)`,
    )
    const inserted = inserts.map(({ rows }, index) => areInserted(sql.id(`i${index}`), rows.length === 1))
    // What is inserted depends on the row that is read.
    const conditions = read === undefined || inserted.length > 0 ? inserted : [IS_FOUND]
    const mayInsert = () =>
      sql`case when (select ${lockAttempt(slot)})
        then ${sql.join([sql`true`, ...conditions], sql` and `)} else false end`
    const patched = update === undefined ? sql`select 1` : updateOne(slot, dialect, update.shape, update.patch, mayInsert)
    const isPatched = sql`1 / (exists (select 1 from patched))::pg_catalog.int4`
    const result = read === undefined ? sql`select ${isPatched}` : sql`select ${FOUND}.*, ${isPatched} from ${FOUND}`
    return sql`with ${sql.join([...reads, ...parts, sql`patched as (${patched})`])} ${result}`
  })
}

/** True once all rows are inserted. Of one row EXISTS says so, and an aggregate would cost more than the row. */
function areInserted(rows: RawBuilder<unknown>, single: boolean): RawBuilder<unknown> {
  return single ? sql`exists (select 1 from ${rows})` : sql`(select pg_catalog.count(*) from ${rows}) > 0`
}

function commitParameters(schema: string, { update, inserts, read }: CommitParts): unknown[] {
  const parameters = inserts.flatMap(({ shape, rows }) => insertParameters(shape, rows))
  if (read !== undefined) parameters.unshift(String(read.id))
  if (update !== undefined) {
    const { shape, patch } = update
    append(parameters, [...updateParameters(shape, [patch]), ...lockParameters(schema, shape, patch.id)])
  }
  return parameters
}
