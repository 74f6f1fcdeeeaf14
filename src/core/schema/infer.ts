/** Types inferred from a schema: its columns, values and tokens. docs/types.md has them all. */
import type { TokenKindName, TokenKindTypes } from '../tokens/token-kind.ts'
import type { ValueTypes } from '../values/column-type.ts'
import type { ShownText } from '../values/shown-text.ts'
import type { ColumnDefinition, SchemaDefinition, TableDefinition } from './column.ts'

/** The same members as one object, for editors and errors to show. */
type Flat<Members> = Members extends unknown ? { [K in keyof Members]: Members[K] } : never

/** Names of the tables of a schema. */
export type TableName<S extends SchemaDefinition> = Extract<keyof S, string>
/** Names of the columns of a table. */
export type ColumnName<T extends TableDefinition> = Extract<keyof T, string>

/** Null, if the column can be without a value. */
export type Absence<C extends ColumnDefinition> = C extends { readonly required: true } ? never : null

/** True if the values of the option `oneOf` are known: not those of a schema that was read from a file. */
type IsLiteral<Value> = string extends Value ? false : number extends Value ? false : true

/** A value to write to a column. */
export type InputValue<C extends ColumnDefinition> = C extends { readonly oneOf: readonly (infer Allowed)[] }
  ? IsLiteral<Allowed> extends true
    ? Allowed
    : ValueTypes[C['type']]['input']
  : ValueTypes[C['type']]['input']

/** A value that a read returns in plain text. It is null only in a column that is not required. */
export type PlainValue<C extends ColumnDefinition> = C extends { readonly oneOf: readonly (infer Allowed)[] }
  ? IsLiteral<Allowed> extends true
    ? Allowed | Absence<C>
    : ValueTypes[C['type']]['output'] | Absence<C>
  : ValueTypes[C['type']]['output'] | Absence<C>

/** A value that a read returns: as in plain text, or text that may be masked or redacted. */
export type OutputValue<C extends ColumnDefinition> = C extends { readonly oneOf: readonly (infer Allowed)[] }
  ? IsLiteral<Allowed> extends true
    ? Allowed | ShownText | Absence<C>
    : Exclude<ValueTypes[C['type']]['output'], string> | ShownText | Absence<C>
  : Exclude<ValueTypes[C['type']]['output'], string> | ShownText | Absence<C>

/** Columns that an insert must have a value for. */
export type RequiredColumn<T extends TableDefinition> = {
  [K in ColumnName<T>]: T[K] extends { readonly required: true } ? K : never
}[ColumnName<T>]

/** Columns that have tokens. */
export type TokenizedColumn<T extends TableDefinition> =
  string extends ColumnName<T>
    ? string
    : {
        [K in ColumnName<T>]: T[K] extends { readonly token: string | object } ? K : never
      }[ColumnName<T>]

/** Token definitions that give equal values one token. */
export type DeterministicToken = {
  [Name in TokenKindName]: TokenKindTypes[Name]['isDeterministic'] extends true ? Name | { readonly kind: Name } : never
}[TokenKindName]

/** Token definitions whose values are not stored in the record, so that no read of the record returns them. */
export type TransientToken = {
  [Name in TokenKindName]: TokenKindTypes[Name]['expires'] extends true ? Name | { readonly kind: Name } : never
}[TokenKindName]

/** Columns with deterministic tokens, which tokenize accepts. */
export type DeterministicColumn<T extends TableDefinition> =
  string extends ColumnName<T>
    ? string
    : {
        [K in ColumnName<T>]: T[K] extends { readonly token: DeterministicToken } ? K : never
      }[ColumnName<T>]

/** Names of the column groups of a schema. */
export type GroupName<S extends SchemaDefinition> = {
  [T in TableName<S>]: { [K in ColumnName<S[T]>]: S[T][K] extends { readonly columnGroup: infer G } ? G : never }[ColumnName<
    S[T]
  >]
}[TableName<S>] &
  string

/** A value of the columns of a group. */
export type GroupValue<S extends SchemaDefinition, G extends string> = {
  [T in TableName<S>]: {
    [K in ColumnName<S[T]>]: S[T][K] extends { readonly columnGroup: G } ? InputValue<S[T][K]> : never
  }[ColumnName<S[T]>]
}[TableName<S>]

/** Unique columns, which an upsert can use as its key. */
export type UniqueColumn<T extends TableDefinition> =
  string extends ColumnName<T>
    ? string
    : {
        [K in ColumnName<T>]: T[K] extends { readonly unique: true } ? K : never
      }[ColumnName<T>]

/** Of a table, in its type only: the lists of columns that are unique together. */
declare const TOGETHER: unique symbol

/** A schema whose type says which columns of its tables are unique together. */
export type WithTogether<S extends SchemaDefinition, U> = {
  readonly [T in keyof S]: T extends keyof U
    ? U[T] extends readonly (infer Names)[]
      ? S[T] & { readonly [TOGETHER]?: Names }
      : S[T]
    : S[T]
}

