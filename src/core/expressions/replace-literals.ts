/** Replaces the texts and numbers of a condition. */
import { unreachable } from '../util/unreachable.ts'
import type { Expression, Literal, Operand } from './ast.ts'

/** A literal that is a text or a number. */
export type ReplaceableLiteral = Extract<Literal, { readonly kind: 'text' | 'number' }>

/** Returns the condition with each text and number replaced. All else is the same. */
export function replaceLiterals(
  expression: Expression,
  replaced: (literal: ReplaceableLiteral) => ReplaceableLiteral,
): Expression {
  const inside = (operand: Expression): Expression => replaceLiterals(operand, replaced)
  const operandOf = (operand: Operand): Operand =>
    operand.kind === 'text' || operand.kind === 'number' ? replaced(operand) : operand
  switch (expression.kind) {
    case 'and':
    case 'or':
      return { ...expression, operands: expression.operands.map(inside) }
    case 'not':
      return { ...expression, operand: inside(expression.operand) }
    case 'compare':
    case 'like':
      return { ...expression, left: operandOf(expression.left), right: operandOf(expression.right) }
    case 'isNull':
      return { ...expression, operand: operandOf(expression.operand) }
    case 'hasKey':
      return { ...expression, operand: operandOf(expression.operand), key: operandOf(expression.key) }
    case 'truth':
      return expression
    default:
      return unreachable(expression)
  }
}
