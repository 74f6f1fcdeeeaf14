/** The types of what the methods of a session take and return, from the schema and the options of the call. */
import type { ByotMode } from '../barrier/supplied-tokens.ts'
import type { ErrorCode } from '../errors.ts'
import type { Where } from '../execution/find-records.ts'
import type { ValueRange } from '../execution/where-conditions.ts'
import type { IgnoredRecord } from '../execution/write-records.ts'
import type { FileMetadata } from '../files/file-metadata.ts'
import type { ColumnOrder, GetOptions, ReadOptions } from '../operations/get-records.ts'
import type { TokenizeParameter } from '../operations/tokenize-values.ts'
import type { UpdateOneOptions } from '../operations/update-records.ts'
import type { Levels } from '../redaction.ts'
import type { ColumnDefinition, NoOptions, SchemaDefinition, TableDefinition } from '../schema/column.ts'
import type {
  Absence,
  ColumnName,
  ComparedColumn,
  DeterministicColumn,
  FileColumn,
  GroupName,
  GroupValue,
  InputValue,
  LookupColumn,
  LoweredColumn,
  OutputFields,
  OutputValue,
  PlainFields,
  PlainValue,
  ReadableColumn,
  ShownTokensOf,
  TableName,
  TokensOf,
  UpsertKey,
} from '../schema/infer.ts'
import type { Signal } from '../util/signal.ts'
import type { ValueTypes } from '../values/column-type.ts'

/** The option `fields` of a read; undefined without it. */
export type AskedFields<O> = O extends { readonly fields: infer F } ? F : undefined

/** A written record. It has tokens only with `tokenization`. */
export type WrittenRecord<T extends TableDefinition, O = NoOptions> = O extends { readonly tokenization: true }
  ? { readonly id: string; readonly tokens: ShownTokensOf<T> }
  : O extends { readonly tokenization: boolean }
    ? { readonly id: string; readonly tokens?: ShownTokensOf<T> }
    : { readonly id: string }

/** An inserted record. With `onConflict`, it can have been left out. */
export type InsertedRecordOf<T extends TableDefinition, O> = O extends { readonly onConflict: 'ignore' | undefined }
  ? (WrittenRecord<T, O> & { readonly ignored?: undefined }) | IgnoredRecord
  : WrittenRecord<T, O>

/**
 * A record as it is read: its fields or, with `tokenization`, its tokens. `levels` has those that are masked or redacted; their
 * text is `ShownText`, which no write accepts. With `onLowered: 'throw'` there are none, and the fields are values.
 */
export type ReadRecord<T extends TableDefinition, O = NoOptions> = O extends
  | { readonly returnFileMetadata: true }
  | { readonly downloadTickets: true }
  | { readonly version: boolean }
  ? RecordAsAsked<T, O> & ShownFiles<T, O> & ShownVersion<O>
  : RecordAsAsked<T, O>

/** The version of a record that was read, where it is asked for. */
export type ShownVersion<O> = O extends { readonly version: true }
  ? { readonly version: string }
  : O extends { readonly version: boolean }
    ? { readonly version?: string }
    : unknown

/** A record as fields, as values or as tokens, by the options of the read. */
export type RecordAsAsked<T extends TableDefinition, O> = O extends { readonly tokenization: true }
  ? { readonly id: string; readonly fields: ShownTokensOf<T>; readonly tokens: ShownTokensOf<T> }
  : O extends { readonly onLowered: 'throw' }
    ? { readonly id: string; readonly fields: PlainFields<T, AskedFields<O>>; readonly levels: Levels<never> }
    : {
        readonly id: string
        readonly fields: OutputFields<T, AskedFields<O>>
        readonly levels: Levels<LoweredColumn<T, AskedFields<O>>>
      }

/** The files of a record that was read: those that have one, and that the caller can read in plain text, or open. */
export type ShownFiles<T extends TableDefinition, O> = (O extends { readonly returnFileMetadata: true }
  ? { readonly fileMetadata: { readonly [C in FileColumn<T>]?: FileMetadata } }
  : unknown) &
  (O extends { readonly downloadTickets: true }
    ? { readonly downloadTickets: { readonly [C in FileColumn<T>]?: string } }
    : unknown)

/** Options of an insert, with column names checked by the compiler. */
export interface SessionInsertOptions<T extends TableDefinition> {
  readonly tokenization?: boolean
  readonly upsert?: UpsertKey<T>
  readonly onConflict?: 'ignore'
  readonly homogeneous?: boolean
  readonly byot?: ByotMode
  readonly allowShownText?: boolean
  readonly signal?: Signal
}

/** Options of an insert of one record. `tokens` are those that the caller supplies, by column. */
export interface SessionInsertOneOptions<T extends TableDefinition> extends Omit<SessionInsertOptions<T>, 'homogeneous'> {
  readonly tokens?: TokensOf<T>
}

/** Options of an update of one record. `tokens` are those that the caller supplies, by column. */
export interface SessionUpdateOneOptions<T extends TableDefinition> extends Omit<UpdateOneOptions, 'tokens'> {
  readonly tokens?: TokensOf<T>
}

/** Options of a read of one record, with column names checked by the compiler. */
export interface SessionReadOptions<T extends TableDefinition> extends Omit<ReadOptions, 'fields'> {
  readonly fields?: readonly ColumnName<T>[]
}

