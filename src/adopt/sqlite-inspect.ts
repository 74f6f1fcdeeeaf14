/** What a file of SQLite says of a table: its key, its columns, and what uses them. */
import { VaultError } from '../core/errors.ts'
import { type Connection, countOf } from './engine.ts'
import { type Cell, quote } from './sql-text.ts'
import type { Finding, HostColumn, TableShape } from './table-shape.ts'

/** Objects of adopting itself. */
const OWN = 'strongroom_'

export async function inspectSqlite(connection: Connection, name: string): Promise<TableShape> {
  const [found] = await connection.all(
    `select type, name from sqlite_master where name = ? collate nocase and type in ('table', 'view')`,
    [name],
  )
  if (found === undefined) throw new VaultError('not_found', `The file has no table ${name}.`)
  const table = String(found[1])
  if (found[0] === 'view') throw new VaultError('unsupported', `${table} is a view. Adopt the table below it.`)
  const rows = await connection.all('select name, type, "notnull", pk, hidden from pragma_table_xinfo(?)', [table])
  const columns = new Map(rows.map((row) => [String(row[0]), columnOf(row)]))
  const key = rows.filter((row) => row[3] !== 0n).sort((left, right) => Number(left[3]) - Number(right[3]))
  const shape = { quoted: quote(table), name: table, key: key.map(([column]) => String(column)), columns }
  return {
    ...shape,
    beside: quote,
    findings: [...(await keyFindings(connection, shape)), ...(await objectFindings(connection, table))],
    dependants: await dependants(connection, table, [...columns.keys()]),
  }
}

function columnOf([name, type, isRequired, , hidden]: readonly Cell[]): HostColumn {
  const declared = String(type)
  return {
    name: String(name),
    type: declared,
    declared,
    isLoose: false,
    isRequired: isRequired !== 0n,
    isGenerated: hidden !== 0n,
  }
}

async function keyFindings(
  connection: Connection,
  { quoted, name, key }: Pick<TableShape, 'quoted' | 'name' | 'key'>,
): Promise<Finding[]> {
  if (key.length === 0) return []
  const findings: Finding[] = []
  const where = (condition: string) => key.map((column) => condition.replace('?', quote(column))).join(' or ')
  const count = (condition: string) => countOf(connection, `${quoted} where ${where(condition)}`)
  const nulls = await count('? is null')
  if (nulls > 0)
    findings.push({
      level: 'refused',
      code: 'null_key',
      rows: nulls,
      message: `${name} has ${nulls} rows with NULL in the key: no key finds them. Give them one.`,
    })
  const binary = await count(`typeof(?) = 'blob'`)
  if (binary > 0)
    findings.push({
      level: 'refused',
      code: 'binary_key',
      rows: binary,
      message: `${name} has ${binary} rows with a binary key.`,
    })
  return findings
}

async function objectFindings(connection: Connection, table: string): Promise<Finding[]> {
  const objects = await connection.all(
    `select name, type, sql from sqlite_master where name not like '${OWN}%' and ((type = 'trigger' and tbl_name = ? collate nocase) or (type = 'table' and sql like 'create virtual table%'))`,
    [table],
  )
  return objects.flatMap(([name, type, sql]): Finding[] => {
    if (type === 'trigger')
      return [
        {
          level: 'attention',
          code: 'host_trigger',
          message: `${table} has the trigger ${name}: if it runs on updates, finish and back run it for every row.`,
        },
      ]
    if (!mentions(sql, table)) return []
    return [
      {
        level: 'attention',
        code: 'full_text',
        message: `${name} is a full-text table over ${table}: it keeps plaintext of its own. Remove it, or rebuild it after finish.`,
      },
    ]
  })
}

async function dependants(connection: Connection, table: string, columns: readonly string[]): Promise<TableShape['dependants']> {
  const indexed = await connection.all(
    `select i.name, x.name from pragma_index_list(?) x join pragma_index_info(x.name) i where i.name is not null and x.origin <> 'pk'`,
    [table],
  )
  const objects = await connection.all(
    `select name, sql from sqlite_master where type in ('view', 'trigger') and name not like '${OWN}%'`,
  )
  const users = objects.filter(([, sql]) => mentions(sql, table))
  return [
    ...indexed.map(([column, index]) => ({ column: String(column), object: `index ${index}` })),
    ...columns.flatMap((column) =>
      users.filter(([, sql]) => mentions(sql, column)).map(([name]) => ({ column, object: `view or trigger ${name}` })),
    ),
  ]
}

/** True if a statement has the word. It can be another thing of that name: then the operator looks. */
function mentions(sql: Cell | undefined, word: string): boolean {
  return (
    typeof sql === 'string' &&
    sql
      .toLowerCase()
      .split(/[^\p{L}\p{N}_$]+/u)
      .includes(word.toLowerCase())
  )
}
