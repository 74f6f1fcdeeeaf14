/** One statement on a PostgreSQL server, on a connection of its own. */
import pg from 'pg'

/** Returns the rows of a statement. `url` has the database and the user, mostly a superuser. */
export async function queryServer<T extends object>(url: string, text: string, values: readonly unknown[] = []): Promise<T[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<T>(text, [...values])).rows
  } finally {
    await client.end()
  }
}
