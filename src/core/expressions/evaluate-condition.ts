/** Evaluates resolved conditions on the values of rows, with the three-valued logic of SQL. */
import { unreachable } from '../util/causes.ts'
import type { AnyColumnType } from '../values/column-types.ts'
import { numberComparison } from '../values/decimal-type.ts'
import type { Comparator } from './ast.ts'
import { type ColumnRef, type Condition, satisfies, type Term, type Truth, typeOf, type ValueOf } from './condition.ts'
import { createMatcher, createSuspendingMatcher, PatternError } from './like.ts'

/** A condition compiled once and evaluated on many rows. */
type CompiledCondition = (valueIn: ValueOf) => Truth

type Comparison = Extract<Condition, { readonly kind: 'compare' }>
type LikeCondition = Extract<Condition, { readonly kind: 'like' }>

/** How a condition makes its matchers of LIKE. */
type Matching = (pattern: string, ignoresCase: boolean) => (text: string) => boolean

/** Compiles a condition that throws `LongMatch` where a LIKE would hold the event loop. It is evaluated again after the steps of that. */
export function compileSuspending(condition: Condition): CompiledCondition {
  return compileCondition(condition, createSuspendingMatcher)
}

/** Compares two values that are not null. */
type Test = (left: unknown, right: unknown) => Truth

/**
 * Compiles a condition. The result allocates nothing per row. It throws `PatternError` if a LIKE pattern read from a column ends in a lone
 * backslash or is too long.
 */
export function compileCondition(condition: Condition, matching: Matching = createMatcher): CompiledCondition {
  const compile = (part: Condition): CompiledCondition => compileCondition(part, matching)
  switch (condition.kind) {
    case 'truth':
      return () => condition.truth
    case 'and':
      return combine(condition.conditions.map(compile), false)
    case 'or':
      return combine(condition.conditions.map(compile), true)
    case 'not':
      return inverse(compile(condition.condition))
    case 'compare':
      return compareTerms(condition, testOf(condition))
    case 'like':
      return compareTerms(condition, likeTest(condition, matching))
    case 'isNull':
      return (valueIn) => isAbsent(valueIn(condition.ref))
    case 'hasKey':
      return keyTest(condition.ref, condition.key)
    default:
      return unreachable(condition)
  }
}

/** AND ends at the first false, OR at the first true. Otherwise one unknown makes the result unknown. */
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

/** Compares two terms. The result is unknown if one is null. */
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
  const [type, other] = [typeOfTerm(left), typeOfTerm(right)]
  return orderTest(operator, type === other ? type.compare : numberComparison(type, other))
}

function typeOfTerm(term: Term): AnyColumnType {
  return term.kind === 'cell' ? typeOf(term.ref) : term.type
}

function orderTest(operator: Comparator, compare: (left: unknown, right: unknown) => number | undefined): Test {
  return (left, right) => {
    const order = compare(left, right)
    return order === undefined ? undefined : satisfies(operator, order)
  }
}

function likeTest({ ignoresCase, right }: LikeCondition, matching: Matching): Test {
  if (right.kind === 'constant' && typeof right.value === 'string') {
    const matches = matching(right.value, ignoresCase)
    return (text) => (typeof text === 'string' ? matches(text) : undefined)
  }
  const matcherOf = matcherCache(ignoresCase, matching)
  return (text, pattern) => (typeof text === 'string' && typeof pattern === 'string' ? matcherOf(pattern)(text) : undefined)
}

/** Maximum length of a pattern read from a column, in UTF-16 units. The query length limits patterns written in a query. */
const MAX_STORED_PATTERN_LENGTH = 4096
/** Maximum number of cached compiled patterns. Pattern columns usually hold few different patterns. */
const MAX_CACHED_MATCHERS = 16

function matcherCache(ignoresCase: boolean, matching: Matching): (pattern: string) => (text: string) => boolean {
  const known = new Map<string, (text: string) => boolean>()
  return (pattern) => {
    let matches = known.get(pattern)
    if (matches === undefined) {
      if (pattern.length > MAX_STORED_PATTERN_LENGTH)
        throw new PatternError(`The pattern has more than ${MAX_STORED_PATTERN_LENGTH} characters. Shorten it.`)
      matches = matching(pattern, ignoresCase)
      if (known.size >= MAX_CACHED_MATCHERS) known.clear()
      known.set(pattern, matches)
    }
    return matches
  }
}

/** True only for objects that have the key. Arrays and other values have no keys. */
function keyTest(ref: ColumnRef, key: string): CompiledCondition {
  return (valueIn) => {
    const value = valueIn(ref)
    if (value === null || value === undefined) return undefined
    return typeof value === 'object' && !Array.isArray(value) && Object.hasOwn(value, key)
  }
}
