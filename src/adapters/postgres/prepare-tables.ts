/** Makes physical tables exist: creates the schema, tables, columns, indexes and sequences that are missing. Drops and retypes nothing. Safe in many processes at once. Names what the server lacks, and a row that would not fit. */
import { type RawBuilder, sql } from 'kysely'
import { isVaultError, VaultError } from '../../core/errors.ts'
import {
  MAX_ROW_ID,
  type PhysicalColumn,
  type PhysicalIndex,
  type PhysicalTable,
  type PhysicalType,
} from '../../core/ports/storage.ts'
import { append } from '../../core/util/lists.ts'
import { duplicatesError, retypedError, tooManyColumnsError } from '../errors/storage-errors.ts'
import type { SqlDialect } from '../sql/sql-dialect.ts'
import { toTableShape } from '../sql/table-shapes.ts'
import type { PreparedQuery, RawRow } from './driver-connection.ts'
import { BLOCK_SIZE } from './id-blocks.ts'
import { patient, withPatience } from './lock-tables.ts'
import { ENGINE, MAX_ROW_BYTES, markRetryable, postgresCause, setupError, sqlState } from './postgres-errors.ts'
import {
  indexedExpressions,
  indexName,
  MAX_IDENTIFIER_BYTES,
  primaryKeyName,
  sequenceName,
  stableHash,
} from './postgres-sql-dialect.ts'
import type { Executor } from './transaction-executor.ts'
import { TYPE_NAMES, TYPE_OIDS } from './wire-cells.ts'

export interface Preparation {
  readonly schema: string
  readonly dialect: SqlDialect
  readonly tables: readonly PhysicalTable[]
  /** True to leave missing indexes of existing tables out. Default false. */
  readonly leavesIndexes?: boolean
  /** Throws if the server lacks something. It looks once. */
  assertNeedsMet(): Promise<void>
  /** Called for each table whose sequence of ids was created. */
  onNewSequence(executor: Executor, table: string): void
}

/** Reads what exists. Only if something is missing, it takes the lock, reads again and creates it. */
export async function prepareTables(executor: Executor, preparation: Preparation): Promise<void> {
  for (const table of preparation.tables) {
    assertNamesFit(table)
    assertRowFits(table)
  }
  const stored = await readStoredObjects(executor, preparation)
  await preparation.assertNeedsMet()
  if (missingSteps(preparation, stored).length === 0) return
  await assertEncoding(executor, preparation, stored)
  await executor.transaction(async (executor) => {
    const key = stableHash(`strongroom ${preparation.schema}`)
    await withPatience(executor, preparation.dialect, async () => {
      const lock = sql`select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(${sql.lit(key)}, 0))`
      await runNeeded(executor, preparation, lock, 'advisory locks (pg_advisory_xact_lock)')
      await runSteps(executor, preparation)
    })
  })
}

/** Encodings that hold any text. SQL_ASCII takes bytes as they come. */
const ENCODINGS = ['UTF8', 'SQL_ASCII']

/** A vault that exists goes on with the characters it has. */
async function assertEncoding(executor: Executor, preparation: Preparation, { encoding }: StoredObjects): Promise<void> {
  if (ENCODINGS.includes(encoding)) return
  const [table] = await executor.run(
    compiled(
      preparation,
      sql`select relname::pg_catalog.text from pg_catalog.pg_class where relkind in ('r', 'p') and relnamespace =
        (select oid from pg_catalog.pg_namespace where nspname = ${sql.lit(preparation.schema)}) limit 1`,
    ),
  )
  if (table !== undefined) return
  throw new VaultError(
    'failed_precondition',
    `The database has the encoding ${encoding}, which lacks most characters. Use a database that is created with the encoding UTF8.`,
  )
}

