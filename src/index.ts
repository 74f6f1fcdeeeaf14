/** The entry point "strongroom": vaults, schemas, errors, and their types. */
export type { VerificationFailure, VerificationResult } from './core/audit/chain-verifier.ts'
export type { Checkpoint, SignedCheckpoint } from './core/audit/checkpoint.ts'
export type { ActionType, AuditEvent, AuthMode, EventContext, ResourceType } from './core/audit/event.ts'
export type { ActionWord, AuditAfterOptions, EventQueryInput, SortMember } from './core/audit/event-query.ts'
export type { CheckpointOptions, ExportOptions, VerifyAuditOptions } from './core/audit-log/audit-trail.ts'
export type { StoredRecord, Tokens } from './core/barrier/mint-tokens.ts'
export type { Fields } from './core/barrier/reveal.ts'
export type { ByotMode } from './core/barrier/supplied-tokens.ts'
export type { BatchItem, MethodName, ResponseReference } from './core/batch/batch-item.ts'
export type { OperationInput, OperationName, OperationResult } from './core/batch/perform-named.ts'
export type { BatchOptions } from './core/batch/run-batch.ts'
export type { ItemResponse } from './core/batch/run-steps.ts'
export type { CredentialKind, ListedCredential, Nonce, StoredCredential } from './core/credentials/credential-store.ts'
export type { ErrorCode, ErrorDetail, ErrorDetails, Status, VaultErrorOptions } from './core/errors.ts'
export { isVaultError, STATUSES, statusOf, VaultError } from './core/errors.ts'
export type { Limits } from './core/execution/context.ts'
export type { IssuedTicket } from './core/execution/file-tickets.ts'
export type { Where } from './core/execution/find-records.ts'
export type { IgnoredRecord, InsertedRecord } from './core/execution/write-records.ts'
export type { QueryValue } from './core/expressions/parameter-values.ts'
export type { FileMetadata } from './core/files/file-metadata.ts'
export type { ScanStatus } from './core/files/scan-state.ts'
export type { QueryLimits } from './core/limits.ts'
export type {
  CreateCredentialInput,
  CreatedCredential,
  CredentialList,
  ListCredentialsOptions,
  RevokeCredentialInput,
  RevokedCredential,
} from './core/operations/credentials.ts'
export type { DeleteOneOptions, VersionedId } from './core/operations/delete-records.ts'
export type { DeleteWhereInput } from './core/operations/delete-where.ts'
export type { DetokenizedRecord, DetokenizeOptions, DetokenizeParameter } from './core/operations/detokenize-tokens.ts'
export type { FileStatus, FileStatusRecord, FileStatusResult, UploadedFileStatus } from './core/operations/file-status.ts'
export type { UploadTicketInput } from './core/operations/file-urls.ts'
export type { GetByTokensOptions, TokenRecord } from './core/operations/get-by-tokens.ts'
export type { GetOptions, ReadOptions } from './core/operations/get-records.ts'
export type { IssueBearerInput, IssuedBearer } from './core/operations/issue-bearer.ts'
export type { EventList } from './core/operations/list-events.ts'
export type { OpenFileOptions, OpenFileResult } from './core/operations/open-file.ts'
export type { QueryOptions, QueryOutcome } from './core/operations/query-records.ts'
export type { TokenizeParameter } from './core/operations/tokenize-values.ts'
export type { RecordChange, UpdateInput, UpdateOneOptions } from './core/operations/update-records.ts'
export type { UpdateWhereInput, UpdateWhereOptions } from './core/operations/update-where.ts'
export type { UploadedFile, UploadFileInput, UploadFileOptions } from './core/operations/upload-file.ts'
export type { Caller, CallerContext, CallerIn, RequestContext } from './core/policy/caller.ts'
export type { ColumnExplanation, ExplainOptions, Explanation, StatementExplanation } from './core/policy/explain-access.ts'
export type {
  Action,
  AllowStatement,
  BuiltInRole,
  DenyStatement,
  PolicyDefinition,
  PolicyFor,
  StatementDefinition,
  StatementMembers,
  TargetIn,
} from './core/policy/statement.ts'
export type { BlobStore, ByteRange, FileScanner, ScannedFile, ScanVerdict } from './core/ports/blobs.ts'
export type { Entropy, KeyProvider, RootKeySet, RootKeyState, Signer, WrappedKey } from './core/ports/crypto.ts'
export type { CacheReading, Log, Metrics, OperationEnd, Span, SpanAttributes, Tracing } from './core/ports/observability.ts'
export type {
  Aggregate,
  BytesPart,
  Cell,
  Changes,
  ColumnCells,
  ColumnPage,
  DeleteTarget,
  DisposableStorage,
  Filter,
  NewRow,
  Page,
  Patch,
  PhysicalColumn,
  PhysicalIndex,
  PhysicalTable,
  PhysicalType,
  Row,
  Storage,
  StorageHandle,
  TransactionOptions,
} from './core/ports/storage.ts'
export type { Clock } from './core/ports/time.ts'
export type { QueryBudget } from './core/queries/budget-meter.ts'
export type { QueryRecord, QueryRecordFields } from './core/queries/run-query.ts'
export type { UpdatedRecord, UpdateOptions } from './core/records/change-store.ts'
export type { UntypedRecord } from './core/records/show-records.ts'
export type { Redaction, RedactionLevel } from './core/redaction/levels.ts'
export type { MaskDefinition } from './core/redaction/masks.ts'
export { mask } from './core/redaction/masks.ts'
export type { OnLowered } from './core/row-access/lowered-columns.ts'
export type {
  ColumnDefinition,
  ColumnOf,
  CommonOptions,
  FileOptions,
  IntegerOptions,
  NoOptions,
  SchemaDefinition,
  StringOptions,
  TableDefinition,
} from './core/schema/column.ts'
export { column } from './core/schema/column.ts'
export type { LowerCaseNames, NameMustBeLowerCase, Schema } from './core/schema/define-schema.ts'
export { defineSchema } from './core/schema/define-schema.ts'
export type { ColumnDescription, SchemaDescription } from './core/schema/describe-schema.ts'
export type {
  Absence,
  ColumnName,
  DeterministicColumn,
  DeterministicToken,
  FileColumn,
  GroupName,
  GroupValue,
  InputValue,
  InsertFields,
  LookupColumn,
  LoweredColumn,
  OutputFields,
  OutputValue,
  PlainFields,
  PlainValue,
  ReadableColumn,
  RequiredColumn,
  TableName,
  TokenizedColumn,
  TokensOf,
  TransientToken,
  UniqueColumn,
  UpdateFields,
  ValueColumn,
} from './core/schema/infer.ts'
export type { ExplainedColumn, ExplainedSource, QueryPlan } from './core/sql/explain-plan.ts'
export type { UseKind } from './core/sql/query.ts'
export type { RowStatement } from './core/sql/source-access.ts'
export { type SqlPiece, type SqlQuery, type SqlTag, sql } from './core/sql/sql.ts'
export type { CardOptions } from './core/tokens/formats/card-format.ts'
export type { EmailOptions } from './core/tokens/formats/email-format.ts'
export type { PhoneOptions } from './core/tokens/formats/phone-format.ts'
export type { PresetDefinition, TokenFormatDefinition, TokenPreset } from './core/tokens/token-formats.ts'
export type { NoTokenOptions, TokenDefinition, TokenKindName, TokenKindTypes } from './core/tokens/token-kind.ts'
export type { OnProgress, Progress } from './core/util/boundary.ts'
export type { ClosedByUsing } from './core/util/causes.ts'
export type { Slab } from './core/util/memory.ts'
export type { Signal } from './core/util/signal.ts'
export type { ColumnTypeName, JsonInput, JsonValue, ValueTypes } from './core/values/column-type.ts'
export { COLUMN_TYPES } from './core/values/column-types.ts'
export type { Normalizer } from './core/values/normalizers.ts'
export type { MayBeLowered, NotLowered, PlainText, ShownText } from './core/values/shown-text.ts'
export type { VaultOptions } from './core/vault/options.ts'
export type { RecordPage } from './core/vault/read-pages.ts'
export type { VaultTransactionOptions } from './core/vault/retried-transaction.ts'
export type { OnInfected } from './core/vault/scan-worker.ts'
export type { Session } from './core/vault/session.ts'
export type {
  BatchResponses,
  DeleteItem,
  GetItem,
  InsertItem,
  ItemFor,
  ItemOutline,
  SessionBatchItem,
  UpdateItem,
} from './core/vault/session-batch.ts'
export type {
  FailedToken,
  FoundFields,
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
  ShownVersion,
  TokenizeValue,
  UploadContent,
  WrittenRecord,
} from './core/vault/session-records.ts'
export type { Vault, VaultInTransaction } from './core/vault/vault.ts'
export type { BearerRequest, FoundCredential, Refusal, VaultCredentials, VerifiedBearer } from './core/vault/vault-credentials.ts'
export type { UploadByTicket } from './core/vault/vault-files.ts'
export type { WatchOptions } from './core/vault/watched-work.ts'
export type { RecordFinding, RecordFindingKind, RecordVerificationResult } from './core/verification/record-findings.ts'
export type { VerifyRecordsOptions } from './core/verification/verify-records.ts'
export { createVault } from './create-vault.ts'
