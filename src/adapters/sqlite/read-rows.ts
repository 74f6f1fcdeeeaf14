/** The work of reading rows, by id and by filter: which statement runs, what is bound, and what its rows become. */
import { sql } from 'kysely'
import type { Cell, Filter, Page, PhysicalColumn, PhysicalType, Row } from '../../core/ports/storage.ts'
import { aliased, createSqlStatements, type SqlStatement, selectColumns } from '../sql/sql-statements.ts'
import { toIntegerCell, toPlainBytes } from '../sql/stored-cells.ts'
import { projectedShape, type TableShape } from '../sql/table-shapes.ts'
import { type AccessPath, alongPath } from './access-path.ts'
import { expandLists } from './expand-lists.ts'
import { canPack, PACKED_COLUMNS, packedStatement, unpackRows } from './packed-rows.ts'
import { sqliteSqlDialect } from './sqlite-sql-dialect.ts'
import { onlyStep, type RawRow, type Step, type StepOutcome, type TableWork } from './table-work.ts'
import { TEXT_COLUMN, textRow, textStatement } from './text-rows.ts'

const statements = createSqlStatements(sqliteSqlDialect)

/** Rows from which packing pays: for lists of ids, which mostly exist, and for pages, which may stay nearly empty. */
const MIN_PACKED_IDS = 5
const MIN_PACKED_LIMIT = 100
/** Rows of one packed read at most: their cells are in memory several times over. */
const MAX_PACKED = 16_384
/** Reads of a table that are not packed after one met a cell too long for it. */
const UNPACKED_READS = 100

/** `Storage.get`: in the order of the ids. */
export function getRows(shape: TableShape, ids: readonly number[]): TableWork<readonly (Row | undefined)[]> {
  const plan = readPlan(shape)
  const { names, own } = plan
  const [first] = ids
  if (first === undefined) return { shape, begin: nothingFound }
  if (ids.length === 1) return isText(plan) ? rowAsText(plan, first) : rowAsCells(plan, first)
  const step = { kind: 'rows', statement: plan.list, parameters: [JSON.stringify(ids)], columns: names } as const
  const plain = onlyStep(shape, step, ({ rows }) =>
    measured(
      plan,
      rows.map((raw) => (raw[0] === null ? undefined : toRow(own, raw))),
    ),
  )
  return ids.length < MIN_PACKED_IDS || !isPacked(plan) ? plain : packedFirst(plan, step, plain, (rows) => rows)
}

function rowAsCells({ shape, names, own, point }: ReadPlan, id: number): TableWork<readonly (Row | undefined)[]> {
  const step = { kind: 'row', statement: point, parameters: [id], columns: names } as const
  return onlyStep(shape, step, ({ rows: [found] }) => [found === undefined ? undefined : toRow(own, found)])
}

// biome-ignore lint/correctness/useYield: work that needs no statement has no step.
function* nothingFound() {
  return []
}

/** `Storage.find`, by a path of the caller's choice or of SQLite's. */
export function findRows(shape: TableShape, filter: Filter, page: Page, path?: AccessPath): TableWork<readonly Row[]> {
  const plan = readPlan(projectedShape(shape, page.columns))
  const { statement: free, parameters } = statements.find(shape, expandLists(shape, filter), page)
  const along = (statement: SqlStatement) => (path === undefined ? statement : alongPath(shape, statement, path))
  const step = { kind: 'rows', statement: along(free), parameters, columns: plan.names } as const
  const plain = onlyStep(shape, step, ({ rows }) =>
    measured(
      plan,
      rows.map((raw) => toRow(plan.own, raw)),
    ),
  )
  const few = page.limit < MIN_PACKED_LIMIT || page.limit > MAX_PACKED
  if (few)
    return isText(plan) ? rowsAsTexts(plan, { statement: along(textStatement(plan.shape, free)), parameters }, plain) : plain
  return isPacked(plan) ? packedFirst(plan, step, plain, (rows) => rows.filter((row) => row !== undefined)) : plain
}

function isPacked(plan: ReadPlan): boolean {
  return plan.packs && plan.unpackedReads-- <= 0
}

function isText(plan: ReadPlan): boolean {
  return plan.packs && plan.unreadTexts-- <= 0
}

/** Reads a row as a text, and its cells where that was not possible. */
function rowAsText(plan: ReadPlan, id: number): TableWork<readonly (Row | undefined)[]> {
  const { shape, own, point } = plan
  const step = { kind: 'cell', statement: textStatement(shape, point), parameters: [id], columns: TEXT_COLUMN } as const
  return {
    shape,
    begin: () => rowAsCells(plan, id).begin(),
    quick: {
      step,
      result({ rows: [found] }) {
        if (found === undefined) return [undefined]
        const row = textRow(own, found[0])
        if (row === undefined) plan.unreadTexts = UNPACKED_READS
        return row && [row]
      },
    },
  }
}

/** Reads each row as a text by a text statement, and all by the plain work where that was not possible. */
function rowsAsTexts(
  plan: ReadPlan,
  { statement, parameters }: Pick<Step, 'statement' | 'parameters'>,
  plain: TableWork<readonly Row[]>,
): typeof plain {
  const { own } = plan
  const step = { kind: 'column', statement, parameters, columns: TEXT_COLUMN } as const
  const result = ({ rows: [texts = []] }: StepOutcome): readonly Row[] | undefined => {
    const found: Row[] = []
    for (const text of texts) {
      const row = textRow(own, text)
      if (row === undefined) {
        plan.unreadTexts = UNPACKED_READS
        return undefined
      }
      found.push(row)
    }
    return measured(plan, found)
  }
  return { ...plain, quick: { step, result } }
}

