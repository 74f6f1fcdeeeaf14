/** The tables that a file has, as `prepare` created them, and where their counters of ids are. */
import type { PhysicalType, StoredTable } from '../../core/ports/storage.ts'
import type { SqlStatement } from '../sql/sql-statements.ts'
import { rows, type TableWork } from './connection.ts'
import { ID_COUNTERS } from './prepare-tables.ts'

const TYPES: Readonly<Record<string, PhysicalType>> = { INTEGER: 'integer', REAL: 'real', TEXT: 'text', BLOB: 'bytes' }

/** The columns of all tables, in order. `next` is null without a counter. `strongroom_ids` is missing in a file that was never prepared. */
const COLUMNS: SqlStatement = {
  text: `select m.name, p.name, p.type, p.pk from sqlite_schema m join pragma_table_info(m.name) p
    where m.type = 'table' and m.name not like 'sqlite\\_%' escape '\\' order by m.name, p.cid`,
}
const COUNTERS: SqlStatement = { text: `select name, cast(next as text) from "${ID_COUNTERS}" where typeof(next) = 'integer'` }

/** Lists them, in one state of the file. A table of another form is the application's, and left out. */
export function storedTablesWork(): TableWork<readonly StoredTable[]> {
  return {
    shape: undefined,
    *begin() {
      const found = new Map<string, { name: string; type: string; isKey: boolean }[]>()
      for (const [table, name, type, key] of yield* rows(COLUMNS, [], ['table', 'name', 'type', 'pk'])) {
        const columns = found.get(String(table)) ?? []
        columns.push({ name: String(name), type: String(type), isKey: key === 1 })
        found.set(String(table), columns)
      }
      const hasCounters = found.delete(ID_COUNTERS)
      const counters = new Map(
        (hasCounters ? yield* rows(COUNTERS, [], ['name', 'next']) : []).map(([name, next]) => [String(name), Number(next)]),
      )
      const tables: StoredTable[] = []
      for (const [name, [id, version, ...own]] of found) {
        if (id?.name !== 'id' || !id.isKey || version?.name !== 'version') continue
        const columns = own.flatMap((column) => {
          const type = TYPES[column.type]
          return type === undefined ? [] : [{ name: column.name, type }]
        })
        if (columns.length === own.length) tables.push({ name, columns, nextId: counters.get(name) ?? 1 })
      }
      return tables
    },
  }
}