/** A change to the database, and what its error must name. */
interface MissingStep {
  readonly make: RawBuilder<unknown>
  /** What a server lacks that does not know the statement. */
  readonly need: string
  /** The table that it creates. */
  readonly creates?: RawBuilder<unknown>
  readonly isSchema?: boolean
  readonly uniqueIndex?: { readonly table: string; readonly columns: readonly string[] }
  readonly sequenceOf?: string
}

async function runStep(executor: Executor, preparation: Preparation, step: MissingStep): Promise<void> {
  try {
    await executor.run(patient(preparation.dialect, step.make))
  } catch (error) {
    if (sqlState(error) === '42501') throw privilegeError(preparation.schema, step, postgresCause(error))
    if (step.uniqueIndex === undefined || sqlState(error) !== '23505') throw needError(error, step.need) ?? error
    throw duplicatesError(step.uniqueIndex.table, step.uniqueIndex.columns, postgresCause(error))
  }
  if (step.sequenceOf !== undefined) preparation.onNewSequence(executor, step.sequenceOf)
}

/** An object exists already: a schema, a table, a column, any other, or an entry of the server's own catalog. */
const EXISTS = ['42P06', '42P07', '42701', '42710', '23505']

/**
 * A transaction that is stricter than READ COMMITTED, as of an engine that has no other, reads the state from before it waited for the lock. If others
 * created meanwhile what it misses, it is run again, and reads what is there.
 */
async function runSteps(executor: Executor, preparation: Preparation): Promise<void> {
  const { dialect } = preparation
  const [[isolation] = []] = await executor.run(patient(dialect, sql`show transaction_isolation`))
  const steps = missingSteps(preparation, await readStoredObjects(executor, preparation))
  for (const step of steps) {
    try {
      await runStep(executor, preparation, step)
    } catch (error) {
      if (isolation !== 'read committed' && EXISTS.includes(sqlState(error) ?? '')) markRetryable(error, 'contention')
      throw error
    }
  }
  // Later calls need both. No other transaction sees this table yet, so its lock does not wait.
  const created = steps.find(({ creates }) => creates !== undefined)?.creates
  if (created === undefined) return
  await runNeeded(executor, preparation, sql`lock table ${created} in share row exclusive mode`, 'LOCK TABLE')
  await executor.transaction((inner) => runNeeded(inner, preparation, sql`select 1`, 'SAVEPOINT'))
}

/** Runs a statement that is not a step. `need` is what a server lacks that does not know it. */
async function runNeeded(
  executor: Executor,
  { dialect }: Preparation,
  statement: RawBuilder<unknown>,
  need: string,
): Promise<void> {
  try {
    await executor.run(patient(dialect, statement))
  } catch (error) {
    throw needError(error, need) ?? error
  }
}

/** The PostgreSQL role may not take this step. */
function privilegeError(schema: string, { isSchema }: MissingStep, cause: Error): VaultError {
  const sentence = isSchema
    ? `The PostgreSQL role may not create the schema "${schema}". Grant it CREATE on the database, or create the schema with the role as its owner.`
    : `The PostgreSQL role may not create tables in the schema "${schema}". Make it the owner of the schema and of the tables in it.`
  return setupError(sentence, cause)
}

function compiled({ dialect }: Pick<Preparation, 'dialect'>, statement: RawBuilder<unknown>): PreparedQuery {
  const { sql: text, parameters } = statement.compile(dialect.compiler)
  return { text, parameters }
}

function assertNamesFit({ name, columns }: PhysicalTable): void {
  for (const long of [name, ...columns.map((column) => column.name)]) {
    if (Buffer.byteLength(long) <= MAX_IDENTIFIER_BYTES) continue
    throw new VaultError(
      'failed_precondition',
      `A name of table "${name}" is longer than the ${MAX_IDENTIFIER_BYTES} bytes of a PostgreSQL name. Shorten it.`,
      { table: name },
    )
  }
}

/** A type of the server. A name can be that of another type, as the server looks for names. */
interface StoredType {
  readonly oid: number
  readonly name: string
}

