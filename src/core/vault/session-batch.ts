/** The types of the items of a batch and of its responses, from the schema. */
import type { MethodName, ResponseReference } from '../batch/batch-item.ts'
import type { BatchOptions } from '../batch/run-batch.ts'
import type { ItemResponse } from '../batch/run-steps.ts'
import type { Redaction } from '../redaction.ts'
import type { SchemaDefinition, TableDefinition } from '../schema/column.ts'
import type { ColumnName, InsertFields, TableName, TokensOf, UpdateFields, UpsertKey } from '../schema/infer.ts'
import type { InsertedRecordOf, ReadRecord, WrittenRecord } from './session-records.ts'

/** Inserts one record, or with `upsert` updates the one that has its value in that column. */
export interface InsertItem<T, D extends TableDefinition> {
  readonly insert: T
  readonly fields: InsertFields<D>
  readonly tokens?: TokensOf<D>
  readonly tokenization?: boolean
  readonly allowShownText?: boolean
  readonly upsert?: UpsertKey<D>
  readonly onConflict?: 'ignore'
}

/** Updates one record. */
export interface UpdateItem<T, D extends TableDefinition> {
  readonly update: T
  readonly id: string | ResponseReference
  readonly fields: UpdateFields<D>
  readonly tokens?: TokensOf<D>
  readonly tokenization?: boolean
  readonly allowShownText?: boolean
  readonly ifVersion?: string
}

/** Reads one record. */
export interface GetItem<T> {
  readonly get: T
  readonly id: string | ResponseReference
  readonly redaction?: Redaction
  readonly tokenization?: boolean
  readonly downloadTickets?: boolean
  readonly returnFileMetadata?: boolean
  readonly version?: boolean
}

/** Deletes one record. */
export interface DeleteItem<T> {
  readonly delete: T
  readonly id: string | ResponseReference
  readonly ifVersion?: string
  readonly transients?: boolean
}

/** The method and the table that an item names. */
type MethodOf<Item> = { [M in MethodName]: M extends keyof Item ? (Item[M] extends string ? M : never) : never }[MethodName]
type TableOf<S extends SchemaDefinition, Item> = Item extends { readonly [M in MethodOf<Item>]: infer T extends TableName<S> }
  ? T
  : never

/** The item of a method in a table. */
export type ItemFor<M, T, D extends TableDefinition> = M extends 'insert'
  ? InsertItem<T, D>
  : M extends 'update'
    ? UpdateItem<T, D>
    : M extends 'get'
      ? GetItem<T>
      : DeleteItem<T>

/** An item of a batch, with table and column names checked by the compiler. Type a list with it that the program fills. */
export type SessionBatchItem<S extends SchemaDefinition> = {
  [T in TableName<S>]: InsertItem<T, S[T]> | UpdateItem<T, S[T]> | GetItem<T> | DeleteItem<T>
}[TableName<S>]

/** What is the same in all items: a literal list is checked item by item, because comparing each with every table takes seconds. */
export type ItemOutline<S extends SchemaDefinition> = { [M in MethodName]: { readonly [Name in M]: TableName<S> } }[MethodName]

/** The item that a literal one must be: of its method and its table, without members and columns that these do not have. */
type CheckedItem<S extends SchemaDefinition, Item> = [MethodOf<Item>, TableOf<S, Item>] extends [
  infer M,
  infer T extends TableName<S>,
]
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
type ItemValue<D extends TableDefinition, Item> = Item extends { readonly insert: string }
  ? InsertedRecordOf<D, Item>
  : Item extends { readonly update: string }
    ? WrittenRecord<D, Item> & { readonly updatedAt: string }
    : Item extends { readonly get: string }
      ? ReadRecord<D, Item>
      : { readonly id: string; readonly deleted: true }

/** The response to an item. Only with `continueOnError` can it be an error. */
type ResponseTo<S extends SchemaDefinition, Item, O> =
  TableOf<S, Item> extends infer T extends TableName<S>
    ? O extends { readonly continueOnError: boolean }
      ? O extends { readonly continueOnError: false }
        ? Extract<ItemResponse<ItemValue<S[T], Item>>, { readonly ok: true }>
        : ItemResponse<ItemValue<S[T], Item>>
      : Extract<ItemResponse<ItemValue<S[T], Item>>, { readonly ok: true }>
    : never

/** The responses to the items, each with the type of its item at the same position. */
export type BatchResponses<S extends SchemaDefinition, Items extends readonly unknown[], O extends BatchOptions> = {
  readonly [Position in keyof Items]: ResponseTo<S, Items[Position], O>
}
