/** Column definitions as plain JSON, and typed builders for them. */
import type { MaskDefinition, RedactionLevel } from '../redaction.ts'
import type { TokenDefinition, TokenKindName, TokenKindTypes } from '../tokens/token-kind.ts'
import { tokenKinds } from '../tokens/token-kinds.ts'
import { readInput } from '../util/boundary.ts'
import type { ColumnTypeName, ValueTypes } from '../values/column-type.ts'
import { type AnyColumnType, columnTypes } from '../values/column-types.ts'
import { decimalType } from '../values/decimal-type.ts'
import { fileType } from '../values/file-type.ts'
import type { Normalizer } from '../values/normalizers.ts'

/** The options of all token kinds: a definition has those of its kind. */
type AnyTokenOptions = UnionToIntersection<TokenKindTypes[TokenKindName]['options']>

/** Members of any of the types of a union. */
type UnionToIntersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never

/** A token definition as an object. */
export type TokenSettings = { readonly kind?: TokenKindName } & Partial<AnyTokenOptions>

/** Returns the token definition of a column as an object, also of one that is given by name. Without members if the column has no tokens. */
export function tokenOf({ token }: Pick<CommonOptions, 'token'>): TokenSettings {
  return typeof token === 'string' ? { kind: token } : (token ?? {})
}

/** Options of every column. Source: docs/tokens.md, docs/policy.md. */
export interface CommonOptions {
  /** Whether an insert must have a value other than null. Default false. */
  readonly required?: boolean
  /**
   * Whether no two records can have equal values; null can repeat. Default false. An encrypted column then stores a digest of each value.
   * When it is added to a column, writers of the table wait meanwhile, and processes that opened the vault without it can no longer write there.
   */
  readonly unique?: boolean
  /** Whether values are sealed. Default true. False stores them plain, so that the database can filter and aggregate them. */
  readonly encrypted?: boolean
  /**
   * Whether a column has an index. Default false. `true` is for a plain column: the database has it. `'sealed'` is for an encrypted column of any type but
   * JSON, ARRAY and FILE: the vault keeps it, sealed. It is the short form of `{ sealed: ['order'] }`.
   */
  readonly index?: boolean | 'sealed' | { readonly sealed: readonly ['order'] }
  /** Whether an encrypted column stores a digest of each value, for lookups by equality. Default false. Add it later in the same way as `unique`. */
  readonly searchable?: boolean
  /** The level for `DEFAULT`. Default REDACTED. */
  readonly redaction?: RedactionLevel
  /** The mask for the level MASKED. Default: MASKED is the same as REDACTED. */
  readonly mask?: MaskDefinition
  /** The token kind. Default: the column has no tokens. */
  readonly token?: TokenDefinition
  /** Name of a column group. Columns of one group share a digest scope: equal values have one digest and one deterministic token. */
  readonly columnGroup?: string
  /** What a caller must state to see more of the column than REDACTED, or to compare its values. Default: nothing. */
  readonly requires?: readonly Requirement[]
}

/** What a sealed index finds: ranges of values and their order, or texts by a part of them. */
export type IndexKind = 'order' | 'contains'

/** Returns which sealed indexes a definition asks for. */
export function sealedKinds({ index }: { readonly index?: StringOptions['index'] }): readonly IndexKind[] {
  if (index === 'sealed') return ['order']
  return typeof index === 'object' ? index.sealed : []
}

/** What a column can require of a caller. */
export type Requirement = 'purpose'

/** Options of a STRING column. Lengths count code points. */
export interface StringOptions extends Omit<CommonOptions, 'index'> {
  /** As of every column. With `'contains'` also an index of what texts contain, for patterns such as `'%abc%'`. */
  readonly index?: CommonOptions['index'] | { readonly sealed: readonly ['order', 'contains'] | readonly ['contains'] }
  /** RE2 pattern that the whole text must match. */
  readonly pattern?: string
  /** Maximum length. */
  readonly maxLength?: number
  /** The only values allowed. */
  readonly oneOf?: readonly string[]
  /** Normalizers, applied in order for uniqueness and lookup. The stored value is not changed. */
  readonly normalize?: readonly Normalizer[]
}