/** What the schema contains of the tables: column types by table and column, the table of each index that is used, and the names of sequences. */
interface StoredObjects {
  readonly encoding: string
  readonly schema: boolean
  readonly columns: ReadonlyMap<string, ReadonlyMap<string, StoredType>>
  readonly indexes: ReadonlyMap<string, string>
  /** Indexes that the server does not use: their build failed, or has not ended. */
  readonly invalid: ReadonlySet<string>
  readonly sequences: ReadonlySet<string>
}

export async function readStoredObjects(
  executor: Pick<Executor, 'run'>,
  preparation: Pick<Preparation, 'schema' | 'dialect' | 'tables'>,
): Promise<StoredObjects> {
  const rows = await executor.run(compiled(preparation, catalogQuery(preparation)))
  const ofKind = (kind: string): readonly RawRow[] => rows.filter((row) => row[0] === kind)
  const columns = new Map<string, Map<string, StoredType>>()
  for (const [, table, column, name, oid] of ofKind('column')) {
    const found = columns.get(String(table)) ?? new Map<string, StoredType>()
    columns.set(String(table), found.set(String(column), { oid: Number(oid), name: String(name) }))
  }
  return {
    encoding: String(ofKind('encoding')[0]?.[1]),
    schema: ofKind('schema').length > 0,
    columns,
    indexes: new Map(ofKind('index').map((row) => [String(row[1]), String(row[2])])),
    invalid: new Set(ofKind('invalid').map((row) => String(row[1]))),
    sequences: new Set(ofKind('sequence').map((row) => String(row[1]))),
  }
}

/**
 * Reads all tables in one query, so that opening a vault costs one round trip. By the names of what the tables have: an index of the catalog finds a
 * name, while a search by schema would read every relation of the database, of all vaults in it.
 */
function catalogQuery({ schema, tables }: Pick<Preparation, 'schema' | 'tables'>): RawBuilder<unknown> {
  const names = tables.flatMap((table) => [
    table.name,
    sequenceName(table.name),
    ...table.indexes.map((index) => indexName(table, index)),
  ])
  const listed = sql.join([...new Set(names)].map((name) => sql.lit(name)))
  return sql`
    with ours as (
      select oid, relname::pg_catalog.text as name, relkind as kind from pg_catalog.pg_class
      where relname = any(array[${listed}]::pg_catalog.name[])
        and relnamespace = (select oid from pg_catalog.pg_namespace where nspname = ${sql.lit(schema)}))
    select 'encoding' as kind, pg_catalog.current_setting('server_encoding') as name, '' as part, '' as type, '' as oid
    union all
    select 'schema', nspname::pg_catalog.text, '', '', ''
      from pg_catalog.pg_namespace where nspname = ${sql.lit(schema)}
    union all
    select 'column', c.name, a.attname::pg_catalog.text,
        pg_catalog.format_type(a.atttypid, a.atttypmod), a.atttypid::pg_catalog.text
      from ours c join pg_catalog.pg_attribute a on a.attrelid = c.oid
      where c.kind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
    union all
    select case when i.indisvalid then 'index' else 'invalid' end, c.name, t.relname::pg_catalog.text, '', ''
      from ours c join pg_catalog.pg_index i on i.indexrelid = c.oid join pg_catalog.pg_class t on t.oid = i.indrelid
    union all
    select 'sequence', name, '', '', '' from ours where kind = 'S'`
}

