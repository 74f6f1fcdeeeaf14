/** The law every token kind obeys. */

/** The kinds a column can name. */
export type TokenKindName = 'random'

/** How tokens of one kind come to be and die. */
export interface TokenKind {
  readonly name: TokenKindName
  /** True when the token is a pointer to the cell, checked by a stamp kept in the sealed body, and so takes no storage. */
  readonly pointer: boolean
  /** Bytes of luck one stamp takes. */
  readonly stampBytes: number
}
