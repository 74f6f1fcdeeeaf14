/** Resolves conditions: names become columns, literals become typed values, and parts without columns are decided. */
import { say, words } from '../errors.ts'
import { unreachable } from '../util/unreachable.ts'
import { columnTypes } from '../values/column-types.ts'
import type { Expression } from './ast.ts'
import { allOf, anyOf, negate, truthOf, typeOf } from './columns-of.ts'
import type { Condition, Term } from './condition.ts'
import { createMatcher, endsInLoneEscape, PatternFault } from './like.ts'
import { settleComparison, termOf } from './settle-comparison.ts'
import { describe, mismatch, nameOf, type Scope, type Side, settleSide, UNKNOWN } from './side.ts'
import { TextFault } from './text-fault.ts'

/**
 * Returns the condition that an expression means. Throws `TextFault`: `type` for types that do not match, `range` for a number out of
 * range, `rule` for a column that cannot be used like this, and whatever `scope.column` throws.
 * A context attribute of the wrong type is not an error of the text: the comparison is unknown. With all attributes absent, only the text
 * is checked.
 */
export function resolveExpression(expression: Expression, scope: Scope): Condition {
  switch (expression.kind) {
    case 'and':
      return allOf(expression.operands.map((operand) => resolveExpression(operand, scope)))
    case 'or':
      return anyOf(expression.operands.map((operand) => resolveExpression(operand, scope)))
    case 'not':
      return negate(resolveExpression(expression.operand, scope))
    case 'truth':
      return truthOf(expression.truth)
    case 'compare':
      return settleComparison(expression.operator, settleSide(expression.left, scope), settleSide(expression.right, scope))
    case 'like':
      return resolveLike(expression.ignoresCase, settleSide(expression.left, scope), settleSide(expression.right, scope))
    case 'isNull':
      return resolveNullTest(settleSide(expression.operand, scope))
    case 'hasKey':
      return resolveKeyTest(settleSide(expression.operand, scope), settleSide(expression.key, scope))
    default:
      return unreachable(expression)
  }
}

function resolveNullTest(side: Side): Condition {
  return side.kind === 'cell' ? { kind: 'isNull', ref: side.ref } : truthOf(side.literal.kind === 'null')
}

/** LIKE requires strings. An invalid constant pattern throws here, not at the first row that reaches it. */
function resolveLike(ignoresCase: boolean, left: Side, right: Side): Condition {
  const [text, pattern] = [textTerm(left), textTerm(right)]
  if (text === undefined || pattern === undefined) {
    const culprit = text === undefined ? left : right
    const fault = new TextFault('type', say`LIKE requires text; ${describe(culprit)} is not text.`, culprit.at)
    return mismatch(fault, culprit)
  }
  if (text === 'null' || pattern === 'null') return UNKNOWN
  if (pattern.kind === 'constant' && typeof pattern.value === 'string') {
    const matcher = compiledPattern(pattern.value, ignoresCase, right)
    if (matcher instanceof TextFault) return mismatch(matcher, right)
    if (text.kind === 'constant' && typeof text.value === 'string') return truthOf(matcher(text.value))
  }
  return { kind: 'like', ignoresCase, left: text, right: pattern }
}

/** Compiles a constant pattern. Returns the error if the pattern is invalid. */
function compiledPattern(pattern: string, ignoresCase: boolean, { at }: Side): TextFault | ((text: string) => boolean) {
  if (endsInLoneEscape(pattern))
    return new TextFault('rule', say`This pattern ends in a backslash that escapes nothing. Write two for a backslash.`, at)
  try {
    return createMatcher(pattern, ignoresCase)
  } catch (error) {
    if (error instanceof PatternFault) return new TextFault('limit', words(error.message), at)
    throw error
  }
}

/** The operand as a string term, or undefined if it has another type. */
function textTerm(side: Side): Term | 'null' | undefined {
  if (side.kind === 'cell') return typeOf(side.ref) === columnTypes.STRING ? termOf(side) : undefined
  if (side.literal.kind === 'null') return 'null'
  return side.literal.kind === 'text' ? { kind: 'constant', value: side.literal.text, type: columnTypes.STRING } : undefined
}

/** `column ? 'key'`, for sealed JSON columns only. Source: docs/sql.md. */
function resolveKeyTest(side: Side, key: Side): Condition {
  if (side.kind === 'constant' || typeOf(side.ref) !== columnTypes.JSON) {
    throw new TextFault('type', say`The operator ? requires a JSON column; ${describe(side)} is not one.`, side.at)
  }
  const { ref } = side
  if (ref.column?.plain !== undefined) {
    throw new TextFault('rule', say`The operator ? requires an encrypted JSON column; ${nameOf(ref)} is plain.`, side.at)
  }
  if (key.kind === 'cell') throw new TextFault('type', say`The key after ? must be a string.`, key.at)
  if (key.literal.kind === 'null') return UNKNOWN
  if (key.literal.kind === 'text') return { kind: 'hasKey', ref, key: key.literal.text }
  return mismatch(new TextFault('type', say`The key after ? must be a string.`, key.at), key)
}
