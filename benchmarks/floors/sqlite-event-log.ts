/** Floor: an event log as people build one, JSON in a plaintext table, each row with the SHA-256 of the row before and itself. */
import { createHash } from 'node:crypto'
import { openSqlite } from './open-sqlite.ts'

export interface SqliteEventLog {
  /** One transaction. */
  append(events: readonly unknown[]): void
  /** The newest events, read back. */
  newest(limit: number): readonly unknown[]
  /** Reads every row and checks its digest. Answers how many there are; throws where one is not what was written. */
  verify(): number
  close(): void
}

/** Rows read at a time. */
const PAGE = 1000

interface LoggedRow {
  readonly id: number
  readonly event: string
  readonly mark: Buffer
}

export function openSqliteEventLog(filename: string): SqliteEventLog {
  const connection = openSqlite(filename, 'measuring')
  connection.exec('create table if not exists events (id integer primary key, event text, mark blob)')
  const insert = connection.prepare<[string, Buffer]>('insert into events (event, mark) values (?, ?)')
  const newest = connection.prepare<[number], string>('select event from events order by id desc limit ?').pluck()
  const page = connection.prepare<[number, number], LoggedRow>(
    'select id, event, mark from events where id > ? order by id limit ?',
  )
  let last: Buffer = Buffer.alloc(32)
  return {
    append: connection.transaction((events: readonly unknown[]) => {
      for (const event of events) {
        const text = JSON.stringify(event)
        last = markOf(last, text)
        insert.run(text, last)
      }
    }),
    newest: (limit) => newest.all(limit).map((text): unknown => JSON.parse(text)),
    verify() {
      let before: Buffer = Buffer.alloc(32)
      let count = 0
      for (let rows = page.all(0, PAGE); rows.length > 0; rows = page.all(rows.at(-1)?.id ?? 0, PAGE)) {
        for (const { event, mark } of rows) {
          before = markOf(before, event)
          if (!before.equals(mark)) throw new Error('the floor found an event that was changed')
          count++
        }
      }
      return count
    },
    close: () => connection.close(),
  }
}

function markOf(before: Buffer, text: string): Buffer {
  return createHash('sha256').update(before).update(text).digest()
}