/** What an upsert can go by: a unique column, or the list of columns that are unique together, as the schema has it. */
export type UpsertKey<T extends TableDefinition> =
  string extends ColumnName<T>
    ? string | readonly string[]
    : UniqueColumn<T> | (T extends { readonly [TOGETHER]?: infer Names } ? Exclude<Names, undefined> : never)

/** Columns with a lookup index. */
export type LookupColumn<T extends TableDefinition> =
  string extends ColumnName<T>
    ? string
    : {
        [K in ColumnName<T>]: T[K] extends
          | { readonly unique: true }
          | { readonly searchable: true }
          | { readonly index: true }
          | { readonly token: DeterministicToken }
          ? K
          : never
      }[ColumnName<T>]

/** Columns whose values are compared, and order records. */
export type ComparedColumn<T extends TableDefinition> =
  string extends ColumnName<T>
    ? string
    : {
        [K in ColumnName<T>]: T[K] extends { readonly type: 'JSON' | 'ARRAY' | 'FILE' } | { readonly token: TransientToken }
          ? never
          : K
      }[ColumnName<T>]

/** Columns that hold files. */
export type FileColumn<T extends TableDefinition> =
  string extends ColumnName<T>
    ? string
    : { [K in ColumnName<T>]: T[K] extends { readonly type: 'FILE' } ? K : never }[ColumnName<T>]

/** Columns that accept a value in a record: all but those that hold files. */
export type ValueColumn<T extends TableDefinition> = {
  [K in ColumnName<T>]: T[K] extends { readonly type: 'FILE' } ? never : K
}[ColumnName<T>]

/** The fields of a record to insert. Required columns must have a value, others can be null or absent. */
export type InsertFields<T extends TableDefinition> = Flat<
  { readonly [K in RequiredColumn<T>]: InputValue<T[K]> } & {
    readonly [K in Exclude<ValueColumn<T>, RequiredColumn<T>>]?: InputValue<T[K]> | null
  }
>

/** The fields of an update: any columns. Required columns cannot be null. */
export type UpdateFields<T extends TableDefinition> = T extends unknown
  ? { readonly [K in ValueColumn<T>]?: InputValue<T[K]> | Absence<T[K]> }
  : never

/** Columns that a read can return: all but those whose values are transient. */
export type ReadableColumn<T extends TableDefinition> = T extends unknown
  ? { [K in ColumnName<T>]: T[K] extends { readonly token: TransientToken } ? never : K }[ColumnName<T>]
  : never

/** Columns that were asked for: of a list of names, or all. */
export type RequestedColumn<T extends TableDefinition, Requested> = Requested extends readonly (infer Name)[]
  ? Name & ReadableColumn<T>
  : ReadableColumn<T>

/** The fields that a read returns. Each can be absent: a caller may not be allowed to read it, in this record or in any. */
export type OutputFields<T extends TableDefinition, Requested = undefined> = T extends unknown
  ? { readonly [K in RequestedColumn<T, Requested>]?: OutputValue<T[K]> }
  : never

/** The fields of a read with `onLowered: 'throw'`: values. Those of a list of names are all present. */
export type PlainFields<T extends TableDefinition, Requested = undefined> = Requested extends { readonly length: infer Count }
  ? number extends Count
    ? { readonly [K in RequestedColumn<T, Requested>]?: PlainValue<T[K]> }
    : { readonly [K in RequestedColumn<T, Requested>]: PlainValue<T[K]> }
  : { readonly [K in ReadableColumn<T>]?: PlainValue<T[K]> }

/** Columns that a read can return masked or redacted: the requested ones, or all. */
export type LoweredColumn<T extends TableDefinition, Requested = undefined> = RequestedColumn<T, Requested>

/** Token definitions under which a value that their format refuses is stored without a token. */
export interface OptionalToken {
  readonly whenRefused: 'noToken'
}

/** True if a column of the schema stores values without a token. */
type HasOptionalTokens<S extends SchemaDefinition> = {
  [T in TableName<S>]: { [K in ColumnName<S[T]>]: S[T][K] extends { readonly token: OptionalToken } ? true : never }[ColumnName<
    S[T]
  >]
}[TableName<S>]

/** A token as tokenize returns it: null for a value that its column stores without one. */
export type TokenizedValue<S extends SchemaDefinition> =
  | string
  | (string extends TableName<S> ? null : true extends HasOptionalTokens<S> ? null : never)

/** Tokens by column, as a write returns them and a read shows them: null for a value that is stored without one. */
export type ShownTokensOf<T extends TableDefinition> = T extends unknown
  ? {
      readonly [K in TokenizedColumn<T>]?:
        | string
        | (string extends K ? null : T[K] extends { readonly token: OptionalToken } ? null : never)
    }
  : never

/** Tokens by column, as a caller supplies them. */
export type TokensOf<T extends TableDefinition> = T extends unknown ? { readonly [K in TokenizedColumn<T>]?: string } : never
