/** The names in a query, for its audit event: which tables, columns and filters it names. Never an alias, a literal or any other text of the caller. */
import { UNKNOWN_NAME } from '../errors.ts'
import { type ColumnIdentifier, type Expression, operandsOf, predicatesIn } from '../expressions/ast.ts'
import { foldName, lex } from '../expressions/lexer.ts'
import type { Layout } from '../schema/layout.ts'
import { RECORD_ID_NAME } from '../schema/names.ts'
import { unreachable } from '../util/causes.ts'
import type { FromTable, OrderBy, Select, SelectItem } from './select.ts'

/** The names of a query, each once. What the schema does not have is *UNKNOWN*. */
export interface QueryNames {
  readonly tables: readonly string[]
  /** `table.column` of every column that is read; `table.*` for all of a table, and `table.svc_id` for its record id. */
  readonly columns: readonly string[]
  /** The columns among them that WHERE and ON compare or test. */
  readonly filters: readonly string[]
}

/** What the names are looked up in. */
interface Schema {
  readonly layout: Pick<Layout, 'tables'>
  /** The name of the record id in the query. */
  readonly idName: string
}

/** Returns the names of a parsed query. It does not matter whether the caller may use them. */
export function namesOf({ items, from, joins, where, groupBy, orderBy }: Select, schema: Schema): QueryNames {
  const sources = [from, ...joins.map(({ table }) => table)]
  const filters = [...joins.map(({ on }) => on), ...(where === undefined ? [] : [where])].flatMap(columnsIn)
  const filterNames = filters.map((column) => nameOf(column, sources, schema))
  const others = [...groupBy, ...orderBy.flatMap((term) => orderColumn(term, items) ?? [])]
  return {
    tables: unique(sources.map(({ table }) => tableName(table, schema))),
    columns: unique([
      ...items.flatMap((item) => itemNames(item, sources, schema)),
      ...filterNames,
      ...others.map((column) => nameOf(column, sources, schema)),
    ]),
    filters: unique(filterNames),
  }
}

/** Returns the names in a text that is no query of the subset: the tables of the schema that it names, and their columns. */
export function namesIn(text: string, { layout }: Pick<Schema, 'layout'>): QueryNames {
  const words = wordsOf(text)
  const tables = [...layout.tables.values()].filter(({ name }) => words.has(name))
  const columns = tables.flatMap(({ name, byName }) =>
    [...byName.keys()].filter((column) => words.has(column)).map((column) => `${name}.${column}`),
  )
  return { tables: tables.map(({ name }) => name), columns, filters: [] }
}

/** Returns the words and quoted names of a text; none if it cannot be split into lexemes. */
function wordsOf(text: string): ReadonlySet<string> {
  try {
    return new Set(lex(text).flatMap((one) => (one.kind === 'word' || one.kind === 'quoted' ? [foldName(one.text)] : [])))
  } catch {
    return new Set()
  }
}

function tableName(name: string, { layout }: Schema): string {
  return layout.tables.has(name) ? name : UNKNOWN_NAME
}

function itemNames(item: SelectItem, sources: readonly FromTable[], schema: Schema): string[] {
  switch (item.kind) {
    case 'star':
      return sources
        .filter(({ alias }) => item.table === undefined || item.table === alias)
        .map(({ table }) => `${tableName(table, schema)}.*`)
    case 'value':
    case 'redaction':
      return [nameOf(item.column, sources, schema)]
    case 'aggregate':
      return item.column === undefined ? [] : [nameOf(item.column, sources, schema)]
    default:
      return unreachable(item)
  }
}

/** Returns the column of a term of ORDER BY; undefined for an alias, whose column is that of its item. */
function orderColumn({ by }: OrderBy, items: readonly SelectItem[]): ColumnIdentifier | undefined {
  if (!('kind' in by)) return by.column
  const isAlias = by.table === undefined && items.some((item) => item.kind !== 'star' && item.alias === by.name)
  return isAlias ? undefined : by
}

/** Returns `table.column`; without the table if several have the column. */
function nameOf({ table, name }: ColumnIdentifier, sources: readonly FromTable[], { layout, idName }: Schema): string {
  const named = sources
    .filter(({ alias }) => table === undefined || table === alias)
    .flatMap((source) => layout.tables.get(source.table) ?? [])
  const having = named.filter(({ byName }) => name === idName || byName.has(name))
  const [only, other] = having
  if (only === undefined) return UNKNOWN_NAME
  const column = name === idName ? RECORD_ID_NAME : name
  return other === undefined ? `${only.name}.${column}` : column
}

function columnsIn(expression: Expression): ColumnIdentifier[] {
  return predicatesIn(expression)
    .flatMap(operandsOf)
    .filter((operand) => operand.kind === 'column')
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)]
}
