/** The session of one caller, typed by the schema: each method passes its input to one operation. */

import type { EventQueryInput } from '../audit/event-query.ts'
import type { BatchItem } from '../batch/batch-item.ts'
import { type OperationInput as InputOf, type OperationName as NameOf, performNamed } from '../batch/perform-named.ts'
import { type BatchOptions, batch } from '../batch/run-batch.ts'
import type { DeleteOptions } from '../execution/check-input.ts'
import type { IssuedTicket } from '../execution/file-tickets.ts'
import type { Where } from '../execution/find-records.ts'
import type { PerformOptions } from '../execution/once.ts'
import { perform } from '../execution/perform.ts'
import type { QueryValue } from '../expressions/parameter-values.ts'
import type { FileMetadata } from '../files/file-metadata.ts'
import {
  type CreateCredentialInput,
  type CreatedCredential,
  type CredentialList,
  createCredential,
  type ListCredentialsOptions,
  listCredentials,
  type RevokeCredentialInput,
  type RevokedCredential,
  revokeCredential,
} from '../operations/credentials.ts'
import { deleteFile } from '../operations/delete-file.ts'
import { ALL, type DeleteOneOptions, deleteOne, deleteRecords, type VersionedId } from '../operations/delete-records.ts'
import { deleteWhere } from '../operations/delete-where.ts'
import {
  type DetokenizedRecord,
  type DetokenizeOptions,
  type DetokenizeParameter,
  detokenize,
} from '../operations/detokenize-tokens.ts'
import {
  type FileStatus,
  type FileStatusRecord,
  type FileStatusResult,
  fileStatus,
  fileStatuses,
} from '../operations/file-status.ts'
import { type GetByTokensOptions, getByTokens } from '../operations/get-by-tokens.ts'
import { get, getOne } from '../operations/get-records.ts'
import { insert, type RecordInput } from '../operations/insert-records.ts'
import { downloadTicket, type UploadTicketInput, uploadTicket } from '../operations/issue-tickets.ts'
import { type EventList, listEvents } from '../operations/list-events.ts'
import { type OpenFileOptions, type OpenFileResult, openFile } from '../operations/open-file.ts'
import { type PreviewAccessInput, type PreviewedAccess, previewAccess } from '../operations/preview-access.ts'
import { type QueryOptions, type QueryOutcome, query } from '../operations/query-records.ts'
import { type CheckedPolicy, type CheckPolicyInput, checkPolicy, type ReadPolicy, readPolicy } from '../operations/read-policy.ts'
import { type TokenizeParameter, tokenize } from '../operations/tokenize-values.ts'
import { type RecordChange, update, updateOne } from '../operations/update-records.ts'
import { type UpdateWhereOptions, updateWhere } from '../operations/update-where.ts'
import { uploadFile } from '../operations/upload-file.ts'
import type { QueryRecordFields } from '../queries/run-query.ts'
import type { UpdateOptions } from '../records/change-store.ts'
import type { NoOptions, SchemaDefinition } from '../schema/column.ts'
import type { FileColumn, InsertFields, TableName, TokenizedValue, TokensOf, UpdateFields } from '../schema/infer.ts'
import type { SqlQuery } from '../sql/sql.ts'
import { at } from '../util/lists.ts'
import {
  CALLS,
  makeCall,
  type OperationInput,
  type OperationName,
  type OperationResult,
  type Performing,
} from './administration.ts'
import type { BatchResponses, CheckedItems, ItemOutline } from './session-batch.ts'
import { type GivenUpload, type RecordPage, readPages, toInsertInput, toQueryInput, toUploadInput } from './session-input.ts'
import type {
  FoundRecord,
  InsertedRecordOf,
  ReadRecord,
  SessionGetOptions,
  SessionInsertOneOptions,
  SessionInsertOptions,
  SessionPagesOptions,
  SessionReadOptions,
  SessionStatusRecord,
  SessionUpdateOneOptions,
  SessionUpload,
  SessionWhere,
  TokenizeValue,
  WrittenRecord,
} from './session-records.ts'

