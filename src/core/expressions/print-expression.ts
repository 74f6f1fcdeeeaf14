/** Writes a condition back as text that reads to the same tree. */

import { RESERVED_WORDS } from '../schema/names.ts'
import { unreachable } from '../util/unreachable.ts'
import type { ColumnName, Expression, Operand } from './ast.ts'
import { TIGHTNESS } from './operators.ts'

/** The text of a condition, in standard SQL, with no more parentheses than it needs. */
export function printExpression(expression: Expression): string {
  switch (expression.kind) {
    case 'and':
    case 'or':
      return expression.operands.map((operand) => within(expression, operand)).join(expression.kind === 'and' ? ' AND ' : ' OR ')
    case 'not':
      return printNegation(expression)
    case 'truth':
      return expression.truth === undefined ? 'NULL' : printBoolean(expression.truth)
    case 'compare':
    case 'like':
    case 'isNull':
    case 'hasKey':
      return printPredicate(expression, '')
    default:
      return unreachable(expression)
  }
}

/** A name as it stands in a query: bare where it can be, else in double quotes. */
export function printName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !RESERVED_WORDS.has(name) ? name : `"${name.replaceAll('"', '""')}"`
}

/** A column, with its table where that was given. */
export function printColumn({ table, name }: ColumnName): string {
  return table === undefined ? printName(name) : `${printName(table)}.${printName(name)}`
}

/** A column or a literal; texts stand in single quotes. */
export function printOperand(operand: Operand): string {
  switch (operand.kind) {
    case 'column':
      return printColumn(operand)
    case 'text':
      return `'${operand.text.replaceAll("'", "''")}'`
    case 'number':
      return operand.text
    case 'boolean':
      return printBoolean(operand.value)
    case 'null':
      return 'NULL'
    default:
      return unreachable(operand)
  }
}

type Predicate = Extract<Expression, { readonly kind: 'compare' | 'like' | 'isNull' | 'hasKey' }>

/** `not` is empty or `NOT `, and only LIKE and IS NULL have a place for it. */
function printPredicate(predicate: Predicate, not: '' | 'NOT '): string {
  switch (predicate.kind) {
    case 'compare':
      return `${printOperand(predicate.left)} ${predicate.operator} ${printOperand(predicate.right)}`
    case 'like':
      return `${printOperand(predicate.left)} ${not}${predicate.ignoresCase ? 'ILIKE' : 'LIKE'} ${printOperand(predicate.right)}`
    case 'isNull':
      return `${printOperand(predicate.operand)} IS ${not}NULL`
    case 'hasKey':
      return `${printOperand(predicate.operand)} ? ${printOperand(predicate.key)}`
    default:
      return unreachable(predicate)
  }
}

function printNegation(negation: Extract<Expression, { readonly kind: 'not' }>): string {
  const { operand } = negation
  const hasOwnPlace = operand.kind === 'like' || operand.kind === 'isNull'
  return hasOwnPlace ? printPredicate(operand, 'NOT ') : `NOT ${within(negation, operand)}`
}

/** An operand of a condition, in parentheses where it would fall apart. */
function within(outer: Expression, inner: Expression): string {
  return TIGHTNESS[inner.kind] < TIGHTNESS[outer.kind] ? `(${printExpression(inner)})` : printExpression(inner)
}

function printBoolean(value: boolean): string {
  return value ? 'TRUE' : 'FALSE'
}
