/** Types inferred from a schema: its columns, values and tokens. */
import type { JsonValue } from '../values/column-type.ts'
import type { ColumnDefinition, SchemaDefinition, TableDefinition } from './column.ts'

/** Names of the tables of a schema. */
export type TableName<S extends SchemaDefinition> = keyof S & string
/** Names of the columns of a table. */
export type ColumnName<T extends TableDefinition> = keyof T & string

/** The input type of each column type. An integer beyond 2^53 - 1 is a bigint or decimal text. */
interface InputTypes {
  readonly STRING: string
  readonly INTEGER: number | bigint | string
  readonly FLOAT: number
  readonly BOOL: boolean
  readonly DATE: string
  readonly TIME: string
  readonly DATETIME: string | Date
  readonly JSON: JsonValue
  readonly ARRAY: readonly JsonValue[]
  readonly FILE: never
}

/** The type of a value read at PLAIN_TEXT, by column type. */
interface OutputTypes {
  readonly STRING: string
  readonly INTEGER: number | string
  readonly FLOAT: number
  readonly BOOL: boolean
  readonly DATE: string
  readonly TIME: string
  readonly DATETIME: string
  readonly JSON: JsonValue
  readonly ARRAY: readonly JsonValue[]
  /** The name of the file. */
  readonly FILE: string
}

/** A value to write to a column. */
export type InputValue<C extends ColumnDefinition> = C extends { readonly oneOf: readonly (infer Allowed)[] }
  ? Allowed
  : InputTypes[C['type']]

/** A value that a read returns in plain text: the value, or null. */
export type PlainValue<C extends ColumnDefinition> = OutputTypes[C['type']] | null

/** A value that a read returns: the value, text if it is masked or redacted, or null. */
export type OutputValue<C extends ColumnDefinition> = PlainValue<C> | string

type RequiredColumn<T extends TableDefinition> = {
  [K in ColumnName<T>]: T[K] extends { readonly required: true } ? K : never
}[ColumnName<T>]

/** Columns that have tokens. */
export type TokenizedColumn<T extends TableDefinition> = {
  [K in ColumnName<T>]: T[K] extends { readonly token: string | object } ? K : never
}[ColumnName<T>]

type DeterministicToken = 'deterministic' | { readonly kind: 'deterministic' | 'deterministicFormatPreserving' }

/** Columns with deterministic tokens, which tokenize accepts. */
export type DeterministicColumn<T extends TableDefinition> = {
  [K in ColumnName<T>]: T[K] extends { readonly token: DeterministicToken } ? K : never
}[ColumnName<T>]

/** Names of the column groups of a schema. */
export type GroupName<S extends SchemaDefinition> = {
  [T in TableName<S>]: { [K in ColumnName<S[T]>]: S[T][K] extends { readonly columnGroup: infer G } ? G : never }[ColumnName<
    S[T]
  >]
}[TableName<S>] &
  string

/** Unique columns, which an upsert can use as its key. */
export type UniqueColumn<T extends TableDefinition> = {
  [K in ColumnName<T>]: T[K] extends { readonly unique: true } ? K : never
}[ColumnName<T>]

/** Columns with a lookup index. */
export type LookupColumn<T extends TableDefinition> = {
  [K in ColumnName<T>]: T[K] extends
    | { readonly unique: true }
    | { readonly searchable: true }
    | { readonly index: true }
    | { readonly token: DeterministicToken }
    ? K
    : never
}[ColumnName<T>]

/** Columns that hold files. */
export type FileColumn<T extends TableDefinition> =
  string extends ColumnName<T>
    ? string
    : { [K in ColumnName<T>]: T[K] extends { readonly type: 'FILE' } ? K : never }[ColumnName<T>]

/** Columns that accept a value in a record: all but those that hold files. */
type ValueColumn<T extends TableDefinition> = {
  [K in ColumnName<T>]: T[K] extends { readonly type: 'FILE' } ? never : K
}[ColumnName<T>]

/** The fields of a record to insert. Required columns must have a value, others can be null or absent. */
export type InsertFields<T extends TableDefinition> = { readonly [K in RequiredColumn<T>]: InputValue<T[K]> } & {
  readonly [K in Exclude<ValueColumn<T>, RequiredColumn<T>>]?: InputValue<T[K]> | null
}

/** The fields of an update: any columns. Required columns cannot be null. */
export type UpdateFields<T extends TableDefinition> = { readonly [K in RequiredColumn<T>]?: InputValue<T[K]> } & {
  readonly [K in Exclude<ValueColumn<T>, RequiredColumn<T>>]?: InputValue<T[K]> | null
}

/** The fields that a read returns: the requested ones, or all that the caller can read. */
export type OutputFields<T extends TableDefinition, Requested> = Requested extends readonly (infer Name)[]
  ? { readonly [K in Name & ColumnName<T>]: OutputValue<T[K]> }
  : { readonly [K in ColumnName<T>]?: OutputValue<T[K]> }

/** The same fields of a read that refuses masked and redacted ones. */
export type PlainFields<T extends TableDefinition, Requested> = Requested extends readonly (infer Name)[]
  ? { readonly [K in Name & ColumnName<T>]: PlainValue<T[K]> }
  : { readonly [K in ColumnName<T>]?: PlainValue<T[K]> }

/** Columns that a read can return masked or redacted: the requested ones, or all. */
export type LoweredColumn<T extends TableDefinition, Requested> = Requested extends readonly (infer Name)[]
  ? Name & ColumnName<T>
  : ColumnName<T>

/** Tokens by column, of the tokenized columns that have a value. */
export type TokensOf<T extends TableDefinition> = { readonly [K in TokenizedColumn<T>]?: string }
