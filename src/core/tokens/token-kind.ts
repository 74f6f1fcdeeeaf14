/** The contract of every token kind: its options, what a cell stores for its token, and how tokens that are not stored are derived from values. */
import type { KeyRing } from '../ports/crypto.ts'
import type { OptionShape } from '../util/options.ts'
import type { TokenFormat } from './token-format.ts'
import type { TokenFormatDefinition } from './token-formats.ts'

/** Every token kind by its name in a schema, as the compiler knows it: the members of the kind that decide types, and its options. */
export interface TokenKindTypes {
  /** A pointer to the cell. With `stable`, a changed value keeps its token. */
  readonly random: { isDeterministic: false; expires: false; options: { readonly stable?: boolean } }
  /** Equal values of the column, or of its column group, have one token. */
  readonly deterministic: { isDeterministic: true; expires: false; options: NoTokenOptions }
  /** Value and token are stored outside the record and expire. `ttlMinutes` is from 1 to 20160, default 60. */
  readonly transient: { isDeterministic: false; expires: true; options: { readonly ttlMinutes?: number } }
  /** Drawn at random in a format, and stored. With `stable`, a changed value keeps its token. */
  readonly formatPreserving: {
    isDeterministic: false
    expires: false
    options: { readonly format: TokenFormatDefinition; readonly stable?: boolean; readonly whenRefused?: WhenRefused }
  }
  /** The characters of the value encrypted in a format: equal values have one token. */
  readonly deterministicFormatPreserving: {
    isDeterministic: true
    expires: false
    options: { readonly format: TokenFormatDefinition; readonly whenRefused?: WhenRefused }
  }
}

/** What becomes of a value that the format refuses: the write fails, or the value is stored without a token. Default `fail`. */
export type WhenRefused = 'fail' | 'noToken'

/** The options of a kind that has none. */
export type NoTokenOptions = Record<never, never>

/** Names of token kinds in a schema. */
export type TokenKindName = keyof TokenKindTypes

/** A token kind with its options. A kind without required options can be given by name. */
export type TokenDefinition<Name extends TokenKindName = TokenKindName> = Name extends TokenKindName
  ?
      | ({ readonly kind: Name } & TokenKindTypes[Name]['options'])
      | (NoTokenOptions extends TokenKindTypes[Name]['options'] ? Name : never)
  : never

/** The key and the format of derived tokens. */
export interface Derivation {
  readonly ring: KeyRing
  /** Of the root key. */
  readonly version: number
  /** The digest scope of the column. Columns of one group share it. */
  readonly scope: string
  readonly format: TokenFormat | undefined
}

/** The values from which tokens are derived, in order. A kind asks for what it needs of them. */
export interface DerivedFrom {
  /** Returns the digest of each value in the scope, DIGEST_BYTES long. */
  digests(): readonly Uint8Array[]
  /** Returns each value as text. */
  texts(): readonly string[]
}

/** What is recovered from a derived token: the digest of a value, or the value itself as text. */
export type Recovered =
  | { readonly kind: 'digest'; readonly digest: Uint8Array }
  | { readonly kind: 'text'; readonly shown: string }

/** One token kind. */
export interface TokenKind<Name extends TokenKindName = TokenKindName> {
  readonly name: Name
  /** The shapes of its options in the definition of a column, by name. */
  readonly options: Readonly<Record<keyof TokenKindTypes[Name]['options'], OptionShape>>
  /**
   * What the cell stores: a token check if the token is a pointer to the cell; the `text` of the token if it was drawn or
   * supplied; `nothing` if the token is derived from the value.
   */
  readonly keeps: 'check' | 'text' | 'nothing'
  /** True if equal values of one scope have one token, so that tokenize works without a record. */
  readonly isDeterministic: TokenKindTypes[Name]['isDeterministic']
  /** True if value and token are stored outside the record and expire. */
  readonly expires: TokenKindTypes[Name]['expires']
  /** True if the definition of the column must name a token format. */
  readonly hasFormat: boolean
  /** Returns why this kind cannot use this format, as a clause; undefined if it can. */
  formatProblem(format: TokenFormat): string | undefined
  /** Throws `TokenFormatError` for a value that cannot have a token of this kind and format. `text` is the value as text. */
  assertValue(format: TokenFormat | undefined, text: string): void
  /** Returns the token of each value, in order; undefined for a value that cannot have one. Called only if `keeps` is `nothing`. */
  derive(from: Derivation, values: DerivedFrom): (string | undefined)[]
  /** Returns what each text means as a token of this kind, in order; undefined for a text that cannot be one. Called only if `keeps` is `nothing`. */
  recover(from: Derivation, texts: readonly string[]): (Recovered | undefined)[]
}

/** Members for kinds whose cells store a token check or text: nothing is derived, and a text alone does not show its kind. */
export const NO_DERIVATION: Pick<TokenKind, 'derive' | 'recover' | 'formatProblem' | 'assertValue'> = {
  derive: (_from, values) => values.texts().map(() => ''),
  recover: (_from, texts) => texts.map(() => undefined),
  formatProblem: () => undefined,
  assertValue: () => {},
}
