/** The types of the items of a batch and of its responses, from the schema. */
import type { BatchItem, MethodName, ResponseReference } from '../batch/batch-item.ts'
import type { BatchOptions } from '../batch/run-batch.ts'
import type { ItemResponse } from '../batch/run-steps.ts'
import type { Redaction } from '../redaction/levels.ts'
import type { SchemaDefinition, TableDefinition } from '../schema/column.ts'
import type { ColumnName, InsertFields, TableName, TokensOf, UniqueColumn, UpdateFields } from '../schema/infer.ts'
import type { InsertedRecordOf, ReadRecord, WrittenRecord } from './session-records.ts'

/** The members of every item. */
export interface AnyItem<T> {
  readonly tableName: T
  readonly batchID?: string
}

/** Inserts one record, or with `upsert` updates the one that has its value in that column. */
export interface PostItem<T, D extends TableDefinition> extends AnyItem<T> {
  readonly method: 'POST'
  readonly fields: InsertFields<D>
  readonly tokens?: TokensOf<D>
  readonly tokenization?: boolean
  readonly allowShownText?: boolean
  readonly upsert?: UniqueColumn<D>
  readonly onConflict?: 'ignore'
}

/** Updates one record. */
export interface PutItem<T, D extends TableDefinition> extends AnyItem<T> {
  readonly method: 'PUT'
  readonly ID: string | ResponseReference
  readonly fields: UpdateFields<D>
  readonly tokens?: TokensOf<D>
  readonly tokenization?: boolean
  readonly allowShownText?: boolean
  readonly ifVersion?: string
}

/** Reads one record. */
export interface GetItem<T> extends AnyItem<T> {
  readonly method: 'GET'
  readonly ID: string | ResponseReference
  readonly redaction?: Redaction
  readonly tokenization?: boolean
  readonly downloadURL?: boolean
  readonly returnFileMetadata?: boolean
  readonly version?: boolean
}

/** Deletes one record. */
export interface DeleteItem<T> extends AnyItem<T> {
  readonly method: 'DELETE'
  readonly ID: string | ResponseReference
  readonly ifVersion?: string
}

/** The item of a method in a table. */
export type ItemFor<M, T, D extends TableDefinition> = M extends 'POST'
  ? PostItem<T, D>
  : M extends 'PUT'
    ? PutItem<T, D>
    : M extends 'GET'
      ? GetItem<T>
      : DeleteItem<T>

/** An item of a batch, with table and column names checked by the compiler. Type a list with it that the program fills. */
export type SessionBatchItem<S extends SchemaDefinition> = {
  [T in TableName<S>]: PostItem<T, S[T]> | PutItem<T, S[T]> | GetItem<T> | DeleteItem<T>
}[TableName<S>]

/** What is the same in all items: a literal list is checked item by item, because comparing each with every table takes seconds. */
export interface ItemOutline<S extends SchemaDefinition> extends AnyItem<TableName<S>> {
  readonly method: MethodName
}

/** The item that a literal one must be: of its method and its table, without members and columns that these do not have. */
type CheckedItem<S extends SchemaDefinition, Item> = Item extends {
  readonly method: infer M
  readonly tableName: infer T extends TableName<S>
}
  ? ItemFor<M, T, S[T]> & { readonly [Member in Exclude<keyof Item, keyof ItemFor<M, T, S[T]>>]: never } & (Item extends {
        readonly fields: infer Fields
      }
        ? { readonly fields: { readonly [Name in Exclude<keyof Fields, ColumnName<S[T]>>]: never } }
        : unknown)
  : unknown

/** The items of a batch as they must be: each of a literal list, or those of a list of any length. */
export type CheckedItems<S extends SchemaDefinition, Items extends readonly unknown[]> = number extends Items['length']
  ? readonly SessionBatchItem<S>[]
  : { readonly [Position in keyof Items]: Items[Position] & CheckedItem<S, Items[Position]> }

/** What the method of an item returns for one record of a table. */
type ItemValue<D extends TableDefinition, Item> = Item extends { readonly method: infer Method }
  ? Method extends 'POST'
    ? { readonly records: readonly [InsertedRecordOf<D, Item>] }
    : Method extends 'PUT'
      ? WrittenRecord<D, Item> & { readonly updatedAt: string }
      : Method extends 'GET'
        ? ReadRecord<D, Item>
        : { readonly id: string; readonly deleted: true }
  : never

/** The response to an item. Only with `continueOnError` can it be an error. */
type ResponseTo<S extends SchemaDefinition, Item, O> = Item extends { readonly tableName: infer T extends TableName<S> }
  ? O extends { readonly continueOnError: boolean }
    ? O extends { readonly continueOnError: false }
      ? Extract<ItemResponse<ItemValue<S[T], Item>>, { readonly ok: true }>
      : ItemResponse<ItemValue<S[T], Item>>
    : Extract<ItemResponse<ItemValue<S[T], Item>>, { readonly ok: true }>
  : never

/** The responses to the items, each with the type of its item at the same position. */
export type BatchResponses<
  S extends SchemaDefinition,
  Items extends readonly Pick<BatchItem, 'tableName'>[],
  O extends BatchOptions,
> = {
  readonly [Position in keyof Items]: ResponseTo<S, Items[Position], O>
}
