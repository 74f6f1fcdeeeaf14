/** The entry point "strongroom": vaults, schemas, errors, and their types. */
export type { VerificationResult } from './core/audit/chain-verifier.ts'
export type { SignedCheckpoint } from './core/audit/checkpoint.ts'
export type { AuditEvent } from './core/audit/event.ts'
export type { EventQueryInput } from './core/audit/event-query.ts'
export type { Fields } from './core/barrier/reveal.ts'
export type { BatchItem, ResponseReference } from './core/batch/batch-item.ts'
export type { BatchOptions } from './core/batch/run-batch.ts'
export type { ItemResponse } from './core/batch/run-steps.ts'
export type { ErrorCode, ErrorDetail } from './core/errors.ts'
export { isVaultError, STATUSES, statusOf, VaultError } from './core/errors.ts'
export type { Limits } from './core/execution/context.ts'
export type { IssuedTicket } from './core/execution/file-tickets.ts'
export type { IgnoredRecord } from './core/execution/write-records.ts'
export type { QueryValue } from './core/expressions/parameter-values.ts'
export type { FileMetadata } from './core/files/file-metadata.ts'
export type { CreateCredentialInput, CreatedCredential, CredentialList } from './core/operations/credentials.ts'
export type { DetokenizedRecord, DetokenizeOptions } from './core/operations/detokenize-tokens.ts'
export type { FileStatus, FileStatusResult } from './core/operations/file-status.ts'
export type { GetByTokensOptions } from './core/operations/get-by-tokens.ts'
export type { EventList } from './core/operations/list-events.ts'
export type { OpenFileOptions, OpenFileResult } from './core/operations/open-file.ts'
export type { QueryOptions, QueryOutcome } from './core/operations/query-records.ts'
export type { Caller, RequestContext } from './core/policy/caller.ts'
export type { Explanation } from './core/policy/explain-access.ts'
export type { Action, BuiltInRole, PolicyDefinition, PolicyFor, StatementDefinition } from './core/policy/statement.ts'
export type { Entropy, KeyProvider, Signer } from './core/ports/crypto.ts'
export type { Log, Metrics, Tracing } from './core/ports/observability.ts'
export type { Clock } from './core/ports/time.ts'
export type { QueryRecord } from './core/queries/run-query.ts'
export type { UpdateOptions } from './core/records/change-store.ts'
export type { UntypedRecord } from './core/records/show-records.ts'
export type { Levels, MaskDefinition, Redaction } from './core/redaction.ts'
export { mask } from './core/redaction.ts'
export type { OnLowered } from './core/row-access/evaluate-access.ts'
export type { ColumnDefinition, ColumnOf, NoOptions, SchemaDefinition, TableDefinition } from './core/schema/column.ts'
export { column } from './core/schema/column.ts'
export type { LowerCaseNames, Schema } from './core/schema/define-schema.ts'
export { defineSchema, storedSchema } from './core/schema/define-schema.ts'
export type { ColumnDescription, SchemaDescription } from './core/schema/describe-schema.ts'
export type {
  ColumnName,
  DeterministicColumn,
  FileColumn,
  GroupName,
  InputValue,
  InsertFields,
  LookupColumn,
  OutputFields,
  OutputValue,
  PlainFields,
  PlainValue,
  ReadableColumn,
  RequiredColumn,
  TableName,
  TokenizedColumn,
  TokensOf,
  UniqueColumn,
  UpdateFields,
  ValueColumn,
} from './core/schema/infer.ts'
export type { QueryPlan } from './core/sql/explain-plan.ts'
export { escapeLike, type SqlQuery, sql } from './core/sql/sql.ts'
export type { TokenDefinition } from './core/tokens/token-kind.ts'
export type { Signal } from './core/util/signal.ts'
export type { JsonInput, JsonValue } from './core/values/column-type.ts'
export { COLUMN_TYPES } from './core/values/column-types.ts'
export type { PlainText, ShownText } from './core/values/shown-text.ts'
export type { OperationInput, OperationName, OperationResult } from './core/vault/administration.ts'
export type { VaultOptions } from './core/vault/options.ts'
export type { VaultTransactionOptions } from './core/vault/outside-calls.ts'
export type { Session } from './core/vault/session.ts'
export type { BatchResponses, SessionBatchItem } from './core/vault/session-batch.ts'
export type { RecordPage } from './core/vault/session-input.ts'
export type {
  FailedToken,
  FoundRecord,
  ReadRecord,
  SessionGetOptions,
  SessionInsertOneOptions,
  SessionInsertOptions,
  SessionReadOptions,
  SessionUpdateOneOptions,
  SessionUpload,
  SessionWhere,
  WrittenRecord,
} from './core/vault/session-records.ts'
export type { Vault, VaultInTransaction } from './core/vault/vault.ts'
export type { FoundCredential } from './core/vault/vault-credentials.ts'
export type { RecordVerificationResult } from './core/verification/record-findings.ts'
export { createVault } from './create-vault.ts'
