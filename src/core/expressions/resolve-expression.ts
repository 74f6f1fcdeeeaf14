/** Resolves conditions: names become columns, literals become typed values, and parts without columns are decided. */
import { say, words } from '../errors.ts'
import { unreachable } from '../util/causes.ts'
import { columnTypes } from '../values/column-types.ts'
import type { Expression } from './ast.ts'
import { allOf, anyOf, type Condition, negate, type Term, truthOf, typeOf } from './condition.ts'
import { LanguageError } from './language-error.ts'
import { createMatcher, endsInLoneEscape, PatternError } from './like.ts'
import {
  describe,
  mismatch,
  type NameResolver,
  nameOf,
  type ResolvedOperand,
  resolveComparison,
  resolveOperand,
  termOf,
  UNKNOWN,
} from './resolve-comparison.ts'

/**
 * Returns the condition that an expression means. Throws `LanguageError`: `type` for types that do not match, `range` for a number out of
 * range, `rule` for a column that cannot be used like this, and whatever `resolver.column` throws.
 * A context attribute of the wrong type is not an error of the text: the comparison is unknown. With all attributes absent, only the text
 * is checked.
 */
export function resolveExpression(expression: Expression, resolver: NameResolver): Condition {
  switch (expression.kind) {
    case 'and':
      return allOf(expression.operands.map((operand) => resolveExpression(operand, resolver)))
    case 'or':
      return anyOf(expression.operands.map((operand) => resolveExpression(operand, resolver)))
    case 'not':
      return negate(resolveExpression(expression.operand, resolver))
    case 'truth':
      return truthOf(expression.truth)
    case 'compare':
      return resolveComparison(
        expression.operator,
        resolveOperand(expression.left, resolver),
        resolveOperand(expression.right, resolver),
      )
    case 'like':
      return resolveLike(
        expression.ignoresCase,
        resolveOperand(expression.left, resolver),
        resolveOperand(expression.right, resolver),
      )
    case 'isNull':
      return resolveNullTest(resolveOperand(expression.operand, resolver))
    case 'hasKey':
      return resolveKeyTest(resolveOperand(expression.operand, resolver), resolveOperand(expression.key, resolver))
    default:
      return unreachable(expression)
  }
}

function resolveNullTest(operand: ResolvedOperand): Condition {
  if (operand.kind === 'cell') return { kind: 'isNull', ref: operand.ref }
  return operand.isUnusable ? UNKNOWN : truthOf(operand.literal.kind === 'null')
}

/** LIKE requires strings. An invalid constant pattern throws here, not at the first row that reaches it. */
function resolveLike(ignoresCase: boolean, left: ResolvedOperand, right: ResolvedOperand): Condition {
  const [text, pattern] = [textTerm(left), textTerm(right)]
  if (text === undefined || pattern === undefined) {
    const culprit = text === undefined ? left : right
    const fault = new LanguageError('type', say`LIKE requires text; ${describe(culprit)} is not text.`, culprit.at)
    return mismatch(fault, culprit)
  }
  if (text === 'null' || pattern === 'null') return UNKNOWN
  if (pattern.kind === 'constant' && typeof pattern.value === 'string') {
    const matcher = compiledPattern(pattern.value, ignoresCase, right)
    if (matcher instanceof LanguageError) return mismatch(matcher, right)
    if (text.kind === 'constant' && typeof text.value === 'string') return truthOf(matcher(text.value))
  }
  return { kind: 'like', ignoresCase, left: text, right: pattern }
}

/** Compiles a constant pattern. Returns the error if the pattern is invalid. */
function compiledPattern(
  pattern: string,
  ignoresCase: boolean,
  { at }: ResolvedOperand,
): LanguageError | ((text: string) => boolean) {
  if (endsInLoneEscape(pattern))
    return new LanguageError('rule', say`This pattern ends in a backslash that escapes nothing. Write two for a backslash.`, at)
  try {
    return createMatcher(pattern, ignoresCase)
  } catch (error) {
    if (error instanceof PatternError) return new LanguageError('limit', words(error.message), at)
    throw error
  }
}

/** The operand as a string term, or undefined if it has another type. */
function textTerm(operand: ResolvedOperand): Term | 'null' | undefined {
  if (operand.kind === 'cell') return typeOf(operand.ref).isText === true ? termOf(operand) : undefined
  if (operand.literal.kind === 'null') return 'null'
  return operand.literal.kind === 'text' ? { kind: 'constant', value: operand.literal.text, type: columnTypes.STRING } : undefined
}

/** `column ? 'key'`, for sealed JSON columns only. Source: docs/sql.md. */
function resolveKeyTest(operand: ResolvedOperand, key: ResolvedOperand): Condition {
  if (operand.kind === 'constant' || typeOf(operand.ref).hasKeys !== true) {
    throw new LanguageError('type', say`The operator ? requires a JSON column; ${describe(operand)} is not one.`, operand.at)
  }
  const { ref } = operand
  if (ref.column?.plain !== undefined) {
    throw new LanguageError('rule', say`The operator ? requires an encrypted JSON column; ${nameOf(ref)} is plain.`, operand.at)
  }
  if (key.kind === 'cell') throw new LanguageError('type', say`The key after ? must be a string.`, key.at)
  if (key.literal.kind === 'null') return UNKNOWN
  if (key.literal.kind === 'text') return { kind: 'hasKey', ref, key: key.literal.text }
  return mismatch(new LanguageError('type', say`The key after ? must be a string.`, key.at), key)
}
