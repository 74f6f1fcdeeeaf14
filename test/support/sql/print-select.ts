/** Prints a parsed query as text that parses to the same tree. */
import type { Parameter } from '../../../src/core/expressions/ast.ts'
import type { AggregateCall, FromTable, Join, JoinKind, OrderBy, ParsedSelect, SelectItem } from '../../../src/core/sql/select.ts'
import { unreachable } from '../../../src/core/util/causes.ts'
import { type PrintStyle, printColumn, printExpression, printName, printOperand } from './print-expression.ts'

/** Prints a query in standard SQL on one line. */
export function printSelect(select: ParsedSelect, style: PrintStyle = {}): string {
  const clauses = [
    `SELECT ${select.items.map(printItem).join(', ')}`,
    `FROM ${printTable(select.from)}`,
    ...select.joins.map((join) => printJoin(join, style)),
    ...(select.where === undefined ? [] : [`WHERE ${printExpression(select.where, style)}`]),
    ...(select.groupBy.length === 0 ? [] : [`GROUP BY ${select.groupBy.map(printColumn).join(', ')}`]),
    ...(select.orderBy.length === 0 ? [] : [`ORDER BY ${select.orderBy.map(printTerm).join(', ')}`]),
    ...(select.limit === undefined ? [] : [`LIMIT ${printBound(select.limit)}`]),
    ...(select.offset === undefined ? [] : [`OFFSET ${printBound(select.offset)}`]),
  ]
  return clauses.join(' ')
}

function printBound(bound: number | Parameter): string {
  return typeof bound === 'number' ? String(bound) : printOperand(bound)
}

function printItem(item: SelectItem): string {
  switch (item.kind) {
    case 'star':
      return item.table === undefined ? '*' : `${printName(item.table)}.*`
    case 'value':
      return withAlias(printColumn(item.column), item.alias)
    case 'redaction':
      return withAlias(`REDACTION(${printColumn(item.column)}, ${printOperand(item.level)})`, item.alias)
    case 'aggregate':
      return withAlias(printCall(item), item.alias)
    default:
      return unreachable(item)
  }
}

function printCall({ name, column, isDistinct }: AggregateCall): string {
  const argument = column === undefined ? '*' : printColumn(column)
  return `${name.toUpperCase()}(${isDistinct ? 'DISTINCT ' : ''}${argument})`
}

function printTerm({ by, direction }: OrderBy): string {
  return `${'kind' in by ? printColumn(by) : printCall(by)}${direction === 'desc' ? ' DESC' : ''}`
}

function printTable({ table, alias }: FromTable): string {
  return withAlias(printName(table), alias === table ? undefined : alias)
}

const JOINS: Readonly<Record<JoinKind, string>> = { inner: 'JOIN', left: 'LEFT JOIN', right: 'RIGHT JOIN', full: 'FULL JOIN' }

function printJoin({ kind, table, on }: Join, style: PrintStyle): string {
  return `${JOINS[kind]} ${printTable(table)} ON ${printExpression(on, style)}`
}

function withAlias(output: string, alias: string | undefined): string {
  return alias === undefined ? output : `${output} AS ${printName(alias)}`
}