/** Options of an INTEGER column. */
export interface IntegerOptions extends CommonOptions {
  /** The only values allowed. */
  readonly oneOf?: readonly number[]
}

/** Options of a DECIMAL column. */
export interface DecimalOptions extends CommonOptions {
  /** How many digits follow the point: 0 to 18. A number has 18 digits in all. */
  readonly scale: number
  /** The only values allowed, each with all digits of the scale: `'12.50'`. */
  readonly oneOf?: readonly string[]
}

/** Options of a FILE column. Its files are always sealed, and have no tokens, digests or masks. Source: docs/files.md. */
export interface FileOptions extends Pick<CommonOptions, 'redaction' | 'requires'> {
  /** MIME types that a file can have, detected from its content: `image/png`, or `image/*` for all images. Default: any type. */
  readonly allowedTypes?: readonly string[]
  /** Maximum length of a file in bytes. Default 1 GiB, at most 1 TiB. */
  readonly maxBytes?: number
}

/** One column as plain JSON: its type and its options. */
export type ColumnDefinition =
  | ({ readonly type: 'STRING' } & StringOptions)
  | ({ readonly type: 'INTEGER' } & IntegerOptions)
  | ({ readonly type: 'DECIMAL' } & DecimalOptions)
  // The common options that a FILE column cannot have are refused when the schema is defined.
  | ({ readonly type: 'FILE' } & FileOptions & CommonOptions)
  | ({ readonly type: Exclude<ColumnTypeName, 'STRING' | 'INTEGER' | 'DECIMAL'> } & CommonOptions)

/** The columns of one table by name. */
export type TableDefinition = Readonly<Record<string, ColumnDefinition>>

/** The tables of a vault by name. */
export type SchemaDefinition = Readonly<Record<string, TableDefinition>>

/** Returns a table of a definition; undefined if it has none of this name. */
export function tableNamed(tables: SchemaDefinition, table: string): TableDefinition | undefined {
  return Object.hasOwn(tables, table) ? tables[table] : undefined
}

/** Returns a column of a table; undefined if it has none of this name. */
export function columnNamed(columns: TableDefinition | undefined, column: string): ColumnDefinition | undefined {
  return columns !== undefined && Object.hasOwn(columns, column) ? columns[column] : undefined
}

/** True if values are stored outside of the record, and expire. */
export function isTransient(definition: ColumnDefinition): boolean {
  const { kind } = tokenOf(definition)
  return kind !== undefined && tokenKinds[kind].expires
}

/** True if each record has a digest of its value, by which it is found and compared. */
export function hasDigest(definition: ColumnDefinition): boolean {
  const { kind } = tokenOf(definition)
  if (kind !== undefined && tokenKinds[kind].isDeterministic) return true
  return definition.encrypted !== false && (definition.unique === true || definition.searchable === true)
}

/** The type of a column. */
export function typeOf(definition: ColumnDefinition): AnyColumnType {
  if (definition.type === 'FILE') return fileType
  return definition.type === 'DECIMAL' ? decimalType(definition.scale) : columnTypes[definition.type]
}

/** The normalizers of a column, in order. */
export function normalizersOf(definition: ColumnDefinition): readonly Normalizer[] {
  return 'normalize' in definition ? (definition.normalize ?? []) : []
}

/** Makes an unknown option a compile error. A generic parameter alone would accept it. */
type Exactly<Options, Allowed> = Options & Readonly<Record<Exclude<keyof Options, keyof Allowed>, never>> & ExactToken<Options>

