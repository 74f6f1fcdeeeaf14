/** Baseline: mixed statements on a plaintext SQLite table, prepared, in one transaction. */
import { at, required } from '../../src/core/util/lists.ts'
import type { MixedItem } from '../fixtures/mixed-items.ts'
import type { Person } from '../fixtures/people.ts'
import { openSqlite } from './open-sqlite.ts'

/** A plaintext table. */
export interface SqliteMixed {
  /** Runs the items in one transaction. Returns the rows that were read. */
  run(items: readonly MixedItem[]): readonly Person[]
  close(): void
}

/** Opens a new file. The first record has position 0. */
export function openSqliteMixed(filename: string): SqliteMixed {
  const connection = openSqlite(filename, 'measuring')
  connection.exec(
    'create table people (id integer primary key, name text, email text, phone text, address text, ssn text, city text)',
  )
  const insert = connection.prepare('insert into people (name, email, phone, address, ssn, city) values (?, ?, ?, ?, ?, ?)')
  const get = connection.prepare<[number], Person>('select name, email, phone, address, ssn, city from people where id = ?')
  const update = connection.prepare<[string, number]>('update people set phone = ? where id = ?')
  const remove = connection.prepare<[number]>('delete from people where id = ?')
  const ids: number[] = []
  const runOne = (item: MixedItem): readonly Person[] => {
    if (item.kind === 'insert') {
      const { name, email, phone, address, ssn, city } = item.person
      ids.push(Number(insert.run(name, email, phone, address, ssn, city).lastInsertRowid))
      return []
    }
    const id = at(ids, item.position)
    if (item.kind === 'get') return [required(get.get(id), 'A row')]
    if (item.kind === 'update') update.run(item.phone, id)
    else remove.run(id)
    return []
  }
  return {
    run: connection.transaction((items: readonly MixedItem[]) => items.flatMap(runOne)),
    close: () => connection.close(),
  }
}