function missingSteps(
  { schema, dialect, tables, leavesIndexes = false }: Preparation,
  stored: StoredObjects,
): readonly MissingStep[] {
  const steps: MissingStep[] = []
  if (!stored.schema)
    steps.push({ make: sql`create schema ${sql.id(schema)}`, need: 'CREATE SCHEMA in a transaction', isSchema: true })
  for (const table of tables) {
    const tableName = dialect.tableName(table.name)
    const columns = stored.columns.get(table.name)
    if (columns === undefined)
      steps.push({ make: createTable(tableName, table), need: 'CREATE TABLE in a transaction', creates: tableName })
    else append(steps, missingColumns(tableName, table, columns))
    const indexes = leavesIndexes && columns !== undefined ? [] : missingIndexes(table, stored)
    for (const index of indexes) {
      const name = indexName(table, index)
      if (stored.invalid.has(name)) steps.push({ make: sql`drop index if exists ${sql.id(schema, name)}`, need: 'DROP INDEX' })
      steps.push(missingIndex(tableName, table, index))
    }
    const sequence = sequenceName(table.name)
    if (stored.sequences.has(sequence)) continue
    const range = sql.raw(`as bigint increment by ${BLOCK_SIZE} minvalue 1 maxvalue ${MAX_ROW_ID} start with 1 no cycle`)
    steps.push({
      make: sql`create sequence ${sql.id(schema, sequence)} ${range}`,
      need: 'CREATE SEQUENCE with INCREMENT BY in a transaction',
      sequenceOf: table.name,
    })
  }
  return steps
}

/** The indexes that a table lacks, or has without the server using them. */
export function missingIndexes(table: PhysicalTable, { indexes }: Pick<StoredObjects, 'indexes'>): readonly PhysicalIndex[] {
  return table.indexes.filter((index) => indexes.get(indexName(table, index)) !== table.name)
}

function createTable(tableName: RawBuilder<unknown>, table: PhysicalTable): RawBuilder<unknown> {
  const key = sql`constraint ${sql.id(primaryKeyName(table.name))} primary key (${sql.id('id')})`
  const { columns } = toTableShape(table)
  const stored = STORED_ORDER.flatMap((types) => columns.filter(({ type }) => types.includes(type))).map(declared)
  return sql`create table ${tableName} (${sql.join([...stored, key])})`
}

/** What conditions and aggregates read comes first: the server finds a cell at once only if all cells before it have a fixed length. */
const STORED_ORDER: readonly (readonly PhysicalType[])[] = [['integer', 'real'], ['text'], ['bytes']]

/** Text compares by code point, whatever the database's own collation. */
function declared({ name, type }: PhysicalColumn): RawBuilder<unknown> {
  const own = name === 'id' || name === 'version' ? ' not null' : ''
  const collation = type === 'text' ? ' collate pg_catalog."C"' : ''
  return sql`${sql.id(name)} ${sql.raw(TYPE_NAMES[type] + collation + own)}`
}

function missingColumns(
  tableName: RawBuilder<unknown>,
  table: PhysicalTable,
  stored: ReadonlyMap<string, StoredType>,
): readonly MissingStep[] {
  const steps: MissingStep[] = []
  for (const column of toTableShape(table).columns) {
    const type = stored.get(column.name)
    if (type?.oid === TYPE_OIDS[column.type]) continue
    if (type !== undefined || column.name === 'id' || column.name === 'version') {
      throw retypedError(table.name, column.name, type?.name ?? 'nothing', column.type)
    }
    steps.push({ make: sql`alter table ${tableName} add column ${declared(column)}`, need: 'ALTER TABLE in a transaction' })
  }
  return steps
}

function missingIndex(tableName: RawBuilder<unknown>, table: PhysicalTable, index: PhysicalIndex): MissingStep {
  const kind = sql.raw(index.unique ? 'unique index' : 'index')
  const make = sql`create ${kind} ${sql.id(indexName(table, index))} on ${tableName} (${indexedExpressions(table, index)})`
  const need = 'CREATE INDEX in a transaction'
  return index.unique ? { make, need, uniqueIndex: { table: table.name, columns: index.columns } } : { make, need }
}

/**
 * A server lacks a feature, does not have it in a transaction, cannot read its statement, has no such object or function, or keeps it from the role.
 * After a SAVEPOINT that failed, the statement inside is only said to be in a transaction that has failed.
 */
