/** The PostgreSQL storage: a handle on one schema of one database, through a pool of its own or the caller's. */
import { isVaultError, VaultError } from '../../core/errors.ts'
import type { Storage, StorageHandle } from '../../core/ports/storage.ts'
import type { ClosedByUsing } from '../../core/util/closed-by-using.ts'
import { readOptions } from '../../core/util/read-options.ts'
import { closedError } from '../errors/storage-errors.ts'
import { isInsideTransaction } from '../sql/nested-transaction.ts'
import { createSqlStatements } from '../sql/sql-statements.ts'
import { createTableShapes, type TableShapes } from '../sql/table-shapes.ts'
import { readBytes, readColumn } from './column-reads.ts'
import { commitChanges, getAndCommit } from './commit-changes.ts'
import type { DriverPool } from './driver-connection.ts'
import { createIdBlocks, type IdBlocks } from './id-blocks.ts'
import { createHostExecutor } from './join-host.ts'
import { lockTables } from './lock-tables.ts'
import { createNetwork } from './network.ts'
import { type OpenedPool, openPool } from './open-pool.ts'
import { createPackedQueries } from './packed-queries.ts'
import { BEGIN, createPoolExecutor } from './pool-executor.ts'
import { mapPostgresError } from './postgres-errors.ts'
import { createPostgresSqlDialect } from './postgres-sql-dialect.ts'
import { prepareTables } from './prepare-tables.ts'
import { findRows, getRows } from './read-rows.ts'
import { createRowQueries, type SqlContext } from './row-queries.ts'
import { aggregateRows, deleteRows, insertRows, lockRows, type QueryBuilders, tryLockRow, updateRows } from './row-work.ts'
import { toOpeningError } from './setup-errors.ts'
import { type PostgresTimeouts, parseTimeouts, settingStatements, type Timeouts } from './timeouts.ts'
import type { Executor } from './transaction-executor.ts'

/** The database of a storage, and how to connect to it. */
export interface PostgresOptions {
  /** A `pg.Pool` the application opens and ends itself. Required unless `connectionString` is given. */
  readonly pool?: DriverPool
  /** An address (`postgres://…`) for a pool this handle opens and ends. */
  readonly connectionString?: string
  /** The PostgreSQL schema of the vault: `[a-z_][a-z0-9_]*`, at most 63 characters. Default `strongroom`. */
  readonly schema?: string
  /** False behind a pooler in transaction mode, which may run each statement on another connection. Default true. */
  readonly preparedStatements?: boolean
  /** Connections of a pool this handle opens. Default 10. */
  readonly maxConnections?: number
  /** How long to wait for the server. On a pool of the application the limits of the server apply to transactions only. */
  readonly timeouts?: PostgresTimeouts
}

/**
 * A storage in PostgreSQL 14 or newer. Throws `invalid_request` for wrong options. Inside `transaction` a statement that
 * fails rolls back the whole transaction, even if its error is caught; nest a `transaction` around what may fail.
 *
 * `joinTransaction` takes a `pg` client on which BEGIN was run, or a Kysely transaction. The server confirms the client's
 * transaction on first use. A Kysely transaction must not be used after its end, which cannot be detected here.
 */
export function postgresStorage(options: PostgresOptions): StorageHandle & ClosedByUsing {
  const given = readOptions('postgresStorage', options)
  const { schema = 'strongroom' } = given
  if (typeof schema !== 'string' || !/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new VaultError(
      'invalid_request',
      'The schema name of a PostgreSQL storage must match [a-z_][a-z0-9_]* and have at most 63 characters.',
    )
  }
  const timeouts = parseTimeouts(given.timeouts)
  const { pool, dropIdle, end, ownsSessions } = choosePool(given, timeouts)
  const network = createNetwork(dropIdle)
  const state = createHandleState(schema, given.preparedStatements ?? true)
  let closing: Promise<void> | undefined
  const executor = createPoolExecutor({
    pool: { connect: (done) => (closing === undefined ? pool.connect(done) : done(closedError('PostgreSQL'), undefined)) },
    timeouts,
    network,
    begin: ownsSessions ? BEGIN : `${BEGIN}; ${settingStatements(timeouts, 'transaction')}`,
    owner: state,
    onCommit: state.ids.keepRest,
  })
  return {
    ...createStorage(state, executor),
    transactions: 'concurrent',
    getAndCommit: async (table, id, changes) => getAndCommit(state, executor, { table, id, changes }),
    isInsideTransaction: () => isInsideTransaction(state),
    joinTransaction: (host) => createStorage(state, createHostExecutor(host)),
    closeMs: timeouts.closeMs,
    close(withinMs = timeouts.closeMs) {
      closing ??= end(withinMs)
      if (withinMs === 0) network.end()
      return closing
    },
    async [Symbol.asyncDispose]() {
      await this.close()
    },
  }
}

