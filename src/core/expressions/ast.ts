/** The tree of a condition as it was written, with the place of everything that may be wrong. Policies and queries share it. */

/** Offset of a node's first character in its text, in UTF-16 units. Turned into line and column only when an error is printed. */
export interface Placed {
  readonly at: number
}

/** A column by name, in lower case: `name`, or `table.name` where the table may be an alias. */
export interface ColumnName extends Placed {
  readonly kind: 'column'
  readonly table: string | undefined
  readonly name: string
}

/** A literal. A number keeps its spelling, sign included, so that no digit is lost. */
export type Literal =
  | ({ readonly kind: 'text'; readonly text: string } & Placed)
  | ({ readonly kind: 'number'; readonly text: string } & Placed)
  | ({ readonly kind: 'boolean'; readonly value: boolean } & Placed)
  | ({ readonly kind: 'null' } & Placed)

/** What stands on a side of an operator. */
export type Operand = ColumnName | Literal

/** Operators that compare two operands. */
export type Comparator = '=' | '<' | '>'

/** A condition. `a IS NOT NULL` is `not` of `isNull`, `a NOT LIKE b` is `not` of `like`; chains of AND and of OR are one flat list. */
export type Expression =
  | ({ readonly kind: 'and'; readonly operands: readonly Expression[] } & Placed)
  | ({ readonly kind: 'or'; readonly operands: readonly Expression[] } & Placed)
  | ({ readonly kind: 'not'; readonly operand: Expression } & Placed)
  | ({ readonly kind: 'compare'; readonly operator: Comparator; readonly left: Operand; readonly right: Operand } & Placed)
  | ({ readonly kind: 'like'; readonly ignoresCase: boolean; readonly left: Operand; readonly right: Operand } & Placed)
  | ({ readonly kind: 'isNull'; readonly operand: Operand } & Placed)
  /** `column ? 'key'`. */
  | ({ readonly kind: 'hasKey'; readonly operand: Operand; readonly key: Operand } & Placed)
  /** TRUE, FALSE or NULL standing alone; `undefined` is unknown. */
  | ({ readonly kind: 'truth'; readonly truth: boolean | undefined } & Placed)