/** The same for the members of a token definition, by token kind. */
type ExactToken<Options> = Options extends { readonly token: infer Token extends { readonly kind: string } }
  ? {
      readonly token: Readonly<
        Record<Exclude<keyof Token, keyof Extract<TokenDefinition, { readonly kind: Token['kind'] }>>, never>
      >
    }
  : unknown

/** No options. */
export type NoOptions = Record<never, never>

/** A column as its builder returns it: its type and its options. */
export type ColumnOf<Type extends keyof ValueTypes, Options = NoOptions> = { readonly type: Type } & Options

/** The same as the result of a builder: the options are those of the call, and not inferred from where its result is used. */
type Built<Type extends keyof ValueTypes, Options> = Options extends infer Given ? ColumnOf<Type, Given> : never

/** Returns the definition of a column type with its options. Throws `invalid_request` if reading an option throws. */
function built<const Type extends keyof ValueTypes, Options>(type: Type, options: Options | undefined): Built<Type, Options> {
  // The cast repeats the return type, which the compiler does not follow: the options of the call are those inferred from it.
  return readInput(() => ({ ...(options as Options), type })) as Built<Type, Options>
}

/**
 * Builders of column definitions. All return plain JSON, `{ type, ...options }`, so that a schema can also be loaded from a file.
 * Values: `string` text; `integer` 64-bit; `decimal` exact, 18 digits; `float` finite doubles; `boolean`; `date` `2026-01-31`; `time` `23:59:59.5`; `datetime`
 * RFC 3339 with an offset; `json` any JSON except null; `array` a JSON list.
 */
export const column = {
  /** Text. */
  string: <const O extends StringOptions = NoOptions>(options?: Exactly<O, StringOptions>): Built<'STRING', O> =>
    built('STRING', options),
  /** A 64-bit integer. Beyond 2^53 - 1, input is a bigint or decimal text, and output decimal text. */
  integer: <const O extends IntegerOptions = NoOptions>(options?: Exactly<O, IntegerOptions>): Built<'INTEGER', O> =>
    built('INTEGER', options),
  /** An exact decimal number of at most 18 digits, `scale` of them behind the point. Output is decimal text with all digits of the scale. */
  decimal: <const O extends DecimalOptions>(options: Exactly<O, DecimalOptions>): Built<'DECIMAL', O> =>
    built('DECIMAL', options),
  /** A finite double. */
  float: <const O extends CommonOptions = NoOptions>(options?: Exactly<O, CommonOptions>): Built<'FLOAT', O> =>
    built('FLOAT', options),
  /** True or false. */
  boolean: <const O extends CommonOptions = NoOptions>(options?: Exactly<O, CommonOptions>): Built<'BOOL', O> =>
    built('BOOL', options),
  /** A calendar date, years 0001 to 9999. */
  date: <const O extends CommonOptions = NoOptions>(options?: Exactly<O, CommonOptions>): Built<'DATE', O> =>
    built('DATE', options),
  /** A time of day without an offset. */
  time: <const O extends CommonOptions = NoOptions>(options?: Exactly<O, CommonOptions>): Built<'TIME', O> =>
    built('TIME', options),
  /** An instant. Input has an offset, output is in UTC. */
  datetime: <const O extends CommonOptions = NoOptions>(options?: Exactly<O, CommonOptions>): Built<'DATETIME', O> =>
    built('DATETIME', options),
  /** Any JSON value except null. */
  json: <const O extends CommonOptions = NoOptions>(options?: Exactly<O, CommonOptions>): Built<'JSON', O> =>
    built('JSON', options),
  /** A list of JSON values. */
  array: <const O extends CommonOptions = NoOptions>(options?: Exactly<O, CommonOptions>): Built<'ARRAY', O> =>
    built('ARRAY', options),
  /** A file, which `uploadFile` stores. Its redaction concerns its name; only a caller who reads it at PLAIN_TEXT can open it. */
  file: <const O extends FileOptions = NoOptions>(options?: Exactly<O, FileOptions>): Built<'FILE', O> => built('FILE', options),
}
