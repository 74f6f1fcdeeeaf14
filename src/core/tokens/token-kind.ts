/** The law every token kind obeys: what a cell keeps for its token, and how a token that nothing is kept for is told from the value. */
import type { KeyRing } from '../ports/keys.ts'
import type { TokenFormat } from './token-format.ts'

/** The kinds a column can name. */
export type TokenKindName = 'random' | 'deterministic' | 'formatPreserving' | 'deterministicFormatPreserving' | 'transient'

/** Where a derived token's key and form come from. */
export interface Derivation {
  readonly ring: KeyRing
  /** The column's scope: columns of one group share it. */
  readonly scope: string
  readonly format: TokenFormat | undefined
}

/** A value as a derived token is made of it. */
export interface DerivedFrom {
  /** Digest of the value under the scope, DIGEST_BYTES. */
  readonly digest: Uint8Array
  /** The value as text. */
  readonly shown: string
}

/** What a derived token leads back to: the digest of a value, or the value itself as text. */
export type Trace = { readonly kind: 'digest'; readonly digest: Uint8Array } | { readonly kind: 'text'; readonly shown: string }

/** How the tokens of one kind come to be and die. */
export interface TokenKind {
  readonly name: TokenKindName
  /**
   * What the cell keeps: a `stamp`, when the token is a pointer at the cell; the token's own `text`, when it was drawn or
   * brought; `nothing`, when the token can be told from the value again.
   */
  readonly keeps: 'stamp' | 'text' | 'nothing'
  /** True when equal values of one scope have one token, and so can be asked for it. */
  readonly isDeterministic: boolean
  /** True when value and token live apart from the record, until a time. */
  readonly expires: boolean
  /** True when tokens have the form of values, and the column's definition must say which. */
  readonly hasFormat: boolean
  /** Why this format will not do for this kind, as a clause; undefined when it will. */
  formatFault(format: TokenFormat): string | undefined
  /** Throws `TokenFault` for a value that can have no token of this kind and format. */
  assertValue(format: TokenFormat | undefined, shown: string): void
  /** The token of each value. Only where nothing is kept. */
  derive(from: Derivation, values: readonly DerivedFrom[]): string[]
  /** What each text would stand for if it were a token of this kind; undefined where it cannot be one. Only where nothing is kept. */
  trace(from: Derivation, texts: readonly string[]): (Trace | undefined)[]
}

/** For kinds whose cells keep a mark: nothing is derived, and no text can be told to be theirs by itself. */
export const NOT_DERIVED: Pick<TokenKind, 'derive' | 'trace' | 'formatFault' | 'assertValue'> = {
  derive: (_from, values) => values.map(() => ''),
  trace: (_from, texts) => texts.map(() => undefined),
  formatFault: () => undefined,
  assertValue: () => {},
}