/** The pool to use, how to end it, and whether its sessions are this handle's alone. */
function choosePool(options: PostgresOptions, timeouts: Timeouts): OpenedPool & { readonly ownsSessions: boolean } {
  const { pool, connectionString, maxConnections, preparedStatements = true } = options
  if (pool !== undefined && connectionString === undefined)
    return { pool, dropIdle() {}, end: async () => {}, ownsSessions: false }
  if (pool !== undefined || typeof connectionString !== 'string') {
    throw new VaultError('invalid_request', 'A PostgreSQL storage needs either a pool or a connectionString.')
  }
  // Behind a transaction pooler a session serves other clients too.
  const ownsSessions = preparedStatements
  return { ...openPool(connectionString, { maxConnections, timeouts, ownsSessions }), ownsSessions }
}

/** What all executors of one handle share. */
interface HandleState {
  readonly context: SqlContext
  readonly builders: QueryBuilders
  readonly shapes: TableShapes
  readonly ids: IdBlocks
}

function createHandleState(schema: string, named: boolean): HandleState {
  const dialect = createPostgresSqlDialect(schema)
  const statements = createSqlStatements(dialect)
  const context = { schema, dialect, statements, named }
  const queries = createRowQueries(context)
  const builders = { queries, statements, packedQueries: createPackedQueries(dialect, queries.bind) }
  return { context, builders, shapes: createTableShapes(), ids: createIdBlocks(queries) }
}

function createStorage({ context, builders, shapes, ids }: HandleState, executor: Executor): Storage {
  const transaction: Storage['transaction'] = (work) =>
    executor.transaction((inner) => work(createStorage({ context, builders, shapes, ids }, inner)))
  return {
    async prepare(tables) {
      const { schema, dialect } = context
      const preparing = withMappedErrors(prepareTables(executor, { schema, dialect, tables, onNewSequence: ids.forget }))
      await preparing.catch((error: unknown) => {
        throw isVaultError(error) ? toOpeningError(error) : error
      })
      shapes.add(tables)
    },
    async reserveIds(table, count) {
      shapes.of(table)
      return withMappedErrors(ids.reserve(executor, table, count))
    },
    async insert(table, rows) {
      await ids.forgetIfTaken(executor, insertRows(builders, executor, shapes.of(table), rows))
      if (rows.length > 0) ids.noteInserted(executor)
    },
    get: async (table, ids) => getRows(builders, executor, shapes.of(table), ids),
    find: async (table, filter, page) => findRows(builders, executor, shapes.of(table), { filter, page }),
    readColumn: async (table, filter, page) => readColumn(builders, executor, shapes.of(table), { filter, page }),
    readBytes: async (table, filter, page) => readBytes(builders, executor, shapes.of(table), { filter, page }),
    update: async (table, patches) => updateRows(builders, executor, shapes.of(table), patches),
    delete: async (table, target) => deleteRows(builders, executor, shapes.of(table), target),
    aggregate: async (table, filter, aggregates) => aggregateRows(builders, executor, shapes.of(table), { filter, aggregates }),
    async lock(tables) {
      const { dialect } = context
      await withMappedErrors(
        lockTables(
          executor,
          dialect,
          tables.map((table) => shapes.of(table).name),
        ),
      )
    },
    tryLock: async (table, id) => tryLockRow(builders, executor, shapes.of(table), id),
    lockRows: async (table, ids) => lockRows(builders, executor, shapes.of(table), ids),
    commit: async (changes) =>
      ids.forgetIfTaken(executor, commitChanges({ builders, shapes, storage: { transaction } }, executor, changes)),
    transaction,
  }
}

async function withMappedErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw mapPostgresError(error, {})
  }
}
