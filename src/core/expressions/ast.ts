/** The syntax tree of a condition, with the offset of every node. Policies and queries share it. */

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
