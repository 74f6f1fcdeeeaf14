/** The entry point "strongroom": vaults, schemas, errors, and their types. */
export type { VerificationFailure, VerificationResult } from './core/audit/chain-verifier.ts'
export type { Checkpoint, SignedCheckpoint } from './core/audit/checkpoint.ts'
export type { ActionType, AuditEvent, ResourceType } from './core/audit/event.ts'
export type { AuditAfterOptions, EventQueryInput } from './core/audit/event-query.ts'
export type { CheckpointOptions } from './core/audit-log/checkpoint-audit.ts'
export type { ExportOptions } from './core/audit-log/export-audit.ts'
export type { VerifyAuditOptions } from './core/audit-log/verify-audit.ts'
export type { StoredRecord } from './core/barrier/mint-tokens.ts'
export type { ByotMode } from './core/barrier/supplied-tokens.ts'
export type { BatchItem, ResponseReference } from './core/batch/batch-item.ts'
export type { OperationInput, OperationName, OperationResult } from './core/batch/perform-named.ts'
export type { BatchOptions } from './core/batch/run-batch.ts'
export type { ItemResponse } from './core/batch/run-steps.ts'
export type { CredentialKind, ListedCredential, StoredCredential } from './core/credentials/credential.ts'
export type { Nonce } from './core/credentials/credential-store.ts'
export type { ErrorCode, ErrorDetail, Status, VaultErrorOptions } from './core/errors.ts'
export { isVaultError, STATUSES, statusOf, VaultError } from './core/errors.ts'
export type { Limits } from './core/execution/context.ts'
export type { IssuedTicket } from './core/execution/file-tickets.ts'
export type { Where } from './core/execution/find-changeable.ts'
export type { FileMetadata } from './core/files/file-metadata.ts'
export type { ScanStatus } from './core/files/scan-state.ts'
export type { CreateCredentialInput, CreatedCredential } from './core/operations/create-credential.ts'
export type { DeleteWhereInput } from './core/operations/delete-where.ts'
export type { DetokenizedRecord, DetokenizeOptions, DetokenizeParameter } from './core/operations/detokenize-tokens.ts'
export type { FileStatus, UploadedFileStatus, UploadStatusRecord, UploadStatusResult } from './core/operations/file-status.ts'
export type { UploadURLInput } from './core/operations/file-urls.ts'
export type { GetByTokensOptions, TokenRecord } from './core/operations/get-by-tokens.ts'
export type { IgnoredRecord, InsertedRecord } from './core/operations/insert-records.ts'
export type { IssueBearerInput, IssuedBearer } from './core/operations/issue-bearer.ts'
export type { CredentialList, ListCredentialsOptions } from './core/operations/list-credentials.ts'
export type { EventList } from './core/operations/list-events.ts'
export type { OpenFileOptions, OpenFileResult } from './core/operations/open-file.ts'
export type { QueryOptions } from './core/operations/query-records.ts'
export type { RevokeCredentialInput, RevokedCredential } from './core/operations/revoke-credential.ts'
export type { RecordChange, UpdateManyInput } from './core/operations/update-many.ts'
export type { UpdateWhereInput, UpdateWhereOptions, WhereChange } from './core/operations/update-where.ts'
export type { UploadedFile, UploadFileInput, UploadFileOptions } from './core/operations/upload-file.ts'
export type { Action } from './core/policy/actions.ts'
export type { Caller, RequestContext } from './core/policy/caller.ts'
export type { CallerContext } from './core/policy/caller-context.ts'
export type { ColumnExplanation, Explanation } from './core/policy/explain-access.ts'
export type { PolicyDefinition, PolicyFor, StatementDefinition } from './core/policy/statement.ts'
export type { BlobStore, ByteRange } from './core/ports/blobs.ts'
export type { Clock } from './core/ports/clock.ts'
export type { Entropy } from './core/ports/entropy.ts'
export type { KeyProvider, WrappedKey } from './core/ports/keys.ts'
export type { Log } from './core/ports/log.ts'
export type { CacheReading, Metrics, OperationEnd } from './core/ports/metrics.ts'
export type { Cancellation, FileScanner, ScannedFile, ScanVerdict } from './core/ports/scanner.ts'
export type { Signer } from './core/ports/signer.ts'
export type {
  Aggregate,
  Cell,
  DeleteTarget,
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
} from './core/ports/storage.ts'
export type { Span, SpanAttributes, Tracing } from './core/ports/tracing.ts'
export type { QueryRecord } from './core/queries/run-query.ts'
export type { UpdatedRecord, UpdateOptions } from './core/records/change-store.ts'
export type { UntypedRecord } from './core/records/show-records.ts'
export type { Redaction, RedactionLevel } from './core/redaction/levels.ts'
export type { MaskDefinition } from './core/redaction/masks.ts'
export { mask } from './core/redaction/masks.ts'
export type { OnLowered } from './core/row-access/lowered-columns.ts'
export type {
  ColumnDefinition,
  CommonOptions,
  FileOptions,
  IntegerOptions,
  SchemaDefinition,
  StringOptions,
  TableDefinition,
  TokenDefinition,
} from './core/schema/column.ts'
export { column } from './core/schema/column.ts'
export type { LowerCaseNames, Schema } from './core/schema/define-schema.ts'
export { defineSchema } from './core/schema/define-schema.ts'
export type { ColumnDescription, SchemaDescription } from './core/schema/describe-schema.ts'
export type {
  ColumnName,
  FileColumn,
  InputValue,
  InsertFields,
  LoweredColumn,
  OutputFields,
  OutputValue,
  PlainFields,
  PlainValue,
  TableName,
  TokensOf,
  UpdateFields,
} from './core/schema/infer.ts'
export type { QueryPlan } from './core/sql/explain-plan.ts'
export type { TokenFormatDefinition } from './core/tokens/token-formats.ts'
export type { ClosedByUsing } from './core/util/closed-by-using.ts'
export type { JsonValue } from './core/values/column-type.ts'
export type { VaultOptions } from './core/vault/options.ts'
export type { OnInfected } from './core/vault/scan-worker.ts'
export type {
  FoundRecord,
  Session,
  SessionGetOptions,
  SessionInsertOptions,
  SessionReadOptions,
  SessionStatusRecord,
  SessionUpload,
  SessionWhere,
  TokenizeValue,
  UploadContent,
} from './core/vault/session.ts'
export type { BatchResponses, SessionBatchItem } from './core/vault/session-batch.ts'
export type { ReadRecord, WrittenRecord } from './core/vault/session-records.ts'
export type { Vault, VaultInTransaction } from './core/vault/vault.ts'
export type { BearerRequest, FoundCredential, Refusal, VaultCredentials, VerifiedBearer } from './core/vault/vault-credentials.ts'
export type { UploadByTicket } from './core/vault/vault-files.ts'
export type { RecordFinding, RecordFindingKind, RecordVerificationResult } from './core/verification/record-findings.ts'
export type { VerifyRecordsOptions } from './core/verification/verify-records.ts'
export { createVault } from './create-vault.ts'
