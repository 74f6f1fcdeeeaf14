/** Baselines of blobs: the same chunks in a plain file, and in plain tables, with the same durability and no step that makes them whole. */
import { open, rm } from 'node:fs/promises'
import type pg from 'pg'
import { openSqlite } from './open-sqlite.ts'

/** One long content, written, read and removed. */
export interface PlainBlob {
  write(content: AsyncIterable<Uint8Array>): Promise<void>
  /** Returns the number of bytes. */
  read(): Promise<number>
  remove(): Promise<void>
  close(): Promise<void>
}

const PIECE_BYTES = 64 * 1024
const PIECES_PER_COMMIT = 16
const READ_BYTES = 512 * 1024

/** A file: each chunk is one write, and the file is synchronized at its end. */
export function plainFile(path: string): PlainBlob {
  return {
    async write(content) {
      const file = await open(path, 'w')
      for await (const chunk of content) await file.write(chunk)
      await file.sync()
      await file.close()
    },
    async read() {
      const file = await open(path, 'r')
      let bytes = 0
      for (;;) {
        const { bytesRead } = await file.read(new Uint8Array(READ_BYTES), 0, READ_BYTES, bytes)
        if (bytesRead === 0) break
        bytes += bytesRead
      }
      await file.close()
      return bytes
    },
    remove: () => rm(path, { force: true }),
    close: async () => {},
  }
}

/** Yields the bytes of 16 pieces at a time. */
async function* commitsOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Uint8Array[]> {
  const block = Buffer.alloc(PIECES_PER_COMMIT * PIECE_BYTES)
  let filled = 0
  const pieces = () => {
    const count = Math.ceil(filled / PIECE_BYTES)
    return Array.from({ length: count }, (_, at) => block.subarray(at * PIECE_BYTES, Math.min(filled, (at + 1) * PIECE_BYTES)))
  }
  for await (const chunk of content) {
    for (let from = 0; from < chunk.length; ) {
      const taken = Math.min(chunk.length - from, block.length - filled)
      block.set(chunk.subarray(from, from + taken), filled)
      filled += taken
      from += taken
      if (filled < block.length) continue
      yield pieces()
      filled = 0
    }
  }
  if (filled > 0) yield pieces()
}

/** A SQLite table of pieces by position. */
export function plainSqliteTable(filename: string): PlainBlob {
  const connection = openSqlite(filename, 'measuring')
  connection.exec('create table pieces (id integer primary key, content blob)')
  const insert = connection.prepare<[number, Uint8Array]>('insert into pieces values (?, ?)')
  const select = connection.prepare<[number], { content: Buffer }>('select content from pieces where id >= ? order by id limit 4')
  const commit = connection.transaction((first: number, pieces: readonly Uint8Array[]) => {
    for (const [at, piece] of pieces.entries()) insert.run(first + at, piece)
  })
  return {
    async write(content) {
      let first = 0
      for await (const pieces of commitsOf(content)) {
        commit(first, pieces)
        first += pieces.length
      }
    },
    async read() {
      let bytes = 0
      for (let at = 0; ; at += 4) {
        const rows = select.all(at)
        if (rows.length === 0) return bytes
        for (const { content } of rows) bytes += content.length
      }
    },
    async remove() {
      connection.exec('delete from pieces')
    },
    async close() {
      connection.close()
    },
  }
}

/** A PostgreSQL table of pieces by position. */
export async function plainPostgresTable(pool: pg.Pool, schema: string): Promise<PlainBlob> {
  const table = `${schema}.pieces`
  await pool.query(`create schema ${schema}; create table ${table} (id bigint primary key, content bytea)`)
  return {
    async write(content) {
      let first = 0
      for await (const pieces of commitsOf(content)) {
        const values = pieces.map((_, at) => `($${at * 2 + 1}, $${at * 2 + 2})`).join(', ')
        await pool.query(
          `insert into ${table} values ${values}`,
          pieces.flatMap((piece, at) => [first + at, piece]),
        )
        first += pieces.length
      }
    },
    async read() {
      let bytes = 0
      for (let at = 0; ; at += 4) {
        const text = `select content from ${table} where id >= $1 order by id limit 4`
        const { rows } = await pool.query<{ content: Buffer }>({ name: 'pieces', text, values: [at] })
        if (rows.length === 0) return bytes
        for (const { content } of rows) bytes += content.length
      }
    },
    async remove() {
      await pool.query(`truncate ${table}`)
    },
    close: async () => {},
  }
}