/** The methods of one caller. Each checks its input at run time too. Errors are `VaultError`s that name positions, never values. */
export interface Session<S extends SchemaDefinition> {
  /**
   * Inserts records, all or none, in order. With `upsert`, a record whose value in that unique column exists is updated instead. With
   * `onConflict: 'ignore'`, a record with a unique value that exists is left out, and its result is `{ ignored: true }`.
   * Throws `invalid_request`, `unprocessable`, `conflict`, `forbidden`. Source: specification, "Records".
   */
  insert<T extends TableName<S>, const O extends SessionInsertOptions<S[T]> = NoOptions>(
    table: T,
    records: readonly { readonly fields: InsertFields<S[T]>; readonly tokens?: TokensOf<S[T]> }[],
    options?: O,
  ): Promise<{ records: InsertedRecordOf<S[T], O>[] }>
  /** Inserts one record, and returns it: its id, and with `tokenization` its tokens. Throws like `insert`. */
  insertOne<T extends TableName<S>, const O extends SessionInsertOneOptions<S[T]> = NoOptions>(
    table: T,
    fields: InsertFields<S[T]>,
    options?: O,
  ): Promise<InsertedRecordOf<S[T], O>>
  /**
   * Reads by `ids`, by `where`, or page by page: pass `next` of a page as `after`. Throws `not_found` for an id
   * without a record, `forbidden` for a masked or redacted field with `onLowered`, and `invalid_request` for a cursor of another read.
   */
  get<T extends TableName<S>, const O extends SessionGetOptions<S[T]> = NoOptions>(
    table: T,
    options?: O,
  ): Promise<RecordPage<S[T], O>>
  /**
   * Yields the pages of a read, `limit` records each: `for await (const page of session.pages('customers', { limit: 500 }))`. A record that was
   * stored before the first page is read is on one page, whatever others insert, change or delete meanwhile. Each page is a `get` with an
   * event of its own, and throws like it. Source: docs/reading.md.
   */
  pages<T extends TableName<S>, const O extends SessionPagesOptions<S[T]> = NoOptions>(
    table: T,
    options?: O,
  ): AsyncGenerator<RecordPage<S[T], O>, undefined>
  /** Reads one record. Throws like `get`. */
  getOne<T extends TableName<S>, const O extends SessionReadOptions<S[T]> = NoOptions>(
    table: T,
    id: string,
    options?: O,
  ): Promise<ReadRecord<S[T], O>>
  /**
   * Updates records of one table, all or none, in order and with one event. Each is replaced like that of `updateOne`, which has `tokens` and
   * `ifVersion` among its options. Throws like `updateOne`, with the index of the record, and `invalid_request` if two name one id.
   */
  update<T extends TableName<S>, const O extends UpdateOptions = NoOptions>(
    table: T,
    records: readonly {
      readonly id: string
      readonly fields: UpdateFields<S[T]>
      readonly tokens?: TokensOf<S[T]>
      readonly ifVersion?: string
    }[],
    options?: O,
  ): Promise<{ records: (WrittenRecord<S[T], O> & { readonly updatedAt: string })[] }>
  /**
   * Replaces the values of the named columns of one record. Throws `not_found`, `unprocessable`, `conflict`, `aborted`. What the caller is
   * shown in place of a value, masked or redacted, is `unprocessable`. With `ifVersion`, a record that was written since that read is `aborted`.
   */
  updateOne<T extends TableName<S>, const O extends SessionUpdateOneOptions<S[T]> = NoOptions>(
    table: T,
    id: string,
    fields: UpdateFields<S[T]>,
    options?: O,
  ): Promise<WrittenRecord<S[T], O> & { readonly updatedAt: string }>
  /**
   * Writes the same values over every record with the value, or one of the values, in a look-up column, all or none, and returns these
   * records. Needs READ and SEARCH, as a `get` by the column does, and UPDATE. Throws `limit_exceeded` for more than `limits.maxRecords`
   * records, `not_found` for one that the caller can read and not update.
   */
  updateWhere<T extends TableName<S>, const O extends UpdateWhereOptions = NoOptions>(
    table: T,
    where: SessionWhere<S[T]>,
    fields: UpdateFields<S[T]>,
    options?: O,
  ): Promise<{ records: (WrittenRecord<S[T], O> & { readonly updatedAt: string })[] }>
  /**
   * Deletes the records of these ids, all or none, or every record with '*' or ['*']. Throws `not_found`, and `aborted` for one that was written
   * since the read of its `ifVersion`.
   */
  delete(table: TableName<S>, ids: readonly (string | VersionedId)[] | '*', options?: DeleteOptions): Promise<{ ids: string[] }>
  /** Deletes one record. Throws like `delete`. */
  deleteOne(table: TableName<S>, id: string, options?: DeleteOneOptions): Promise<{ id: string; deleted: true }>
  /** Deletes every record with the value, or one of the values, in a look-up column, all or none, and returns their ids. Throws like `updateWhere`, with DELETE in place of UPDATE. */
  deleteWhere<T extends TableName<S>>(table: T, where: SessionWhere<S[T]>, options?: DeleteOptions): Promise<{ ids: string[] }>
  /** Returns the value of each token as text, in order. Throws `not_found` with positions, unless `continueOnError` is set and some tokens are found. */
  detokenize(parameters: readonly DetokenizeParameter[], options?: DetokenizeOptions): Promise<{ records: DetokenizedRecord[] }>
  /** Returns the deterministic token of each value, in order. Throws `not_found` if no live record has a value, `unprocessable` for a column without deterministic tokens. */
  tokenize(parameters: readonly TokenizeValue<S>[]): Promise<{ records: { token: TokenizedValue<S> }[] }>
  /** Returns the record of each token, in order; with `columnOnly` the value of its column alone. A token that is not found has an error. */
  getByTokens<const T extends TableName<S> = TableName<S>, const O extends GetByTokensOptions = NoOptions>(
    tokens: readonly string[],
    options?: O,
  ): Promise<{ records: FoundRecord<S, T, O>[] }>
  /**
   * Runs a SELECT over sealed and plain columns, and returns at most 25 records; `isCut` says that it has more. docs/sql.md defines the names of fields; the record
   * id is `svc_id`. `values` are those of `$1`, `$2` and so on; a query made by `sql` has its own. `Row` is what the caller claims of
   * the fields, and is not checked. Throws `invalid_request` or `unsupported` with line and column, `forbidden` for a condition on data that the
   * caller cannot see, `unprocessable` for types that do not fit together.
   */
  query<Row extends object = QueryRecordFields>(
    text: string,
    values: readonly QueryValue[],
    options?: QueryOptions,
  ): Promise<QueryOutcome<Row>>
  query<Row extends object = QueryRecordFields>(query: string | SqlQuery, options?: QueryOptions): Promise<QueryOutcome<Row>>
  /**
   * Runs many operations in one transaction and records one event. Returns the response to each item, in order: the result of its own method.
   * Without `continueOnError` the first failure rolls back all of it; the error names the item by `index`. With it, a failing item is rolled
   * back alone, and its response has the error. Throws `invalid_request`, `limit_exceeded`, and in both cases `aborted`, `unavailable` and
   * other errors after which the transaction cannot go on. Source: specification, "Batch".
   */
  batch<const Items extends readonly ItemOutline<S>[], const O extends BatchOptions = NoOptions>(
    items: CheckedItems<S, Items>,
    options?: O,
  ): Promise<{ responses: BatchResponses<S, Items, O> }>
  /**
   * Lists audit events, by default newest first. `nextOps` continues after the page. Needs AUDIT. Throws `forbidden`,
   * `invalid_request`. Source: specification, "Audit".
   */
  listEvents(query: EventQueryInput): Promise<EventList>
  /**
   * Uploads a file into a record, or into a new one without `id`. A file there is replaced: readers see the old one or the new one, whole.
   * Needs UPDATE of the column, or CREATE. Throws `unprocessable` for an empty file or a type that the column does not allow,
   * `limit_exceeded` for one that is too long, `failed_precondition` in a transaction. Nothing is stored then. Source: specification, "Files".
   */
  uploadFile<T extends TableName<S>, const R extends boolean = false>(
    upload: SessionUpload<S, T> & { readonly returnFileMetadata?: R },
  ): Promise<{ id: string } & (R extends true ? { fileMetadata: Readonly<Record<string, FileMetadata>> } : unknown)>
  /**
   * Opens a file, whole or a range of it. Needs READ of the column in plain text. Throws `not_found` without a file, and
   * `failed_precondition` for one that is not clean while the vault has a scanner.
   */
  openFile<T extends TableName<S>>(
    table: T,
    id: string,
    column: FileColumn<S[T]>,
    options?: OpenFileOptions,
  ): Promise<OpenFileResult>
  /** Deletes a file of a record. Needs UPDATE of the column. Throws `not_found`. */
  deleteFile<T extends TableName<S>>(table: T, id: string, column: FileColumn<S[T]>): Promise<{ id: string; deleted: true }>
  /** Returns whether a record has a file, and the state of its scan. Needs READ of the column, at any level. Throws `not_found`. */
  fileStatus<T extends TableName<S>>(table: T, id: string, column: FileColumn<S[T]>): Promise<FileStatus>
  /** Returns the same for files of many records, in order. A record that cannot be read has an error. */
  fileStatuses(records: readonly SessionStatusRecord<S>[]): Promise<{ records: FileStatusResult[] }>
  /** Returns a ticket for each column, valid for 15 minutes and one upload: see `vault.uploadWithTicket`. Needs the grants of the upload. */
  uploadTicket<T extends TableName<S>, const C extends FileColumn<S[T]>>(request: {
    readonly table: T
    readonly id?: string
    readonly columns: readonly C[]
  }): Promise<{ tickets: Readonly<Record<C, IssuedTicket>> }>
  /** Returns a ticket to download a file for 15 minutes: see `vault.downloadWithTicket`. Throws like `openFile`. */
  downloadTicket<T extends TableName<S>>(table: T, id: string, column: FileColumn<S[T]>): Promise<IssuedTicket>
  /**
   * Stores a credential with any roles, and what verifies it. Needs ALL ON * in plain text, as VAULT_OWNER has it. Throws `forbidden`,
   * `invalid_request`. The secret itself is never passed to the vault.
   */
  createCredential(credential: CreateCredentialInput): Promise<CreatedCredential>
  /**
   * Revokes a credential by its key id, or a JWT by its `jti` until it expires, in every process at once. Again does nothing more. Needs
   * what `createCredential` needs. Throws `not_found` for an unknown key id.
   */
  revokeCredential(credential: RevokeCredentialInput): Promise<RevokedCredential>
  /** Lists the credentials in the order they were created, with expired ones until `vault.sweep`. Needs what `createCredential` needs. */
  listCredentials(options?: ListCredentialsOptions): Promise<CredentialList>
  /** Returns who the caller is, as the vault knows them. Needs no grant, and records no event. */
  describeCaller(): Promise<OperationResult<'describeCaller'>>
  /**
   * Returns the tables and columns on which the caller is granted something, at which levels, and the statements that decide it. What they do not know
   * is left out, as if it did not exist. Needs no grant, and records no event. Source: docs/policy.md.
   */
  describeSchema(): Promise<OperationResult<'describeSchema'>>
  /**
   * Returns how a query would run, as `vault.explainQuery` does, without the columns that the caller does not know. Reads no record, and records no
   * event. Throws like `query`.
   */
  explainQuery(query: string | SqlQuery, values?: readonly QueryValue[]): Promise<OperationResult<'explainQuery'>>
  /** Returns the statements of every role of the policy. Needs what `createCredential` needs. */
  readPolicy(): Promise<ReadPolicy>
  /**
   * Shows records as a caller with other roles and attributes sees them, beside what this caller sees, at the lower of both callers' levels; also
   * by a draft of roles. Records one GET event of this caller, with `seenAs`. Needs what `createCredential` needs. Throws `forbidden`,
   * `invalid_request`, `not_found`. Source: docs/policy.md.
   */
  previewAccess(preview: PreviewAccessInput): Promise<PreviewedAccess>
  /** Checks a draft of roles, and returns its errors, or what it would change for whom. It is not deployed. Needs what `createCredential` needs. */
  checkPolicy(draft: CheckPolicyInput): Promise<CheckedPolicy>
  /**
   * Performs an operation by its name, typed by the operation and not by the schema, for example for HTTP routes; also those of an owner or an
   * auditor that have no method, as docs/http.md lists them. Checks its input like the other methods. Throws `invalid_request` for an unknown name. With an `idempotencyKey`, a write is performed once: its repeat returns
   * the same result. Throws `conflict` for a key of another request.
   */
  perform<Name extends OperationName>(
    name: Name,
    input: OperationInput<Name>,
    options?: PerformOptions,
  ): Promise<OperationResult<Name>>
}

