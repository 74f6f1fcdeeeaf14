/** Evaluates settled conditions on the values of rows, in the three-valued logic of SQL. */
import { unreachable } from '../util/unreachable.ts'
import type { AnyColumnType } from '../values/column-types.ts'
import type { Comparator } from './ast.ts'
import { typeOf } from './columns-of.ts'
import { holds } from './comparator.ts'
import type { ColumnRef, Condition, Term, Truth, ValueOf } from './condition.ts'
import { createMatcher, PatternFault } from './like.ts'

/** A question to a row: compiled once, asked of many. */
type CompiledCondition = (valueIn: ValueOf) => Truth

type Comparison = Extract<Condition, { readonly kind: 'compare' }>
type LikeCondition = Extract<Condition, { readonly kind: 'like' }>

/** Two values that are both there, compared. */
type Test = (left: unknown, right: unknown) => Truth

/**
 * Compiles a condition to a question that allocates nothing per row. The question throws `PatternFault` where the pattern of a LIKE
 * is a column and the row's own pattern ends in an escape of nothing.
 */
export function compileCondition(condition: Condition): CompiledCondition {
  switch (condition.kind) {
    case 'truth':
      return () => condition.truth
    case 'and':
      return combine(condition.conditions.map(compileCondition), false)
    case 'or':
      return combine(condition.conditions.map(compileCondition), true)
    case 'not':
      return inverse(compileCondition(condition.condition))
    case 'compare':
      return compareTerms(condition, testOf(condition))
    case 'like':
      return compareTerms(condition, likeTest(condition))
    case 'isNull':
      return (valueIn) => isAbsent(valueIn(condition.ref))
    case 'hasKey':
      return keyTest(condition.ref, condition.key)
    default:
      return unreachable(condition)
  }
}

/** AND is decided by the first false, OR by the first true; otherwise one unknown makes the whole unknown. */
function combine(parts: readonly CompiledCondition[], deciding: boolean): CompiledCondition {
  return (valueIn) => {
    let truth: Truth = !deciding
    for (const part of parts) {
      const result = part(valueIn)
      if (result === deciding) return deciding
      if (result === undefined) truth = undefined
    }
    return truth
  }
}

function inverse(condition: CompiledCondition): CompiledCondition {
  return (valueIn) => {
    const result = condition(valueIn)
    return result === undefined ? undefined : !result
  }
}

/** Puts both sides to the test, unknown where one is null. */
function compareTerms({ left, right }: { readonly left: Term; readonly right: Term }, test: Test): CompiledCondition {
  const readLeft = reader(left)
  if (right.kind === 'constant') {
    const { value } = right
    return (valueIn) => {
      const one = readLeft(valueIn)
      return isAbsent(one) ? undefined : test(one, value)
    }
  }
  const readRight = reader(right)
  return (valueIn) => {
    const one = readLeft(valueIn)
    const other = readRight(valueIn)
    return isAbsent(one) || isAbsent(other) ? undefined : test(one, other)
  }
}

function reader(term: Term): (valueIn: ValueOf) => unknown {
  if (term.kind === 'cell') return (valueIn) => valueIn(term.ref)
  return () => term.value
}

function isAbsent(value: unknown): boolean {
  return value === null || value === undefined
}

function testOf({ operator, left, right }: Comparison): Test {
  const type = typeOfTerm(left)
  if (type === typeOfTerm(right)) return orderTest(operator, (one, other) => type.compare(one, other))
  // An integer beside a float is compared as a double, as PostgreSQL does it.
  return orderTest(operator, (one, other) => Number(one) - Number(other))
}

function typeOfTerm(term: Term): AnyColumnType {
  return term.kind === 'cell' ? typeOf(term.ref) : term.type
}

function orderTest(operator: Comparator, compare: (left: unknown, right: unknown) => number | undefined): Test {
  return (left, right) => {
    const order = compare(left, right)
    return order === undefined ? undefined : holds(operator, order)
  }
}

function likeTest({ ignoresCase, right }: LikeCondition): Test {
  if (right.kind === 'constant' && typeof right.value === 'string') {
    const matches = createMatcher(right.value, ignoresCase)
    return (text) => (typeof text === 'string' ? matches(text) : undefined)
  }
  const matcherOf = matcherCache(ignoresCase)
  return (text, pattern) => (typeof text === 'string' && typeof pattern === 'string' ? matcherOf(pattern)(text) : undefined)
}

/** Characters a pattern that stands in a column may have: one in a query is bounded by the query's own length. */
const MAX_STORED_PATTERN_LENGTH = 4096
/** Compiled patterns kept at most: columns of patterns tend to hold few different ones. */
const MAX_CACHED_MATCHERS = 16

function matcherCache(ignoresCase: boolean): (pattern: string) => (text: string) => boolean {
  const known = new Map<string, (text: string) => boolean>()
  return (pattern) => {
    let matches = known.get(pattern)
    if (matches === undefined) {
      if (pattern.length > MAX_STORED_PATTERN_LENGTH)
        throw new PatternFault(`The pattern has more than ${MAX_STORED_PATTERN_LENGTH} characters. Shorten it.`)
      matches = createMatcher(pattern, ignoresCase)
      if (known.size >= MAX_CACHED_MATCHERS) known.clear()
      known.set(pattern, matches)
    }
    return matches
  }
}

/** Only objects have keys: not lists, not plain values. */
function keyTest(ref: ColumnRef, key: string): CompiledCondition {
  return (valueIn) => {
    const value = valueIn(ref)
    if (value === null || value === undefined) return undefined
    return typeof value === 'object' && !Array.isArray(value) && Object.hasOwn(value, key)
  }
}
