/** What a schema says at compile time: which columns, which values, which tokens. */
import type { JsonValue } from '../values/column-type.ts'
import type { ColumnDefinition, SchemaDefinition, TableDefinition } from './column.ts'

/** Names of a schema's tables. */
export type TableName<S extends SchemaDefinition> = keyof S & string
/** Names of a table's columns. */
export type ColumnName<T extends TableDefinition> = keyof T & string

/** What a value of each type may be given as. An integer past 2^53 is given as a bigint or as decimal text. */
interface GivenTypes {
  readonly STRING: string
  readonly INTEGER: number | bigint | string
  readonly FLOAT: number
  readonly BOOL: boolean
  readonly DATE: string
  readonly TIME: string
  readonly DATETIME: string | Date
  readonly JSON: JsonValue
  readonly ARRAY: readonly JsonValue[]
}

/** What a value of each type is answered as, in plain text. */
interface AnsweredTypes {
  readonly STRING: string
  readonly INTEGER: number | string
  readonly FLOAT: number
  readonly BOOL: boolean
  readonly DATE: string
  readonly TIME: string
  readonly DATETIME: string
  readonly JSON: JsonValue
  readonly ARRAY: readonly JsonValue[]
}

/** A value as a caller gives it to this column. */
export type Given<C extends ColumnDefinition> = C extends { readonly oneOf: readonly (infer Allowed)[] }
  ? Allowed
  : GivenTypes[C['type']]

/** A value as a read answers it: the value, or text where the answered level masks or redacts it, or null. */
export type Answered<C extends ColumnDefinition> = AnsweredTypes[C['type']] | string | null

type RequiredColumn<T extends TableDefinition> = {
  [K in ColumnName<T>]: T[K] extends { readonly required: true } ? K : never
}[ColumnName<T>]

/** Columns that have tokens. */
export type TokenizedColumn<T extends TableDefinition> = {
  [K in ColumnName<T>]: T[K] extends { readonly token: string | object } ? K : never
}[ColumnName<T>]

type DeterministicToken = 'deterministic' | { readonly kind: 'deterministic' | 'deterministicFormatPreserving' }

/** Columns whose tokens can be asked for by value. */
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

/** Columns an upsert can go by. */
export type UniqueColumn<T extends TableDefinition> = {
  [K in ColumnName<T>]: T[K] extends { readonly unique: true } ? K : never
}[ColumnName<T>]

/** Columns whose values can be looked up. */
export type LookupColumn<T extends TableDefinition> = {
  [K in ColumnName<T>]: T[K] extends
    | { readonly unique: true }
    | { readonly searchable: true }
    | { readonly index: true }
    | { readonly token: DeterministicToken }
    ? K
    : never
}[ColumnName<T>]

/** The fields of a record to insert: required columns must be there, the others may be null or absent. */
export type NewFields<T extends TableDefinition> = { readonly [K in RequiredColumn<T>]: Given<T[K]> } & {
  readonly [K in Exclude<ColumnName<T>, RequiredColumn<T>>]?: Given<T[K]> | null
}

/** The fields of a change: any columns, null only where the column is not required. */
export type ChangedFields<T extends TableDefinition> = { readonly [K in RequiredColumn<T>]?: Given<T[K]> } & {
  readonly [K in Exclude<ColumnName<T>, RequiredColumn<T>>]?: Given<T[K]> | null
}

/** The fields a read answers: those asked for by name, or all the caller may see. */
export type AnsweredFields<T extends TableDefinition, Asked> = Asked extends readonly (infer Name)[]
  ? { readonly [K in Name & ColumnName<T>]: Answered<T[K]> }
  : { readonly [K in ColumnName<T>]?: Answered<T[K]> }

/** Tokens by column: those of tokenized columns that hold a value. */
export type TokensOf<T extends TableDefinition> = { readonly [K in TokenizedColumn<T>]?: string }
