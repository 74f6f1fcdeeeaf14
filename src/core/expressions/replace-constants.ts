/** Replaces the literals and parameters of a condition. */
import { unreachable } from '../util/causes.ts'
import type { Expression, Literal, Operand, Parameter } from './ast.ts'

/** An operand that is no column. */
export type Constant = Literal | Parameter

/** Returns the condition with each literal and parameter replaced. All else is the same. */
export function replaceConstants(expression: Expression, replaced: (constant: Constant) => Constant): Expression {
  const inside = (operand: Expression): Expression => replaceConstants(operand, replaced)
  const operandOf = (operand: Operand): Operand => (operand.kind === 'column' ? operand : replaced(operand))
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