/** Returns a session. Operations check their input; the cast gives their results the types of the schema. */
export function createSession<S extends SchemaDefinition>(performing: Performing): Session<S> {
  const { context } = performing
  const session = {
    insert: (table: string, records: readonly RecordInput[], options = {}) =>
      perform(context, insert, { table, records, options }),
    insertOne: async (table: string, fields: unknown, options = {}) =>
      at((await perform(context, insert, toInsertInput(table, fields, options))).records, 0),
    get: (table: string, options = {}) => perform(context, get, { table, options }),
    pages: (table: string, options = {}) => readPages(context, table, options),
    getOne: (table: string, id: string, options = {}) => perform(context, getOne, { table, id, options }),
    update: (table: string, records: readonly RecordChange[], options = {}) =>
      perform(context, update, { table, records, options }),
    updateOne: (table: string, id: string, fields: object, options = {}) =>
      perform(context, updateOne, { table, id, fields, options }),
    updateWhere: (table: string, where: Where, fields: object, options = {}) =>
      perform(context, updateWhere, { table, where, fields, options }),
    delete: (table: string, ids: readonly (string | VersionedId)[] | '*', options = {}) =>
      perform(context, deleteRecords, { table, ids: ids === ALL ? [ALL] : ids, options }),
    deleteOne: (table: string, id: string, options = {}) => perform(context, deleteOne, { table, id, options }),
    deleteWhere: (table: string, where: Where, options = {}) => perform(context, deleteWhere, { table, where, options }),
    detokenize: (records: readonly DetokenizeParameter[], options = {}) => perform(context, detokenize, { records, options }),
    tokenize: (records: readonly TokenizeParameter[]) => perform(context, tokenize, { records }),
    getByTokens: (tokens: readonly string[], options = {}) => perform(context, getByTokens, { tokens, options }),
    query: (given: string | SqlQuery, second?: readonly QueryValue[] | QueryOptions, third?: QueryOptions) =>
      perform(context, query, toQueryInput(given, second, third)),
    batch: (items: readonly BatchItem[], options = {}) => perform(context, batch, { items, options }),
    listEvents: (query: EventQueryInput) => perform(context, listEvents, { query }),
    uploadFile: (given: GivenUpload) => perform(context, uploadFile, toUploadInput(given)),
    openFile: (table: string, id: string, column: string, options = {}) =>
      perform(context, openFile, { table, id, column, options }),
    deleteFile: (table: string, id: string, column: string) => perform(context, deleteFile, { table, id, column }),
    fileStatus: (table: string, id: string, column: string) => perform(context, fileStatus, { table, id, column }),
    fileStatuses: (records: readonly FileStatusRecord[]) => perform(context, fileStatuses, { records }),
    uploadTicket: (given: UploadTicketInput) => perform(context, uploadTicket, given),
    downloadTicket: (table: string, id: string, column: string) => perform(context, downloadTicket, { table, id, column }),
    createCredential: (given: CreateCredentialInput) => perform(context, createCredential, given),
    revokeCredential: (given: RevokeCredentialInput) => perform(context, revokeCredential, given),
    listCredentials: (options = {}) => perform(context, listCredentials, { options }),
    describeCaller: () => performNamed(context, 'describeCaller', {}),
    describeSchema: () => performNamed(context, 'describeSchema', {}),
    explainQuery: (given: string | SqlQuery, values?: readonly QueryValue[]) =>
      performNamed(context, 'explainQuery', { query: given, values }),
    readPolicy: () => perform(context, readPolicy, {}),
    previewAccess: (given: PreviewAccessInput) => perform(context, previewAccess, given),
    checkPolicy: (given: CheckPolicyInput) => perform(context, checkPolicy, given),
    perform: <Name extends OperationName>(name: Name, input: OperationInput<Name>, options?: PerformOptions) =>
      // Not every name that comes from outside is text.
      typeof name === 'string' && Object.hasOwn(CALLS, name)
        ? makeCall(performing, name as keyof typeof CALLS, input)
        : performNamed(context, name as NameOf, input as InputOf<NameOf>, options),
  }
  return session as unknown as Session<S>
}
