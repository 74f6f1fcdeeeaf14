/** Evaluates settled conditions on the values of rows, in the three-valued logic of SQL. */
import { unreachable } from '../util/unreachable.ts'
import type { AnyColumnType } from '../values/column-types.ts'
import type { Comparator } from './ast.ts'
import { typeOf } from './columns-of.ts'
import { holds } from './comparator.ts'
import type { ColumnRef, Condition, Term, Truth, ValueOf } from './condition.ts'
import { createMatcher, PatternFault } from './like.ts'

/** A question to a row: compiled once, asked of many. */
type Question = (valueIn: ValueOf) => Truth

type Comparison = Extract<Condition, { readonly kind: 'compare' }>
type Likeness = Extract<Condition, { readonly kind: 'like' }>

/** Two values that are both there, compared. */
type Test = (left: unknown, right: unknown) => Truth

/**
 * Compiles a condition to a question that allocates nothing per row. The question throws `PatternFault` where the pattern of a LIKE
 * is a column and the row's own pattern ends in an escape of nothing.
 */
export function compileCondition(condition: Condition): Question {
  switch (condition.kind) {
    case 'truth':
      return () => condition.truth
    case 'and':
      return chain(condition.conditions.map(compileCondition), false)
    case 'or':
      return chain(condition.conditions.map(compileCondition), true)
    case 'not':
      return inverse(compileCondition(condition.condition))
    case 'compare':
      return between(condition, testOf(condition))
    case 'like':
      return between(condition, likenessTest(condition))
    case 'isNull':
      return (valueIn) => isNone(valueIn(condition.ref))
    case 'hasKey':
      return keyTest(condition.ref, condition.key)
    default:
      return unreachable(condition)
  }
}

/** AND is decided by the first false, OR by the first true; otherwise one unknown makes the whole unknown. */
function chain(questions: readonly Question[], deciding: boolean): Question {
  return (valueIn) => {
    let truth: Truth = !deciding
    for (const question of questions) {
      const answer = question(valueIn)
      if (answer === deciding) return deciding
      if (answer === undefined) truth = undefined
    }
    return truth
  }
}

function inverse(question: Question): Question {
  return (valueIn) => {
    const answer = question(valueIn)
    return answer === undefined ? undefined : !answer
  }
}

/** Puts both sides to the test, unknown where one is null. */
function between({ left, right }: { readonly left: Term; readonly right: Term }, test: Test): Question {
  const readLeft = reader(left)
  if (right.kind === 'constant') {
    const { value } = right
    return (valueIn) => {
      const one = readLeft(valueIn)
      return isNone(one) ? undefined : test(one, value)
    }
  }
  const readRight = reader(right)
  return (valueIn) => {
    const one = readLeft(valueIn)
    const other = readRight(valueIn)
    return isNone(one) || isNone(other) ? undefined : test(one, other)
  }
}

function reader(term: Term): (valueIn: ValueOf) => unknown {
  if (term.kind === 'cell') return (valueIn) => valueIn(term.ref)
  return () => term.value
}

function isNone(value: unknown): boolean {
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

function likenessTest({ ignoresCase, right }: Likeness): Test {
  if (right.kind === 'constant' && typeof right.value === 'string') {
    const matches = createMatcher(right.value, ignoresCase)
    return (text) => (typeof text === 'string' ? matches(text) : undefined)
  }
  const matcherOf = matcherCache(ignoresCase)
  return (text, pattern) => (typeof text === 'string' && typeof pattern === 'string' ? matcherOf(pattern)(text) : undefined)
}

/** Characters a pattern that stands in a column may have: one in a query is bounded by the query's own length. */
const LONGEST_STORED_PATTERN = 4096
/** Compiled patterns kept at most: columns of patterns tend to hold few different ones. */
const MOST_MATCHERS = 16

function matcherCache(ignoresCase: boolean): (pattern: string) => (text: string) => boolean {
  const known = new Map<string, (text: string) => boolean>()
  return (pattern) => {
    let matches = known.get(pattern)
    if (matches === undefined) {
      if (pattern.length > LONGEST_STORED_PATTERN)
        throw new PatternFault(`The pattern has more than ${LONGEST_STORED_PATTERN} characters. Shorten it.`)
      matches = createMatcher(pattern, ignoresCase)
      if (known.size >= MOST_MATCHERS) known.clear()
      known.set(pattern, matches)
    }
    return matches
  }
}

/** Only objects have keys: not lists, not plain values. */
function keyTest(ref: ColumnRef, key: string): Question {
  return (valueIn) => {
    const value = valueIn(ref)
    if (value === null || value === undefined) return undefined
    return typeof value === 'object' && !Array.isArray(value) && Object.hasOwn(value, key)
  }
}
