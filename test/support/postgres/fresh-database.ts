/** Creates an empty database on the running PostgreSQL, so that test files are independent. */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { queryServer } from './query-server.ts'

export interface FreshDatabase {
  readonly url: string
  /** Removes the database when its connections are closed; after a quarter of a second by force. */
  drop(): Promise<void>
}

/** `url` is a superuser's address on the server: `inject('postgresUrl')`. `options` are those of CREATE DATABASE. */
export async function freshDatabase(url: string, options = ''): Promise<FreshDatabase> {
  const name = `fresh_${randomBytes(8).toString('hex')}`
  await queryServer(url, `create database ${name} template template0 ${options}`)
  const own = new URL(url)
  own.pathname = `/${name}`
  return { url: own.href, drop: () => dropDatabase(url, name) }
}

/** Checks within a quarter of a second: closed connections take a moment to end. */
const LOOKS = 25

/** A pool's `end` resolves before the server has closed the connections. Closing them by force would be an error in the pool. */
async function dropDatabase(url: string, name: string): Promise<void> {
  for (let look = 0; look < LOOKS && (await countConnections(url, name)) > 0; look++) await pause(10)
  await queryServer(url, `drop database if exists ${name} with (force)`)
}

async function countConnections(url: string, name: string): Promise<number> {
  const text = 'select count(*) from pg_stat_activity where datname = $1'
  const [row] = await queryServer<{ count: string }>(url, text, [name])
  return Number(row?.count ?? 0)
}
