/** Settles conditions: names become columns, literals values of the type they stand beside, and what needs no row is decided. */
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
 * The condition that an expression means. Throws TextFault: `type` for what does not go together, `range` for a number no value
 * comes near, `rule` for a column that cannot be asked this, and whatever `scope.column` throws. A fact of the context that does not
 * go with its column is no fault of the text: the comparison is unknown. With every fact missing the text alone is checked.
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

/** LIKE is about texts. A pattern that cannot be read to its end is refused, as no match could be told from a fault. */
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

/** The matcher of a pattern that is written down, or what is wrong with it: better now than at some row. */
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

/** The side as a text; undefined where it is of another type. */
function textTerm(side: Side): Term | 'null' | undefined {
  if (side.kind === 'cell') return typeOf(side.ref) === columnTypes.STRING ? termOf(side) : undefined
  if (side.literal.kind === 'null') return 'null'
  return side.literal.kind === 'text' ? { kind: 'constant', value: side.literal.text, type: columnTypes.STRING } : undefined
}

/** `column ? 'key'`. Source: semantics, "Query": for encrypted JSON columns only. */
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
