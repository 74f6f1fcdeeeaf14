/** Pieces of SQL that both engines share: quoted names, keys, and lists of rows as JSON. */
import { VaultError } from '../core/errors.ts'

/** A cell as a driver returns it: text of every type from PostgreSQL, values of the storage classes from SQLite. */
export type Cell = string | number | bigint | Uint8Array | null

/** A column of a list that is passed to a statement. */
export interface ListColumn {
  /** Quoted. */
  readonly name: string
  readonly type: string
}

/** A table, by the columns of its key. */
interface Keyed {
  readonly key: readonly { readonly quoted: string; readonly type: string }[]
}

/** A table whose changes are noted. */
interface Noted extends Keyed {
  readonly notes: string
}

/** Quotes a name for both engines. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Quotes a text for both engines. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Returns cells as JSON text: a key in this form is compared, stored and passed on. Integers keep all their digits. */
export function toJson(cells: readonly Cell[]): string {
  return `[${cells.map(cellText).join(',')}]`
}

function cellText(cell: Cell): string {
  if (typeof cell === 'bigint') return cell.toString()
  if (cell instanceof Uint8Array) throw new VaultError('unsupported', 'A key or a value is binary, which cannot be adopted.')
  return JSON.stringify(cell)
}

/** Returns a key and cells as a row of a list. */
export function withCells(key: string, cells: readonly Cell[]): string {
  return cells.length === 0 ? key : `${key.slice(0, -1)},${toJson(cells).slice(1)}`
}

/** Returns rows that are JSON texts as the parameter of a list. */
export function listOf(rows: readonly string[]): string {
  return `[${rows.join(',')}]`
}

/** `"id", "part"`, or `h."id", h."part"`. */
export function keyNames(table: Keyed, alias?: string): string {
  return table.key.map(({ quoted }) => (alias === undefined ? quoted : `${alias}.${quoted}`)).join(', ')
}

/** The condition under which two tables have the same key. */
export function sameKey(table: Keyed, left: string, right: string): string {
  return table.key.map(({ quoted }) => `${left}.${quoted} = ${right}.${quoted}`).join(' and ')
}

/** The columns of a list of keys, or of values. */
export function listColumns(columns: Keyed['key']): ListColumn[] {
  return columns.map(({ quoted, type }) => ({ name: quoted, type }))
}

/** The columns of notes that have a key, `k0, k1`, and those of the key before, `w0, w1`. */
export function noteNames({ key }: Keyed, letter: 'k' | 'w'): string {
  return key.map((_, position) => `${letter}${position}`).join(', ')
}

/** The statement of a trigger that notes its row. */
export function note(table: Noted, op: string, row: 'old' | 'new'): string {
  return `insert into ${table.notes} (op, ${noteNames(table, 'k')}) values ('${op}', ${keyNames(table, row)});`
}

/** The statement of a trigger that notes a row with another key than before: its record follows it. */
export function noteMoved(table: Noted, condition = 'true'): string {
  return `insert into ${table.notes} (op, ${noteNames(table, 'k')}, ${noteNames(table, 'w')})
    select 'k', ${keyNames(table, 'new')}, ${keyNames(table, 'old')} where ${condition};`
}
