/** The entry point "strongroom/audit-verifier": verifies an exported audit trail without the vault. */
export type { Checkpoint, SignedCheckpoint } from '../core/audit/checkpoint.ts'
export { VaultError } from '../core/errors.ts'
export type { VerifierKey } from './public-keys.ts'
export { readCheckpoint } from './read-checkpoint.ts'
export { type ExportFailure, type ExportVerificationResult, type VerifyExportOptions, verifyExport } from './verify-export.ts'
