/** Opens a SQLite file for a baseline, with the durability, cache and checkpoint settings of the vault's storage. */
import Database from 'better-sqlite3'

export type Connection = Database.Database

/** `filling` gives up durability for speed. Measured connections are opened with `measuring`. */
export type Purpose = 'filling' | 'measuring'

export function openSqlite(filename: string, purpose: Purpose): Connection {
  const connection = new Database(filename)
  connection.pragma('journal_mode = wal')
  // The driver's build lowers `synchronous` on the first read of a WAL file, so read first and set it afterwards.
  connection.prepare('select count(*) from sqlite_schema').get()
  connection.pragma(purpose === 'measuring' ? 'synchronous = full' : 'synchronous = off')
  connection.pragma(purpose === 'measuring' ? 'cache_size = -65536' : 'cache_size = -1048576')
  connection.pragma('temp_store = memory')
  connection.pragma('wal_autocheckpoint = 16000')
  return connection
}

/** Returns the size of the file in bytes after a checkpoint. */
export function bytesOnDisk(filename: string): number {
  const connection = new Database(filename)
  try {
    connection.pragma('wal_checkpoint(truncate)')
    return Number(connection.pragma('page_count', { simple: true })) * Number(connection.pragma('page_size', { simple: true }))
  } finally {
    connection.close()
  }
}

/** Returns the bytes of one page of the file. */
export function readPageSize(filename: string): number {
  const connection = new Database(filename, { readonly: true })
  try {
    return Number(connection.pragma('page_size', { simple: true }))
  } finally {
    connection.close()
  }
}
