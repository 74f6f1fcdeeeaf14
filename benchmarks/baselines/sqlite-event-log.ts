/** Baseline: an event log as JSON in a plaintext table. Each row stores the SHA-256 of the previous digest and its own text. */
import { createHash } from 'node:crypto'
import { at } from '../../src/core/util/lists.ts'
import { openSqlite } from './open-sqlite.ts'

export interface SqliteEventLog {
  /** Appends the events in one transaction. */
  append(events: readonly unknown[]): void
  /** Returns the newest events, newest first. */
  newest(limit: number): readonly unknown[]
  /** Reads every row and checks its digest. Returns the number of rows. Throws if a row was changed. */
  verify(): number
  close(): void
}

/** Rows per read. */
const PAGE = 1000

interface LoggedRow {
  readonly id: number
  readonly event: string
  readonly digest: Buffer
}

export function openSqliteEventLog(filename: string): SqliteEventLog {
  const connection = openSqlite(filename, 'measuring')
  connection.exec('create table if not exists events (id integer primary key, event text, digest blob)')
  const insert = connection.prepare<[string, Buffer]>('insert into events (event, digest) values (?, ?)')
  const newest = connection.prepare<[number], string>('select event from events order by id desc limit ?').pluck()
  const page = connection.prepare<[number, number], LoggedRow>(
    'select id, event, digest from events where id > ? order by id limit ?',
  )
  let last: Buffer = Buffer.alloc(32)
  return {
    append: connection.transaction((events: readonly unknown[]) => {
      for (const event of events) {
        const text = JSON.stringify(event)
        last = digestOf(last, text)
        insert.run(text, last)
      }
    }),
    newest: (limit) => newest.all(limit).map((text): unknown => JSON.parse(text)),
    verify() {
      let before: Buffer = Buffer.alloc(32)
      let count = 0
      for (let rows = page.all(0, PAGE); rows.length > 0; rows = page.all(at(rows, rows.length - 1).id, PAGE)) {
        for (const { event, digest } of rows) {
          before = digestOf(before, event)
          if (!before.equals(digest)) throw new Error('An event of the log was changed.')
          count++
        }
      }
      return count
    },
    close: () => connection.close(),
  }
}

function digestOf(before: Buffer, text: string): Buffer {
  return createHash('sha256').update(before).update(text).digest()
}
