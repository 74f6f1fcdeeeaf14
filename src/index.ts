/** The door "strongroom": vaults, schemas, errors, and the types that go with them. */
export type { Byot } from './core/barrier/brought-tokens.ts'
export type { ErrorCode, ErrorFacts } from './core/errors.ts'
export { isVaultError, VaultError } from './core/errors.ts'
export type { Limits } from './core/operations/context.ts'
export type { DetokenizedRecord, DetokenizeOptions, DetokenizeParameter } from './core/operations/detokenize-tokens.ts'
export type { GetByTokensOptions } from './core/operations/get-by-tokens.ts'
export type { Caller } from './core/policy/caller.ts'
export type { Clock } from './core/ports/clock.ts'
export type { Entropy } from './core/ports/entropy.ts'
export type { KeyProvider, WrappedSecret } from './core/ports/keys.ts'
export type {
  Cell,
  Doomed,
  Filter,
  Measure,
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
export type { AskedLevel, Level } from './core/redaction/levels.ts'
export type { MaskDefinition } from './core/redaction/masks.ts'
export { mask } from './core/redaction/masks.ts'
export type {
  ColumnDefinition,
  CommonOptions,
  IntegerOptions,
  SchemaDefinition,
  StringOptions,
  TableDefinition,
  TokenDefinition,
} from './core/schema/column.ts'
export { column } from './core/schema/column.ts'
export type { Schema } from './core/schema/define-schema.ts'
export { defineSchema } from './core/schema/define-schema.ts'
export type { TokenFormatDefinition } from './core/tokens/token-formats.ts'
export type { JsonValue } from './core/values/column-type.ts'
export type { Session, Vault, VaultInTransaction, VaultOptions } from './core/vault.ts'
export { createVault } from './create-vault.ts'
