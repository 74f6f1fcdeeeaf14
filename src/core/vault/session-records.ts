/** The types of written and read records, from the schema and the options of the call. */

import type { IgnoredRecord } from '../execution/write-records.ts'
import type { FileMetadata } from '../files/file-metadata.ts'
import type { NoOptions, TableDefinition } from '../schema/column.ts'
import type { FileColumn, LoweredColumn, OutputFields, PlainFields, TokensOf } from '../schema/infer.ts'

/** The option `fields` of a read; undefined without it. */
export type AskedFields<O> = O extends { readonly fields: infer F } ? F : undefined

/** A written record. It has tokens only with `tokenization`. */
export type WrittenRecord<T extends TableDefinition, O = NoOptions> = O extends { readonly tokenization: true }
  ? { readonly id: string; readonly tokens: TokensOf<T> }
  : O extends { readonly tokenization: boolean }
    ? { readonly id: string; readonly tokens?: TokensOf<T> }
    : { readonly id: string }

/** An inserted record. With `onConflict`, it can have been left out. */
export type InsertedRecordOf<T extends TableDefinition, O> = O extends { readonly onConflict: 'ignore' | undefined }
  ? (WrittenRecord<T, O> & { readonly ignored?: undefined }) | IgnoredRecord
  : WrittenRecord<T, O>

/**
 * A record as it is read: its fields or, with `tokenization`, its tokens. `lowered` names the fields that are masked or redacted; their
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
  ? { readonly id: string; readonly fields: TokensOf<T>; readonly tokens: TokensOf<T> }
  : O extends { readonly onLowered: 'throw' }
    ? { readonly id: string; readonly fields: PlainFields<T, AskedFields<O>>; readonly lowered: readonly never[] }
    : {
        readonly id: string
        readonly fields: OutputFields<T, AskedFields<O>>
        readonly lowered: readonly LoweredColumn<T, AskedFields<O>>[]
      }

/** The files of a record that was read: those that have one, and that the caller can read in plain text, or open. */
export type ShownFiles<T extends TableDefinition, O> = (O extends { readonly returnFileMetadata: true }
  ? { readonly fileMetadata: { readonly [C in FileColumn<T>]?: FileMetadata } }
  : unknown) &
  (O extends { readonly downloadTickets: true }
    ? { readonly downloadTickets: { readonly [C in FileColumn<T>]?: string } }
    : unknown)
