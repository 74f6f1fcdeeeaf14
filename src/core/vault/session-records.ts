/** The types of written and read records, from the schema and the options of the call. */
import type { FileMetadata } from '../files/file-metadata.ts'
import type { IgnoredRecord } from '../operations/insert-records.ts'
import type { TableDefinition } from '../schema/column.ts'
import type { FileColumn, LoweredColumn, OutputFields, PlainFields, TokensOf } from '../schema/infer.ts'

type AskedFields<O> = O extends { readonly fields: infer F } ? F : undefined

/** A written record. It has tokens only with `tokenization`. */
export type WrittenRecord<T extends TableDefinition, O> = { readonly id: string } & (O extends { readonly tokenization: true }
  ? { readonly tokens: TokensOf<T> }
  : O extends { readonly tokenization: boolean }
    ? { readonly tokens?: TokensOf<T> }
    : unknown)

/** An inserted record. With `onConflict`, it can have been left out. */
export type InsertedRecordOf<T extends TableDefinition, O> = O extends { readonly onConflict: 'ignore' | undefined }
  ? (WrittenRecord<T, O> & { readonly ignored?: undefined }) | IgnoredRecord
  : WrittenRecord<T, O>

/**
 * A record as it is read: its fields or, with `tokenization`, its tokens. `lowered` names the fields that are masked or redacted: do
 * not write them back. With `onLowered: 'throw'` there are none.
 */
export type ReadRecord<T extends TableDefinition, O> = { readonly id: string } & (O extends { readonly tokenization: true }
  ? { readonly fields: TokensOf<T>; readonly tokens: TokensOf<T> }
  : O extends { readonly onLowered: 'throw' }
    ? { readonly fields: PlainFields<T, AskedFields<O>>; readonly lowered: readonly never[] }
    : { readonly fields: OutputFields<T, AskedFields<O>>; readonly lowered: readonly LoweredColumn<T, AskedFields<O>>[] }) &
  ShownFiles<T, O>

/** The files of a record that was read: those that have one, and that the caller can read in plain text, or open. */
type ShownFiles<T extends TableDefinition, O> = (O extends { readonly returnFileMetadata: true }
  ? { readonly fileMetadata: { readonly [C in FileColumn<T>]?: FileMetadata } }
  : unknown) &
  (O extends { readonly downloadURL: true } ? { readonly downloadTickets: { readonly [C in FileColumn<T>]?: string } } : unknown)
