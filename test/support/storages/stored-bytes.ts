/** The bytes of a storage as its files have them: what a thief of the disk finds. Rows that are gone are searched there by their cells. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { queryServer } from '../postgres/query-server.ts'
import type { Place } from './places.ts'

/** A cell to search for, and the table that had it. */
export interface Needle {
  readonly table: string
  readonly bytes: Buffer
}

/** Bytes of a cell that are searched for: few, so that hardly one lies on the border of two pages. */
const NEEDLE_BYTES = 24
/** Shorter cells occur by chance. */
const MIN_BYTES = 8

/** Returns the cells of all tables: sealed bodies, digests, plain texts, pieces of files. By their hex digits. */
export async function readNeedles(storage: StorageHandle): Promise<ReadonlyMap<string, Needle>> {
  const found = new Map<string, Needle>()
  await storage.snapshot(async ({ tables, find }) => {
    for (const { name } of tables) {
      for (const row of await find(name, { kind: 'all' }, { order: 'asc', limit: 100_000 })) {
        for (const cell of Object.values(row)) {
          if (typeof cell !== 'string' && !(cell instanceof Uint8Array)) continue
          const bytes = Buffer.from(cell as string).subarray(0, NEEDLE_BYTES)
          if (bytes.length >= MIN_BYTES) found.set(bytes.toString('hex'), { table: name, bytes })
        }
      }
    }
  })
  return found
}

/** Returns the needles that the files of a place hold. Of PostgreSQL: tables, indexes and long values, not its log. */
export async function findInFiles(place: Place, needles: Iterable<Needle>): Promise<Needle[]> {
  const files = (await filesOf(place)).map((name) => readFileSync(name))
  return [...needles].filter(({ bytes }) => files.some((file) => file.includes(bytes)))
}

async function filesOf(place: Place): Promise<string[]> {
  const address = place.address()
  if (address === undefined) return []
  if (address.engine === 'sqlite') {
    const folder = dirname(address.filename)
    return readdirSync(folder).map((name) => join(folder, name))
  }
  const rows = await queryServer<{ path: string }>(
    address.url,
    `select current_setting('data_directory') || '/' || pg_relation_filepath(c.oid) as path
     from pg_class c where pg_relation_filepath(c.oid) is not null and (c.relnamespace = $1::regnamespace or c.oid in (
       select unnest(array[t.reltoastrelid, i.indexrelid]) from pg_class t left join pg_index i on i.indrelid = t.reltoastrelid
       where t.relnamespace = $1::regnamespace and t.reltoastrelid <> 0))`,
    [address.schema],
  )
  // A file of a table can have further segments and forks: path.1, path_fsm.
  return rows.flatMap(({ path }) => {
    const folder = dirname(path)
    const own = basename(path)
    return readdirSync(folder)
      .filter((name) => name === own || name.startsWith(`${own}.`) || name.startsWith(`${own}_`))
      .map((name) => join(folder, name))
  })
}
