/** The PostgreSQL storage: a handle on one schema of one database, through a pool of its own or the caller's. */
import { isVaultError, VaultError } from '../../core/errors.ts'
import type { DisposableStorage, Scans, Storage } from '../../core/ports/storage.ts'
import { readOptions } from '../../core/util/options.ts'
import { closedError } from '../errors/storage-errors.ts'
import { isInsideTransaction } from '../sql/nested-transaction.ts'
import { createSqlStatements } from '../sql/sql-statements.ts'
import { createTableShapes, shapesOf, type TableShapes } from '../sql/table-shapes.ts'
import { buildIndexes } from './build-indexes.ts'
import type { DriverPool } from './driver-connection.ts'
import { dropTargets } from './drop-targets.ts'
import { createIdBlocks, type IdBlocks } from './id-blocks.ts'
import { lockTables } from './lock-tables.ts'
import { addressOf, type OpenedPool, openPool, speaksOtherwiseAt } from './open-pool.ts'
import { createPackedQueries } from './packing.ts'
import { createNetwork } from './pool-clients.ts'
import { createPoolExecutor } from './pool-executor.ts'
import { mapPostgresError, postgresCause, setupError, toOpeningError } from './postgres-errors.ts'
import {
  type PostgresTimeouts,
  type PostgresTls,
  parseTimeouts,
  parseTls,
  poolMistake,
  settingStatements,
  type Timeouts,
} from './postgres-options.ts'
import { createPostgresSqlDialect } from './postgres-sql-dialect.ts'
import { assertNeedsMet, prepareTables } from './prepare-tables.ts'
import { purgeTables } from './purge-disk.ts'
import { findRows, getRows, readBytes, readColumn } from './read-rows.ts'
import { createRowQueries, type SqlContext } from './row-queries.ts'
import {
  aggregateRows,
  commitChanges,
  deleteRows,
  insertRows,
  lockRows,
  type QueryBuilders,
  tryLockRow,
  updateRows,
} from './row-work.ts'
import { raiseSequence, storedTables } from './stored-tables.ts'
import { createHostExecutor, type Executor } from './transaction-executor.ts'

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
  /** Whether that pool uses TLS, or the certificates it uses. Default: as `connectionString` says (`sslmode`), else PGSSLMODE. */
  readonly ssl?: boolean | PostgresTls
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
export function postgresStorage(options: PostgresOptions): DisposableStorage {
  const given = readOptions(options, POSTGRES_OPTIONS, { of: 'postgresStorage' })
  const { schema = 'strongroom' } = given
  if (typeof schema !== 'string' || !/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new VaultError(
      'invalid_request',
      'The schema name of a PostgreSQL storage must match [a-z_][a-z0-9_]* and have at most 63 characters.',
    )
  }
  const timeouts = parseTimeouts(given.timeouts)
  const { pool, driverPool, dropIdle, end, ownsSessions } = choosePool(given, timeouts)
  const network = createNetwork(dropIdle)
  const state = createHandleState(schema, { named: given.preparedStatements ?? true, driverPool })
  let closing: Promise<void> | undefined
  const executor = createPoolExecutor({
    pool: { connect: (done) => (closing === undefined ? pool.connect(done) : done(closedError('PostgreSQL'), undefined)) },
    timeouts,
    network,
    limits: ownsSessions ? undefined : settingStatements(timeouts, 'transaction'),
    owner: state,
    onCommit: state.ids.keepRest,
  })
  return {
    ...createStorage(state, executor),
    isInsideTransaction: () => isInsideTransaction(state),
    mayTurn: () => true,
    snapshot: (work) =>
      executor.snapshot(async (inner) => {
        const tables = await withMappedErrors(storedTables(inner, state.context))
        const shapes = shapesOf(tables)
        const { get, find, aggregate } = createStorage({ ...state, shapes }, inner)
        return work({ tables, get, find, aggregate })
      }),
    async raiseIds(table, next) {
      const { name } = state.shapes.of(table)
      await withMappedErrors(raiseSequence(executor, state.context, name, next))
      state.ids.raise(name, next)
    },
    purgeDisk: (purge) => purgeTables(executor, state.context, purge),
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

const POSTGRES_OPTIONS = [
  'pool',
  'connectionString',
  'schema',
  'preparedStatements',
  'ssl',
  'maxConnections',
  'timeouts',
] as const satisfies readonly (keyof PostgresOptions)[]

/** A pool of the application, which ends it. */
function ofApplication(pool: DriverPool): OpenedPool & { readonly ownsSessions: boolean } {
  return { pool, driverPool: () => pool, dropIdle() {}, end: async () => {}, ownsSessions: false }
}

/** The pool to use, how to end it, and whether its sessions are this handle's alone. */
function choosePool(options: PostgresOptions, timeouts: Timeouts): OpenedPool & { readonly ownsSessions: boolean } {
  const { pool, connectionString, maxConnections, preparedStatements = true } = options
  if (pool !== undefined && connectionString === undefined) {
    const unread = (['ssl', 'maxConnections'] as const).find((name) => options[name] !== undefined)
    if (unread === undefined) return ofApplication(checkedPool(pool))
    throw new VaultError(
      'invalid_request',
      `postgresStorage: Option "${unread}" has no effect on a pool. Set it where the pool is made.`,
    )
  }
  if (pool !== undefined || typeof connectionString !== 'string') {
    throw new VaultError('invalid_request', 'A PostgreSQL storage needs either a pool or a connectionString.')
  }
  if (maxConnections !== undefined && (!Number.isSafeInteger(maxConnections) || maxConnections < 1))
    throw new VaultError('invalid_request', 'postgresStorage: Option "maxConnections" must be an integer from 1.')
  // Behind a transaction pooler a session serves other clients too.
  const ownsSessions = preparedStatements
  return {
    ...openPool(connectionString, { ssl: parseTls(connectionString, options.ssl), maxConnections, timeouts, ownsSessions }),
    ownsSessions,
  }
}

/** The pool, or one that says with each connection why that is not a pool. It is said while a vault is opened, as what else keeps it from connecting is. */
function checkedPool(pool: DriverPool): DriverPool {
  const mistake = poolMistake(pool)
  return mistake === undefined ? pool : { connect: (done) => done(setupError(mistake, postgresCause(undefined)), undefined) }
}

/** What all executors of one handle share. */
interface HandleState {
  readonly context: SqlContext
  readonly builders: QueryBuilders
  readonly shapes: TableShapes
  readonly ids: IdBlocks
  /** Throws if the server lacks what a vault needs. It asks until the server has all of it once. */
  assertNeedsMet(executor: Executor): Promise<void>
  /** True if something else than PostgreSQL answers at the address of the pool. */
  speaksOtherwise(): Promise<boolean>
}

function createHandleState(
  schema: string,
  { named, driverPool }: { readonly named: boolean } & Pick<OpenedPool, 'driverPool'>,
): HandleState {
  const dialect = createPostgresSqlDialect(schema)
  const statements = createSqlStatements(dialect)
  const context = { schema, dialect, statements, named }
  const queries = createRowQueries(context)
  const builders = { queries, statements, packedQueries: createPackedQueries(dialect, queries.bind) }
  async function speaksOtherwise(): Promise<boolean> {
    const address = addressOf(driverPool())
    return address !== undefined && speaksOtherwiseAt(address)
  }
  let met = false
  async function metOnce(executor: Executor): Promise<void> {
    if (!met) await assertNeedsMet(executor, dialect)
    met = true
  }
  return {
    context,
    builders,
    shapes: createTableShapes(),
    ids: createIdBlocks(queries),
    assertNeedsMet: metOnce,
    speaksOtherwise,
  }
}

function createStorage(state: HandleState, executor: Executor): Storage {
  const { context, builders, shapes, ids } = state
  const transaction: Storage['transaction'] = (work, options) =>
    executor.transaction((inner) => work(createStorage(state, inner)), options)
  const scans: Scans = {
    column: async (table, filter, page) => readColumn(builders, executor, shapes.of(table), { filter, page }),
    bytes: async (table, filter, page) => readBytes(builders, executor, shapes.of(table), { filter, page }),
  }
  return {
    transactions: 'concurrent',
    async prepare(tables, { besideWriters = false } = {}) {
      const { schema, dialect, named } = context
      const session = besideWriters ? executor.session : undefined
      const preparation = {
        schema,
        dialect,
        tables,
        leavesIndexes: session !== undefined,
        assertNeedsMet: () => state.assertNeedsMet(executor),
        onNewSequence: ids.forget,
      }
      const build = () => session?.((inner) => buildIndexes(inner, { schema, dialect, tables, keepsSession: named }))
      await withMappedErrors(prepareTables(executor, preparation).then(build)).catch(async (error: unknown) => {
        throw isVaultError(error) ? await toOpeningError(error, state.speaksOtherwise) : error
      })
      shapes.add(tables)
    },
    async drop(targets, { waitMs } = {}) {
      await withMappedErrors(dropTargets(executor, context, { targets, waitMs }))
      shapes.drop(targets)
      for (const target of targets) if (target.kind === 'tables') for (const table of target.tables) ids.forget(executor, table)
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
    scan: (table, filter, page) => scans[page.shape](table, filter, page),
    update: async (table, patches) => updateRows(builders, executor, shapes.of(table), patches),
    delete: async (table, target) => deleteRows(builders, executor, shapes.of(table), target),
    aggregate: async (table, filter, aggregates) => aggregateRows(builders, executor, shapes.of(table), { filter, aggregates }),
    async lock(target) {
      if (target.kind === 'id') return tryLockRow(builders, executor, shapes.of(target.table), target.id)
      if (target.kind === 'rows') await lockRows(builders, executor, shapes.of(target.table), target.ids)
      else
        await withMappedErrors(
          lockTables(executor, context.dialect, {
            tables: target.tables.map((table) => shapes.of(table).name),
            waitMs: target.waitMs,
          }),
        )
      return true
    },
    commit: async (changes, { read } = {}) =>
      ids.forgetIfTaken(executor, commitChanges({ builders, shapes, storage: { transaction } }, executor, { changes, read })),
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
