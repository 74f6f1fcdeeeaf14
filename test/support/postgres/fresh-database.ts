/** Creates an empty database on the running PostgreSQL, so that test files are independent. */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'

export interface FreshDatabase {
  readonly url: string
  /** Removes the database when its connections are closed; after a quarter of a second by force. */
  drop(): Promise<void>
}

/** `url` is a superuser's address on the server: `inject('postgresUrl')`. `options` are those of CREATE DATABASE. */
export async function freshDatabase(url: string, options = ''): Promise<FreshDatabase> {
  const name = `fresh_${randomBytes(8).toString('hex')}`
  // Copied as files: written to the log page by page, it costs the server three times as much.
  await manage(url, `create database ${name} template template0 strategy file_copy ${options}`)
  const own = new URL(url)
  own.pathname = `/${name}`
  return { url: own.href, drop: () => dropDatabase(url, name) }
}

/** Checks within a quarter of a second: closed connections take a moment to end. */
const LOOKS = 25

/** A pool's `end` resolves before the server has closed the connections. Closing them by force would be an error in the pool. */
async function dropDatabase(url: string, name: string): Promise<void> {
  for (let look = 0; look < LOOKS && (await hasConnections(url, name)); look++) await pause(10)
  await manage(url, `drop database if exists ${name} with (force)`)
}

async function hasConnections(url: string, name: string): Promise<boolean> {
  return (await manage(url, `select from pg_stat_activity where datname = '${name}' limit 1`)) > 0
}

/** A connection of this process to each server, for all databases of its tests: a new one costs the server as much as a database. */
const managers = new Map<string, pg.Pool>()

function managerOf(url: string): pg.Pool {
  const known = managers.get(url)
  if (known !== undefined) return known
  const manager = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true })
  // A server that a test started ends before the process.
  manager.on('error', () => {})
  managers.set(url, manager)
  return manager
}

/** Runs a statement. Returns how many rows it has. */
async function manage(url: string, text: string): Promise<number> {
  return (await managerOf(url).query(text)).rowCount ?? 0
}
