/** Makes an empty database on a running PostgreSQL, so that test files do not see each other. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'

export interface FreshDatabase {
  readonly url: string
  /** Removes the database, ending whoever is still connected to it. */
  drop(): Promise<void>
}

/** `url` is a superuser's address on the server, as provided to tests under `postgresUrl`. */
export async function freshDatabase(url: string): Promise<FreshDatabase> {
  const name = `fresh_${randomBytes(8).toString('hex')}`
  await asSuperuser(url, `create database ${name} template template0`)
  const own = new URL(url)
  own.pathname = `/${name}`
  return { url: own.href, drop: () => asSuperuser(url, `drop database if exists ${name} with (force)`) }
}

async function asSuperuser(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
