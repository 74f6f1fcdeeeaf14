/** What the comparing operators mean. */
import { unreachable } from '../util/unreachable.ts'
import type { Comparator } from './ast.ts'

/** Each operator with its sides changed over. */
export const MIRRORED = { '=': '=', '<': '>', '>': '<' } as const

/** Whether an operator holds of two values that compare so: negative, zero or positive. */
export function holds(operator: Comparator, order: number): boolean {
  switch (operator) {
    case '=':
      return order === 0
    case '<':
      return order < 0
    case '>':
      return order > 0
    default:
      return unreachable(operator)
  }
}
