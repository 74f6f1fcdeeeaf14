/** Adopting in PostgreSQL, on connections of a pool of the application. */
import type { AdoptedTable, MappedColumn } from './adopted-table.ts'
import { type Connection, type Engine, LOCK_MS, statementError } from './engine.ts'
import { captureTriggers, dropTriggers, guardFunction, sideTables } from './postgres-capture.ts'
import { inspectPostgres } from './postgres-inspect.ts'
import type { Cell } from './sql-text.ts'

/** The part of a client of `pg` that is used. */
export interface PostgresClient {
  query(query: {
    text: string
    values?: unknown[]
    rowMode?: 'array'
    types?: { getTypeParser(): (raw: string) => unknown }
  }): Promise<{ readonly rows: unknown[]; readonly rowCount: number | null }>
}

/** The part of a client of a `pg.Pool` that is used. */
export interface PooledPostgresClient extends PostgresClient {
  release(destroy?: boolean): void
  on(event: 'error', listener: () => void): unknown
  removeListener(event: 'error', listener: () => void): unknown
}

/** The part of a `pg.Pool` that is used. */
export interface PostgresPool {
  connect(): Promise<PooledPostgresClient>
}

/** Codes after which the same may succeed: a lock was not free in time, a deadlock, a serialization conflict. */
const BUSY = ['55P03', '40P01', '40001']
/** Cells stay the text that the server writes. */
const RAW_TEXT = { getTypeParser: () => (raw: string) => raw }
/** The server writes values in these forms. A slice that waits for a lock gives up long before the server looks for deadlocks, so that no statement of the application ends for it. */
const SETTINGS = `set local lock_timeout = '${LOCK_MS}ms'; set local datestyle = 'ISO, YMD'; set local timezone = 'UTC'; set local intervalstyle = 'postgres'; set local extra_float_digits = 1`

export function postgresEngine(pool: PostgresPool): Engine {
  return {
    kind: 'postgres',
    // A slice of backfill and verify locks no row of the application; one of finish and back locks its rows.
    pace: { sliceMs: 60, rest: 0.1 },
    join: 'join',
    now: 'extract(epoch from clock_timestamp())::bigint',
    forUpdate: ' for update',
    transaction: (work, settings) =>
      withClient(pool, async (connection) => {
        await connection.script(`begin${settings?.snapshot === true ? ' isolation level repeatable read' : ''}; ${SETTINGS}`)
        try {
          const result = await work(connection)
          await connection.script('commit')
          return result
        } catch (error) {
          await connection.script('rollback').catch(() => {})
          throw error
        }
      }),
    joined: (host) => connectionOn(host as PostgresClient), // `vault.withTransaction` has refused anything else.
    inspect: inspectPostgres,
    cell: (position, type) => `(?::json->>${position})::${type}`,
    list(columns) {
      const cells = columns.map(({ name, type }, position) => `(value->>${position})::${type} as ${name}`)
      return `(select ${cells.join(', ')} from json_array_elements(?::json))`
    },
    read,
    differs: ({ quoted, type }) => `${textOf(`h.${quoted}`, type)} is distinct from ${textOf(`l.${quoted}`, type)}`,
    tables: sideTables,
    capture: captureTriggers,
    guard: guardFunction,
    dropTriggers,
    async setOwn(connection, _, isOn) {
      await connection.all(`select set_config('strongroom.own', ?, true)`, [isOn ? 'on' : 'off'])
    },
    lock: (connection, table) => connection.script(`lock table ${table.quoted} in share row exclusive mode`),
    share: (connection, table) => connection.script(`lock table ${table.quoted} in row exclusive mode`),
    clean: (table, isThorough) => clean(pool, table, isThorough),
  }
}

async function withClient<T>(pool: PostgresPool, work: (connection: Connection) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw statementError(error, [], 'No connection to PostgreSQL')
  })
  // The statement in progress reports it too.
  const ignore = (): void => {}
  client.on('error', ignore)
  let isBroken = true
  try {
    const result = await work(connectionOn(client))
    isBroken = false
    return result
  } finally {
    client.removeListener('error', ignore)
    client.release(isBroken)
  }
}

function connectionOn(client: PostgresClient): Connection {
  const send: PostgresClient['query'] = async (query) => {
    try {
      return await client.query(query)
    } catch (error) {
      throw statementError(error, BUSY)
    }
  }
  const sendWith = (text: string, parameters: readonly unknown[] = []) =>
    send({ text: numbered(text), values: [...parameters], rowMode: 'array', types: RAW_TEXT })
  return {
    host: client,
    all: async (text, parameters) => (await sendWith(text, parameters)).rows as (readonly Cell[])[], // Of mode `array`.
    run: async (text, parameters) => (await sendWith(text, parameters)).rowCount ?? 0,
    script: async (text) => void (await send({ text })),
  }
}

/** Replaces `?` by `$1` and so on, outside of quoted names and texts. */
function numbered(text: string): string {
  let count = 0
  return text.replaceAll(/"[^"]*"|'[^']*'|\?/g, (found) => (found === '?' ? `$${++count}` : found))
}

/** Times as RFC 3339, all else as the server writes it. */
function read({ quoted, type, vaultType }: MappedColumn): string {
  if (vaultType === 'DATETIME' && type.startsWith('timestamp'))
    return `to_char(h.${quoted} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
  return `h.${quoted}::text`
}

/** A value as text, in which values that differ are never equal. `json` keeps the spaces that it was written with. */
function textOf(expression: string, type: string): string {
  return type === 'json' ? `${expression}::jsonb::text` : `${expression}::text collate "C"`
}

async function clean(pool: PostgresPool, table: AdoptedTable, isThorough: boolean): Promise<string[]> {
  const left = [
    'the write-ahead log and its archive, until they are recycled',
    'replicas that have not replayed yet, backups and dumps',
    'the log of PostgreSQL, if it has statements or slow ones with their parameters',
    'materialized views, full-text columns and logs that the application wrote',
  ]
  const text = isThorough ? `vacuum (full, analyze) ${table.quoted}` : `vacuum (analyze) ${table.quoted}`
  try {
    await withClient(pool, (connection) => connection.script(text))
    if (!isThorough) left.unshift('pages of the table and its indexes: clean it (VACUUM FULL locks the table while it copies it)')
  } catch {
    left.unshift('pages of the table, its indexes and statistics: VACUUM was not possible; run VACUUM (FULL, ANALYZE)')
  }
  return left
}
