/** A transaction of a Kysely application on a file, for tests of what a storage does inside it. */
import Database from 'better-sqlite3'
import { Kysely, SqliteDialect, type Transaction } from 'kysely'

type NoTables = Record<string, never>

/** Runs `work` inside a transaction of a Kysely of its own on the file. */
export async function inKysely(filename: string, work: (transaction: Transaction<NoTables>) => Promise<void>): Promise<void> {
  const kysely = new Kysely<NoTables>({ dialect: new SqliteDialect({ database: new Database(filename) }) })
  try {
    await kysely.transaction().execute(work)
  } finally {
    await kysely.destroy()
  }
}
