/** The meaning of the comparison operators. */
import { unreachable } from '../util/causes.ts'
import type { Comparator } from './ast.ts'

/** The operator to use when left and right are swapped. */
export const MIRRORED = { '=': '=', '<': '>', '>': '<' } as const

/** True if the operator is satisfied by two values whose comparison gave `order`: negative, zero or positive. */
export function satisfies(operator: Comparator, order: number): boolean {
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
