/** Prints a parsed condition as text that parses to the same tree. */

import { type ColumnIdentifier, type Expression, type Operand, PRECEDENCE } from '../../../src/core/expressions/ast.ts'
import { RESERVED_WORDS } from '../../../src/core/schema/names.ts'
import { unreachable } from '../../../src/core/util/causes.ts'

/** Prints a condition in standard SQL with the fewest parentheses. */
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

/** Prints a name: bare if possible, otherwise in double quotes. */
export function printName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !RESERVED_WORDS.has(name) ? name : `"${name.replaceAll('"', '""')}"`
}

/** Prints a column, with its table if it has one. */
export function printColumn({ table, name }: ColumnIdentifier): string {
  return table === undefined ? printName(name) : `${printName(table)}.${printName(name)}`
}

/** Prints a column, a literal or a parameter. Strings are in single quotes. */
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
    case 'parameter':
      return `$${operand.number}`
    default:
      return unreachable(operand)
  }
}

type Predicate = Extract<Expression, { readonly kind: 'compare' | 'like' | 'isNull' | 'hasKey' }>

/** `not` is empty or `NOT `. Only LIKE and IS NULL can contain it. */
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

/** Prints an operand of a condition, in parentheses if its precedence is lower. */
function within(outer: Expression, inner: Expression): string {
  return PRECEDENCE[inner.kind] < PRECEDENCE[outer.kind] ? `(${printExpression(inner)})` : printExpression(inner)
}

function printBoolean(value: boolean): string {
  return value ? 'TRUE' : 'FALSE'
}
