/** The operators of conditions and their precedence, as data. */
import type { Comparator, Expression } from './ast.ts'

/** The words that join conditions, lowest precedence first. NOT has a higher precedence than both, a predicate the highest. */
export const CONNECTIVES = ['or', 'and'] as const

/** Precedence of each kind of condition. A condition inside one of higher precedence needs parentheses. */
export const PRECEDENCE: Readonly<Record<Expression['kind'], number>> = {
  or: 1,
  and: 2,
  not: 3,
  compare: 4,
  like: 4,
  isNull: 4,
  hasKey: 4,
  truth: 4,
}

/** The operator of a predicate. It has a left operand and, except for `isNull`, a right operand. */
export type Relation =
  | { readonly kind: 'compare'; readonly operator: Comparator }
  | { readonly kind: 'like'; readonly ignoresCase: boolean; readonly isNegated: boolean }
  | { readonly kind: 'isNull'; readonly isNegated: boolean }
  | { readonly kind: 'hasKey' }

/** Relations written as a symbol. */
export const SIGN_RELATIONS: ReadonlyMap<string, Relation> = new Map<string, Relation>([
  ['=', { kind: 'compare', operator: '=' }],
  ['<', { kind: 'compare', operator: '<' }],
  ['>', { kind: 'compare', operator: '>' }],
  ['?', { kind: 'hasKey' }],
])

/** Relations written as a word. */
export const WORD_RELATIONS: ReadonlyMap<string, Relation> = new Map<string, Relation>([
  ['like', { kind: 'like', ignoresCase: false, isNegated: false }],
  ['ilike', { kind: 'like', ignoresCase: true, isNegated: false }],
  ['isnull', { kind: 'isNull', isNegated: false }],
  ['notnull', { kind: 'isNull', isNegated: true }],
])
