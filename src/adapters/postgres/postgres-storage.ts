/** The PostgreSQL storage: a handle on one schema of one database, through a pool of its own or the caller's. */
import { Pool } from 'pg'
import { VaultError } from '../../core/errors.ts'
import type { Storage, StorageHandle } from '../../core/ports/storage.ts'
import { createSqlStatements } from '../sql/sql-statements.ts'
import { createTableShapes, type TableShapes } from '../sql/table-shapes.ts'
import { createHostLane } from './host-lane.ts'
import { createIdBlocks, type IdBlocks } from './id-blocks.ts'
import type { Lane } from './lanes.ts'
import { createPoolLane } from './pool-lane.ts'
import type { DriverPool } from './postgres-driver.ts'
import { toPostgresFault } from './postgres-faults.ts'
import { createPostgresManners } from './postgres-manners.ts'
import { prepareTables } from './prepare-tables.ts'
import { createRowOrders, type Speech } from './row-orders.ts'
import { deleteRows, findRows, getRows, insertRows, measureRows, type RowTools, updateRows } from './row-work.ts'

/** Connections of a pool of ours, unless the caller says otherwise. */
const DEFAULT_CONNECTIONS = 10
/** Longest wait for a connection of a pool of ours, in milliseconds: a server that does not answer must not hold callers for ever. */
const CONNECTION_TIMEOUT = 30_000

/** Which database a storage works on, and how it connects. */
export interface PostgresOptions {
  /** A `pg.Pool` the application brings and ends itself. Give this or `connectionString`. */
  readonly pool?: DriverPool
  /** An address (`postgres://…`) for a pool of this handle's own. */
  readonly connectionString?: string
  /** The PostgreSQL schema that holds everything of one vault: `[a-z_][a-z0-9_]*`, 63 characters at most. Default `strongroom`. */
  readonly schema?: string
  /** False behind a pooler in transaction mode, which may run each statement on another connection. Default true. */
  readonly namedStatements?: boolean
  /** Connections of a pool of this handle's own. Default 10. */
  readonly maxConnections?: number
}

/**
 * A storage in PostgreSQL 14 or newer. Inside `transaction` a statement that fails undoes the whole transaction, as
 * PostgreSQL wants it, even where its error is caught; nest a `transaction` around what may fail.
 *
 * `joinTransaction` takes a `pg` client on which BEGIN was run (asked of the server when first used) or a Kysely
 * transaction (as Kysely says; after its end it must not be used any more, which cannot be seen from here).
 */
export function postgresStorage(options: PostgresOptions): StorageHandle {
  const schema = options.schema ?? 'strongroom'
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new VaultError(
      'invalid_request',
      'The schema of a PostgreSQL storage is named [a-z_][a-z0-9_]*, 63 characters at most.',
    )
  }
  const { pool, end } = openPool(options)
  const room = createRoom(schema, options.namedStatements ?? true)
  let closing: Promise<void> | undefined
  const lane = createPoolLane({
    connect: () => (closing === undefined ? pool.connect() : Promise.reject(closedError())),
  })
  return {
    ...createStorage(room, lane),
    transactions: 'side by side',
    joinTransaction: (host) => createStorage(room, createHostLane(host)),
    close() {
      closing ??= end()
      return closing
    },
  }
}

function closedError(): VaultError {
  return new VaultError('unavailable', 'This PostgreSQL storage was closed.')
}

/** The pool to use, and how to let go of it. */
function openPool(options: PostgresOptions): { readonly pool: DriverPool; end(): Promise<void> } {
  const { pool, connectionString, maxConnections } = options
  if ((pool === undefined) === (connectionString === undefined)) {
    throw new VaultError('invalid_request', 'A PostgreSQL storage takes either a pool or a connectionString.')
  }
  if (pool !== undefined) return { pool, end: async () => {} }
  const own = new Pool({
    connectionString,
    max: maxConnections ?? DEFAULT_CONNECTIONS,
    connectionTimeoutMillis: CONNECTION_TIMEOUT,
    keepAlive: true,
    pipeline: true,
  })
  // An idle connection that breaks is dropped by the pool; without a listener the report would end the process.
  own.on('error', () => {})
  return { pool: own, end: () => own.end() }
}

/** What all lanes of one handle share. */
interface Room {
  readonly speech: Speech
  readonly tools: RowTools
  readonly shapes: TableShapes
  readonly ids: IdBlocks
}

function createRoom(schema: string, named: boolean): Room {
  const manners = createPostgresManners(schema)
  const statements = createSqlStatements(manners)
  const speech = { schema, manners, statements, named }
  const orders = createRowOrders(speech)
  return { speech, tools: { orders, statements }, shapes: createTableShapes(), ids: createIdBlocks(orders) }
}

function createStorage({ speech, tools, shapes, ids }: Room, lane: Lane): Storage {
  return {
    async prepare(tables) {
      const { schema, manners } = speech
      await inOwnWords(prepareTables(lane, { schema, manners, tables, onNewSequence: ids.forget }))
      shapes.add(tables)
    },
    async reserveIds(table, count) {
      shapes.of(table)
      return inOwnWords(ids.reserve(lane, table, count))
    },
    insert: async (table, rows) => insertRows(tools, lane, shapes.of(table), rows),
    get: async (table, ids) => getRows(tools, lane, shapes.of(table), ids),
    find: async (table, filter, page) => findRows(tools, lane, shapes.of(table), { filter, page }),
    update: async (table, patches) => updateRows(tools, lane, shapes.of(table), patches),
    delete: async (table, doomed) => deleteRows(tools, lane, shapes.of(table), doomed),
    measure: async (table, filter, measures) => measureRows(tools, lane, shapes.of(table), { filter, measures }),
    transaction: (work) => lane.atomic((inner) => work(createStorage({ speech, tools, shapes, ids }, inner))),
  }
}

async function inOwnWords<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw toPostgresFault(error, {})
  }
}