/** Reads packed, and once more unpacked where that was not possible. */
function packedFirst<T>(
  plan: ReadPlan,
  step: Step,
  plain: TableWork<T>,
  result: (rows: readonly (Row | undefined)[]) => T,
): TableWork<T> {
  const { shape } = plan
  const statement = packedStatement(shape, step.statement)
  return {
    ...plain,
    quick: {
      step: { kind: 'row', statement, parameters: step.parameters, columns: PACKED_COLUMNS },
      result({ rows: [packed] }) {
        const unpacked = unpackRows(shape, packed)
        if (unpacked !== undefined) return result(measured(plan, unpacked))
        plan.unpackedReads = UNPACKED_READS
        return undefined
      },
    },
  }
}

/** Bytes that one statement should read: copying as many holds the event loop for a few milliseconds. */
const MAX_STATEMENT_BYTES = 2 * 1024 * 1024
/** Rows of the first read of a table, whose rows may be of any length. */
const FIRST_ROWS = 16

/** Rows that one statement should read, by the length of those read before. Any number of short ones. */
export function rowsAtOnce(shape: TableShape, columns?: readonly string[]): number {
  const { rowBytes } = readPlan(projectedShape(shape, columns))
  return rowBytes === undefined ? FIRST_ROWS : Math.max(1, Math.floor(MAX_STATEMENT_BYTES / Math.max(rowBytes, 1)))
}

/** Returns the rows, and remembers how long they are. */
function measured<T extends Row | undefined>(plan: ReadPlan, rows: T[]): T[] {
  if (plan.long.length === 0) return rows
  let bytes = 0
  for (const row of rows) {
    if (row === undefined) continue
    for (const { name } of plan.long) {
      const cell = row[name]
      if (cell instanceof Uint8Array || typeof cell === 'string') bytes += cell.length
    }
  }
  if (rows.length > 0) plan.rowBytes = bytes / rows.length
  return rows
}

/** What all reads of one table share, made once. */
interface ReadPlan {
  readonly shape: TableShape
  readonly packs: boolean
  /** Number of next reads that are not packed. */
  unpackedReads: number
  /** Number of next reads of few rows that are not by texts. */
  unreadTexts: number
  /** Mean bytes of the rows of the last read; undefined before the first, unless none of its cells has a length. */
  rowBytes: number | undefined
  readonly names: readonly string[]
  /** The columns beside `id` and `version`. */
  readonly own: readonly PhysicalColumn[]
  /** Those of them whose cells have a length. */
  readonly long: readonly PhysicalColumn[]
  readonly point: SqlStatement
  readonly list: SqlStatement
}

const plans = new WeakMap<TableShape, ReadPlan>()

function readPlan(shape: TableShape): ReadPlan {
  const found = plans.get(shape)
  if (found !== undefined) return found
  const { columns } = shape
  const names = columns.map((column) => column.name)
  const own = columns.slice(2)
  const long = own.filter(({ type }) => type === 'text' || type === 'bytes')
  const plan = {
    shape,
    packs: canPack(shape),
    unpackedReads: 0,
    unreadTexts: 0,
    rowBytes: long.length === 0 ? 0 : undefined,
    names,
    own,
    long,
    point: pointStatement(shape),
    list: listStatement(shape),
  }
  plans.set(shape, plan)
  return plan
}

function pointStatement(shape: TableShape): SqlStatement {
  const query = sqliteSqlDialect.compiler
    .selectFrom(aliased(sqliteSqlDialect, shape))
    .select(selectColumns(sqliteSqlDialect, shape))
    .where(sql<boolean>`${sql.id('id')} = ${sql.val(0)}`)
  return { text: query.compile().sql }
}

/** A left join walks its left side in order, so rows come in the order of the ids. No column of a table begins with `_`. */
function listStatement(shape: TableShape): SqlStatement {
  const query = sqliteSqlDialect.compiler
    .selectFrom(sql<{ value: unknown }>`(select value as _id from json_each(${sql.val(0)}))`.as('w'))
    .leftJoin(aliased(sqliteSqlDialect, shape), (join) => join.on(sql<boolean>`${sql.id('t', 'id')} = ${sql.id('w', '_id')}`))
    .select(selectColumns(sqliteSqlDialect, shape))
  return { text: query.compile().sql }
}

function toRow(own: readonly PhysicalColumn[], raw: RawRow): Row {
  const row: { id: number; version: number; [column: string]: Cell } = { id: Number(raw[0]), version: Number(raw[1]) }
  let at = 2
  for (const { name, type } of own) row[name] = toCell(type, raw[at++])
  return row
}

/** The cell for a driver's value. STRICT tables guarantee the type of the column. */
export function toCell(type: PhysicalType, raw: unknown): Cell {
  if (typeof raw === 'number') return raw
  if (raw instanceof Uint8Array) return toPlainBytes(raw)
  if (type === 'integer' && typeof raw === 'string') return toIntegerCell(raw)
  return raw === null || raw === undefined ? null : (raw as Cell)
}
