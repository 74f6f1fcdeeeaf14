/** The operators of conditions as data: which there are, and which binds tighter. */
import type { Comparator, Expression } from './ast.ts'

/** The words that join conditions, loosest first. NOT binds tighter than both, a predicate tightest. */
export const CONNECTIVES = ['or', 'and'] as const

/** How tightly each kind of condition holds together; inside a tighter one a looser one stands in parentheses. */
export const TIGHTNESS: Readonly<Record<Expression['kind'], number>> = {
  or: 1,
  and: 2,
  not: 3,
  compare: 4,
  like: 4,
  isNull: 4,
  hasKey: 4,
  truth: 4,
}

/** What an operator says of the operand before it and, but for `isNull`, of the one after it. */
export type Relation =
  | { readonly kind: 'compare'; readonly operator: Comparator }
  | { readonly kind: 'like'; readonly ignoresCase: boolean; readonly isNegated: boolean }
  | { readonly kind: 'isNull'; readonly isNegated: boolean }
  | { readonly kind: 'hasKey' }

/** Relations written as one sign. */
export const SIGN_RELATIONS: ReadonlyMap<string, Relation> = new Map<string, Relation>([
  ['=', { kind: 'compare', operator: '=' }],
  ['<', { kind: 'compare', operator: '<' }],
  ['>', { kind: 'compare', operator: '>' }],
  ['?', { kind: 'hasKey' }],
])

/** Relations written as one word. */
export const WORD_RELATIONS: ReadonlyMap<string, Relation> = new Map<string, Relation>([
  ['like', { kind: 'like', ignoresCase: false, isNegated: false }],
  ['ilike', { kind: 'like', ignoresCase: true, isNegated: false }],
  ['isnull', { kind: 'isNull', isNegated: false }],
  ['notnull', { kind: 'isNull', isNegated: true }],
])