const LACKING = ['0A000', '25001', '42601', '42704', '42883', '42501', '25P02']

/** Needs of every call, and an expression that meets each. What else a vault needs is met where its tables are created. */
const NEEDS: readonly (readonly [name: string, expression: RawBuilder<unknown>])[] = [
  ['the function hashtextextended', sql`pg_catalog.hashtextextended('strongroom', 0)`],
  ['advisory locks (pg_try_advisory_xact_lock)', sql`pg_catalog.pg_try_advisory_xact_lock(0)`],
  ['COLLATE pg_catalog."C"', sql`'a' collate pg_catalog."C" < 'b'`],
  ['arrays (unnest)', sql`pg_catalog.unnest(array[1]::pg_catalog.int8[])`],
]

/**
 * Throws `unavailable`, which stops a vault from being opened, for a need that the server does not meet. Other failures are left to the statements that
 * follow.
 */
export async function assertNeedsMet(executor: Executor, { compiler }: SqlDialect): Promise<void> {
  async function failureOf(expressions: readonly RawBuilder<unknown>[]): Promise<unknown> {
    const { sql: text } = sql`select ${sql.join(expressions)}`.compile(compiler)
    return executor.run({ text, parameters: [] }).then(
      () => undefined,
      (error: unknown) => error,
    )
  }
  if (needError(await failureOf(NEEDS.map(([, expression]) => expression)), '') === undefined) return
  for (const [name, expression] of NEEDS) {
    const lack = needError(await failureOf([expression]), name)
    if (lack !== undefined) throw lack
  }
}

/** The error for a need that a statement did not meet; undefined if it failed for another reason. */
function needError(error: unknown, name: string): VaultError | undefined {
  if (isVaultError(error) || !LACKING.includes(sqlState(error) ?? '')) return undefined
  const sentence = `The server lacks ${name}, which a vault needs, or keeps it from this role. Grant it, or use a server that has it.`
  return setupError(sentence, postgresCause(error))
}

/** Columns of a table at most. */
const MAX_COLUMNS = 1600
/** Bytes of a number. */
const NUMBER_BYTES = 8
/** Bytes that are left in the row of a text that is stored elsewhere, as happens to any that takes more than 24. */
const POINTER_BYTES = 18
/** Bytes of a text that never has many characters: those of a date. */
const SHORT_TEXT_BYTES = 11
/** Bytes of the header of a row without its bitmap of nulls. */
const HEADER_BYTES = 23

/** Throws `failed_precondition` for a table of which a row with a value in each column could not be stored. */
function assertRowFits(table: PhysicalTable): void {
  const { columns } = toTableShape(table)
  if (columns.length > MAX_COLUMNS) throw tooManyColumnsError(ENGINE, table.name, { count: columns.length, max: MAX_COLUMNS })
  let bytes = aligned(HEADER_BYTES + Math.ceil(columns.length / 8))
  for (const column of columns) bytes += bytesOf(column)
  if (bytes <= MAX_ROW_BYTES) return
  const message = `A row of table "${table.name}" with a value in each column takes ${bytes} bytes, and a row of PostgreSQL has at most ${MAX_ROW_BYTES}. Plain columns and digests count, sealed ones without a digest do not. Split the table, or seal columns.`
  throw new VaultError('failed_precondition', message, { table: table.name })
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / NUMBER_BYTES) * NUMBER_BYTES
}

/** Bytes that the server cannot move out of the row. */
function bytesOf({ type, isShort, byteLength = POINTER_BYTES }: PhysicalColumn): number {
  switch (type) {
    case 'integer':
    case 'real':
      return NUMBER_BYTES
    case 'text':
      return isShort === true ? SHORT_TEXT_BYTES : POINTER_BYTES
    case 'bytes':
      return Math.min(POINTER_BYTES, byteLength + 1)
  }
}