/** Options of a read of several, with column names and look-up values checked by the compiler. */
export interface SessionGetOptions<T extends TableDefinition> extends Omit<GetOptions, 'fields' | 'where' | 'orderBy'> {
  readonly fields?: readonly ColumnName<T>[]
  readonly where?: SessionReadWhere<T>
  readonly orderBy?: 'ASCENDING' | 'DESCENDING' | 'NONE' | ComparedColumn<T> | ColumnOrder<ComparedColumn<T>>
}

/** Options of a read page by page. `after` is where it begins. */
export type SessionPagesOptions<T extends TableDefinition> = Omit<SessionGetOptions<T>, 'ids' | 'offset'>

/** What each of some columns must have, for a read: a value, one of a list, null, or a value of a range. Names and values are checked by the compiler. */
export type SessionReadWhere<T extends TableDefinition> =
  string extends ColumnName<T> ? Where : { readonly [C in ReadableColumn<T>]?: ColumnWhere<T, C> }

/** What a read can ask of one column. Values that are not compared are only looked up. */
type ColumnWhere<T extends TableDefinition, C extends ColumnName<T>> =
  | Absence<T[C]>
  | (C extends ComparedColumn<T> | LookupColumn<T> ? SoleValue<T[C]> | readonly InputValue<T[C]>[] : never)
  | (C extends ComparedColumn<T> ? RangeOf<T[C]['type']> : never)

/** A range of values of a type. Only texts begin with a text. */
type RangeOf<Type extends keyof ValueTypes> = Omit<ValueRange<ValueTypes[Type]['input']>, 'prefix'> &
  (Type extends 'STRING' ? Pick<ValueRange, 'prefix'> : { readonly prefix?: never })

/** The records with a value, or with one of a list, in one look-up column: its name and values are checked by the compiler. */
export type SessionWhere<T extends TableDefinition> =
  string extends ColumnName<T>
    ? Where
    : {
        [K in LookupColumn<T>]: { readonly [Name in K]: SoleValue<T[K]> | readonly InputValue<T[K]>[] } & {
          readonly [Name in Exclude<ColumnName<T>, K>]?: never
        }
      }[LookupColumn<T>]

/** A value that is looked up without a list around it. A list would be read as many values: one list of an ARRAY or a JSON column is in a list too. */
type SoleValue<C extends ColumnDefinition> = Exclude<InputValue<C>, readonly unknown[]>

/** A value to tokenize: in a column with deterministic tokens, or in a column group. */
export type TokenizeValue<S extends SchemaDefinition> =
  string extends TableName<S>
    ? TokenizeParameter
    :
        | {
            [T in TableName<S>]: {
              [C in DeterministicColumn<S[T]>]: { readonly value: InputValue<S[T][C]>; readonly table: T; readonly column: C }
            }[DeterministicColumn<S[T]>]
          }[TableName<S>]
        | { [G in GroupName<S>]: { readonly value: GroupValue<S, G>; readonly columnGroup: G } }[GroupName<S>]

/** A token without a record, and the error of it. */
export interface FailedToken {
  readonly token: string
  readonly id?: undefined
  readonly table?: undefined
  readonly column?: undefined
  readonly fields: Readonly<Record<never, never>>
  readonly levels: Levels<never>
  readonly version?: undefined
  readonly error: string
  readonly code: ErrorCode
}

/** A record found by a token. `table` determines the type of its fields. With `columnOnly`, a transient value has no id. */
export type FoundRecord<S extends SchemaDefinition, T extends TableName<S>, O = NoOptions> =
  T extends TableName<S>
    ?
        | ({
            readonly token: string
            readonly id: O extends { readonly columnOnly: false }
              ? string
              : O extends { readonly columnOnly: boolean }
                ? string | undefined
                : string
            readonly table: T
            readonly column: ColumnName<S[T]>
            readonly fields: FoundFields<S[T], O>
            readonly levels: O extends { readonly onLowered: 'throw' } ? Levels<never> : Levels<ColumnName<S[T]>>
            readonly error?: undefined
            readonly code?: undefined
          } & (O extends { readonly columnOnly: true } ? Partial<ShownVersion<O>> : ShownVersion<O>))
        | FailedToken
    : never

/** The fields of a record found by a token, any of which can be absent. */
export type FoundFields<T extends TableDefinition, O> = O extends { readonly onLowered: 'throw' }
  ? { readonly [K in ColumnName<T>]?: PlainValue<T[K]> }
  : { readonly [K in ColumnName<T>]?: OutputValue<T[K]> }

/** An upload, with table and column checked by the compiler. */
export type SessionUpload<S extends SchemaDefinition, T extends TableName<S>> = {
  readonly table: T
  readonly column: FileColumn<S[T]>
  /** Id of the record. Default: a new record that has only the file. */
  readonly id?: string
  /** The content: bytes, a Blob, a web stream, a Node stream, or another async iterable of bytes. */
  readonly file: UploadContent
  /** Default: the name of a `File`, else "file". */
  readonly fileName?: string
  /** An `AbortSignal`. Aborted before the commit begins, the upload throws `cancelled`, and nothing is stored; later it has no effect. */
  readonly signal?: Signal
}

/** What an upload reads its content from. */
export type UploadContent = Uint8Array | ArrayBuffer | AsyncIterable<Uint8Array> | { stream(): unknown }

/** A record whose files are asked for. */
export type SessionStatusRecord<S extends SchemaDefinition> = {
  [T in TableName<S>]: { readonly table: T; readonly id: string; readonly fileColumns: readonly FileColumn<S[T]>[] }
}[TableName<S>]
