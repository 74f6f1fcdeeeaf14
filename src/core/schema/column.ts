/** Column definitions as plain JSON, and the builders that write them with their types kept. */
import type { Level } from '../redaction/levels.ts'
import type { MaskDefinition } from '../redaction/masks.ts'
import type { TokenFormatDefinition } from '../tokens/token-formats.ts'
import type { TokenKindName } from '../tokens/token-kind.ts'
import type { ColumnTypeName } from '../values/column-type.ts'
import type { Normaliser } from '../values/normalisers.ts'

/** A kind of token and what it needs to know; a kind that needs nothing may be given as its name alone. */
export type TokenDefinition =
  | 'random'
  | 'deterministic'
  | 'transient'
  /** A pointer at the cell. `stable` keeps the token when the value changes. */
  | { readonly kind: 'random'; readonly stable?: boolean }
  /** Equal values of the column, or of its group, have one token. */
  | { readonly kind: 'deterministic' }
  /** Value and token live apart from the record for this many minutes, 1 to 20160; 60 unless said. */
  | { readonly kind: 'transient'; readonly ttlMinutes?: number }
  /** Drawn at random in the form of the value, and remembered. `stable` keeps the token when the value changes. */
  | { readonly kind: 'formatPreserving'; readonly format: TokenFormatDefinition; readonly stable?: boolean }
  /** The value's own characters enciphered: equal values have one token, in the form of the value. */
  | { readonly kind: 'deterministicFormatPreserving'; readonly format: TokenFormatDefinition }

/** A token definition with every member named. */
export interface TokenSettings {
  readonly kind: TokenKindName | undefined
  readonly format: TokenFormatDefinition | undefined
  readonly ttlMinutes: number | undefined
  readonly stable: boolean | undefined
}

/** What a column says of its tokens, whichever way it was written. */
export function tokenOf({ token }: CommonOptions): TokenSettings {
  const given: Partial<TokenSettings> = typeof token === 'string' ? { kind: token } : (token ?? {})
  return { kind: given.kind, format: given.format, ttlMinutes: given.ttlMinutes, stable: given.stable }
}

/** Options every column takes. Source: semantics, "Schema". */
export interface CommonOptions {
  /** Null and absence on insert are refused. Default false. */
  readonly required?: boolean
  /**
   * No two records hold equal values; null may repeat. On an encrypted column it keeps a digest of each value. Before taking
   * it up on a column that has records, end the processes that have the vault open without it: they would write no digests.
   */
  readonly unique?: boolean
  /** Default true. False keeps the values plain, so that the engine can filter and aggregate them. */
  readonly encrypted?: boolean
  /** Indexes a plain column. */
  readonly index?: boolean
  /** Keeps a digest of each value of an encrypted column, so that equality can be looked up without opening every record. Take it up later as `unique`. */
  readonly searchable?: boolean
  /** What the level DEFAULT means for this column. REDACTED unless said. */
  readonly redaction?: Level
  /** How the column shows at the level MASKED; without one, MASKED shows as REDACTED. */
  readonly mask?: MaskDefinition
  /** The kind of token that stands in for values of this column; without one it has no tokens. */
  readonly token?: TokenDefinition
  /** Columns of one group have one scope: equal values in any of them have one digest, and one deterministic token. */
  readonly columnGroup?: string
}

/** Options of a STRING column. Lengths count code points. */
export interface StringOptions extends CommonOptions {
  /** RE2 pattern that the whole text must match. */
  readonly pattern?: string
  readonly maxLength?: number
  /** The only values allowed. */
  readonly oneOf?: readonly string[]
  /** Applied, in order, before the text is compared for uniqueness and look-up; the stored value stays as given. */
  readonly normalise?: readonly Normaliser[]
}

/** Options of an INTEGER column. */
export interface IntegerOptions extends CommonOptions {
  readonly oneOf?: readonly number[]
}

/** One column as plain JSON: its type and its options. */
export type ColumnDefinition =
  | ({ readonly type: 'STRING' } & StringOptions)
  | ({ readonly type: 'INTEGER' } & IntegerOptions)
  | ({ readonly type: Exclude<ColumnTypeName, 'STRING' | 'INTEGER'> } & CommonOptions)

/** The columns of one table by name. */
export type TableDefinition = Readonly<Record<string, ColumnDefinition>>

/** The tables of a vault by name. */
export type SchemaDefinition = Readonly<Record<string, TableDefinition>>

/** Makes a misspelt option a compile error, which a generic parameter alone would let pass. */
type Exactly<Given, Allowed> = Given & Readonly<Record<Exclude<keyof Given, keyof Allowed>, never>> & ExactToken<Given>

/** The same for the members of a token definition, each kind by its own. */
type ExactToken<Given> = Given extends { readonly token: infer Token extends { readonly kind: string } }
  ? {
      readonly token: Readonly<
        Record<Exclude<keyof Token, keyof Extract<TokenDefinition, { readonly kind: Token['kind'] }>>, never>
      >
    }
  : unknown

type Built<Type extends ColumnTypeName, Options> = { readonly type: Type } & Options

/** Copies a definition of one type with its options. */
function built<const Type extends ColumnTypeName, Options>(type: Type, options: Options | undefined): Built<Type, Options> {
  return { ...(options as Options), type }
}

/**
 * Builders of column definitions. Each answers the plain JSON form `{ type, ...options }`, so a schema built here and
 * one loaded from a file are the same thing. Values: `string` text; `integer` 64-bit; `float` finite doubles; `boolean`;
 * `date` `2026-01-31`; `time` `23:59:59.5`; `datetime` RFC 3339 with an offset; `json` any JSON but null; `array` a JSON list.
 */
export const column = {
  /** Text. */
  string: <const O extends StringOptions = Record<never, never>>(options?: Exactly<O, StringOptions>): Built<'STRING', O> =>
    built('STRING', options),
  /** A 64-bit integer; beyond 2^53 given and answered as decimal text. */
  integer: <const O extends IntegerOptions = Record<never, never>>(options?: Exactly<O, IntegerOptions>): Built<'INTEGER', O> =>
    built('INTEGER', options),
  /** A finite double. */
  float: <const O extends CommonOptions = Record<never, never>>(options?: Exactly<O, CommonOptions>): Built<'FLOAT', O> =>
    built('FLOAT', options),
  /** True or false. */
  boolean: <const O extends CommonOptions = Record<never, never>>(options?: Exactly<O, CommonOptions>): Built<'BOOL', O> =>
    built('BOOL', options),
  /** A calendar date, years 0001 to 9999. */
  date: <const O extends CommonOptions = Record<never, never>>(options?: Exactly<O, CommonOptions>): Built<'DATE', O> =>
    built('DATE', options),
  /** A time of day without an offset. */
  time: <const O extends CommonOptions = Record<never, never>>(options?: Exactly<O, CommonOptions>): Built<'TIME', O> =>
    built('TIME', options),
  /** An instant, given with its offset and answered in UTC. */
  datetime: <const O extends CommonOptions = Record<never, never>>(options?: Exactly<O, CommonOptions>): Built<'DATETIME', O> =>
    built('DATETIME', options),
  /** Any JSON value but null. */
  json: <const O extends CommonOptions = Record<never, never>>(options?: Exactly<O, CommonOptions>): Built<'JSON', O> =>
    built('JSON', options),
  /** A list of JSON values. */
  array: <const O extends CommonOptions = Record<never, never>>(options?: Exactly<O, CommonOptions>): Built<'ARRAY', O> =>
    built('ARRAY', options),
}
