/** The syntax tree of a condition, with the offset of every node, and its operators as data. Policies and queries share it. */
import { unreachable } from '../util/causes.ts'

/** A node with the offset of its first character, in UTF-16 units from 0. The offset becomes line and column when an error is printed. */
export interface Placed {
  readonly at: number
}

/** A column by name, in lower case: `name` or `table.name`. The table can be an alias. */
export interface ColumnIdentifier extends Placed {
  readonly kind: 'column'
  readonly table: string | undefined
  readonly name: string
}

/** A literal. A number keeps its spelling, including the sign, so that no digit is lost. */
export type Literal =
  | ({ readonly kind: 'text'; readonly text: string } & PlacedLiteral)
  | ({ readonly kind: 'number'; readonly text: string } & PlacedLiteral)
  | ({ readonly kind: 'boolean'; readonly value: boolean } & PlacedLiteral)
  | ({ readonly kind: 'null' } & PlacedLiteral)

interface PlacedLiteral extends Placed {
  /** The number of the parameter whose value this is. Absent for a literal that is written in the text. */
  readonly parameter?: number
}

/** The place of a value that is not in the text: `$1` is that of the first value. Queries have them, policy statements do not. */
export interface Parameter extends Placed {
  readonly kind: 'parameter'
  readonly number: number
}

/** One operand of an operator. */
export type Operand = ColumnIdentifier | Literal | Parameter

/** Operators that compare two operands. */
export type Comparator = '=' | '<' | '>'

/**
 * A condition. `a IS NOT NULL` is `not` of `isNull`; `a NOT LIKE b` is `not` of `like`. The operands of consecutive ANDs or ORs are one
 * flat list.
 */
export type Expression =
  | ({ readonly kind: 'and'; readonly operands: readonly Expression[] } & Placed)
  | ({ readonly kind: 'or'; readonly operands: readonly Expression[] } & Placed)
  | ({ readonly kind: 'not'; readonly operand: Expression } & Placed)
  | ({ readonly kind: 'compare'; readonly operator: Comparator; readonly left: Operand; readonly right: Operand } & Placed)
  | ({ readonly kind: 'like'; readonly ignoresCase: boolean; readonly left: Operand; readonly right: Operand } & Placed)
  | ({ readonly kind: 'isNull'; readonly operand: Operand } & Placed)
  /** `column ? 'key'`. */
  | ({ readonly kind: 'hasKey'; readonly operand: Operand; readonly key: Operand } & Placed)
  /** TRUE, FALSE or NULL as a whole condition; `undefined` is unknown. */
  | ({ readonly kind: 'truth'; readonly truth: boolean | undefined } & Placed)

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

/** The operator of a predicate. It has a left operand and, except for `isNull`, at least one right operand. */
export type Relation =
  | { readonly kind: 'compare'; readonly operator: Comparator; readonly isNegated: boolean }
  | { readonly kind: 'like'; readonly ignoresCase: boolean; readonly isNegated: boolean }
  | { readonly kind: 'isNull'; readonly isNegated: boolean }
  | { readonly kind: 'hasKey' }
  | { readonly kind: 'in'; readonly isNegated: boolean }
  | { readonly kind: 'between'; readonly isNegated: boolean }

/** Relations written as a symbol. */
export const SIGN_RELATIONS: ReadonlyMap<string, Relation> = new Map<string, Relation>([
  ['=', { kind: 'compare', operator: '=', isNegated: false }],
  ['<', { kind: 'compare', operator: '<', isNegated: false }],
  ['>', { kind: 'compare', operator: '>', isNegated: false }],
  ['?', { kind: 'hasKey' }],
])

/** Relations written as a word. */
export const WORD_RELATIONS: ReadonlyMap<string, Relation> = new Map<string, Relation>([
  ['like', { kind: 'like', ignoresCase: false, isNegated: false }],
  ['ilike', { kind: 'like', ignoresCase: true, isNegated: false }],
  ['isnull', { kind: 'isNull', isNegated: false }],
  ['notnull', { kind: 'isNull', isNegated: true }],
])

/**
 * Relations of the extensions of queries, by word or symbol. Each is parsed to what it means in the relations above: `a <= b` is `not` of
 * `a > b`, also where one of them is null.
 */
export const EXTENDED_RELATIONS: ReadonlyMap<string, Relation> = new Map<string, Relation>([
  ['<=', { kind: 'compare', operator: '>', isNegated: true }],
  ['>=', { kind: 'compare', operator: '<', isNegated: true }],
  ['<>', { kind: 'compare', operator: '=', isNegated: true }],
  ['!=', { kind: 'compare', operator: '=', isNegated: true }],
  ['in', { kind: 'in', isNegated: false }],
  ['between', { kind: 'between', isNegated: false }],
])

/** An operand that is no column. */
export type Constant = Literal | Parameter

/** Returns the condition with each literal and parameter replaced. All else is the same. */
export function replaceConstants(expression: Expression, replaced: (constant: Constant) => Constant): Expression {
  const inside = (operand: Expression): Expression => replaceConstants(operand, replaced)
  const operandOf = (operand: Operand): Operand => (operand.kind === 'column' ? operand : replaced(operand))
  switch (expression.kind) {
    case 'and':
    case 'or':
      return { ...expression, operands: expression.operands.map(inside) }
    case 'not':
      return { ...expression, operand: inside(expression.operand) }
    case 'compare':
    case 'like':
      return { ...expression, left: operandOf(expression.left), right: operandOf(expression.right) }
    case 'isNull':
      return { ...expression, operand: operandOf(expression.operand) }
    case 'hasKey':
      return { ...expression, operand: operandOf(expression.operand), key: operandOf(expression.key) }
    case 'truth':
      return expression
    default:
      return unreachable(expression)
  }
}

/** A condition that no AND, OR or NOT joins. */
export type Predicate = Exclude<Expression, { readonly kind: 'and' | 'or' | 'not' }>

/** The predicates of a condition, in the order of its text. */
export function predicatesIn(expression: Expression): readonly Predicate[] {
  switch (expression.kind) {
    case 'and':
    case 'or':
      return expression.operands.flatMap(predicatesIn)
    case 'not':
      return predicatesIn(expression.operand)
    default:
      return [expression]
  }
}

/** The operands of a predicate, from left to right. */
export function operandsOf(predicate: Predicate): readonly Operand[] {
  switch (predicate.kind) {
    case 'compare':
    case 'like':
      return [predicate.left, predicate.right]
    case 'isNull':
      return [predicate.operand]
    case 'hasKey':
      return [predicate.operand, predicate.key]
    case 'truth':
      return []
    default:
      return unreachable(predicate)
  }
}
