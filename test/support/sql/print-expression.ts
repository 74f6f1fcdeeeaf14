/** Prints a parsed condition as text that parses to the same tree. */

import { type ColumnIdentifier, type Expression, type Operand, PRECEDENCE } from '../../../src/core/expressions/ast.ts'
import { RESERVED_WORDS } from '../../../src/core/schema/names.ts'
import { unreachable } from '../../../src/core/util/causes.ts'

/** How a condition is printed. */
export interface PrintStyle {
  /** True to print what the extensions of queries have a form for in that form. Default false. */
  readonly isExtended?: boolean
}

/** Prints a condition in standard SQL with the fewest parentheses. */
export function printExpression(expression: Expression, style: PrintStyle = {}): string {
  const extended = style.isExtended === true ? printExtended(expression, '') : undefined
  if (extended !== undefined) return extended
  const within = (outer: Expression, inner: Expression): string => printWithin(outer, inner, style)
  switch (expression.kind) {
    case 'and':
    case 'or':
      return expression.operands.map((operand) => within(expression, operand)).join(expression.kind === 'and' ? ' AND ' : ' OR ')
    case 'not':
      return printNegation(expression, style)
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

const NEGATED = { '=': '<>', '<': '>=', '>': '<=' } as const

/** Prints a condition with an operator of the extensions; undefined if none means it. */
function printExtended(expression: Expression, not: '' | 'NOT '): string | undefined {
  if (expression.kind === 'not') {
    const { operand } = expression
    if (not !== '') return undefined
    if (operand.kind !== 'compare') return printExtended(operand, 'NOT ')
    return `${printOperand(operand.left)} ${NEGATED[operand.operator]} ${printOperand(operand.right)}`
  }
  if (expression.kind === 'or') {
    const compared = expression.operands.map((operand) => printSide(operand, '='))
    const [first] = compared
    if (first === undefined || compared.some((one) => one?.left !== first.left)) return undefined
    return `${first.left} ${not}IN (${compared.map((one) => one?.right).join(', ')})`
  }
  if (expression.kind !== 'and' || expression.operands.length !== 2) return undefined
  const [low, high] = expression.operands.map((operand, at) =>
    operand.kind === 'not' ? printSide(operand.operand, at === 0 ? '<' : '>') : undefined,
  )
  return low === undefined || high?.left !== low.left ? undefined : `${low.left} ${not}BETWEEN ${low.right} AND ${high.right}`
}

function printSide(expression: Expression, operator: string): { readonly left: string; readonly right: string } | undefined {
  if (expression.kind !== 'compare' || expression.operator !== operator) return undefined
  return { left: printOperand(expression.left), right: printOperand(expression.right) }
}

function printNegation(negation: Extract<Expression, { readonly kind: 'not' }>, style: PrintStyle): string {
  const { operand } = negation
  const hasOwnPlace = operand.kind === 'like' || operand.kind === 'isNull'
  return hasOwnPlace ? printPredicate(operand, 'NOT ') : `NOT ${printWithin(negation, operand, style)}`
}

/** Prints an operand of a condition, in parentheses if its precedence is lower. */
function printWithin(outer: Expression, inner: Expression, style: PrintStyle): string {
  const printed = printExpression(inner, style)
  return PRECEDENCE[inner.kind] < PRECEDENCE[outer.kind] ? `(${printed})` : printed
}

function printBoolean(value: boolean): string {
  return value ? 'TRUE' : 'FALSE'
}
