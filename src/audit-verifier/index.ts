/** The entry point "strongroom/audit-verifier": verifies an exported audit trail without the vault. */
export type { Checkpoint, SignedCheckpoint } from '../core/audit/checkpoint.ts'
export { VaultError } from '../core/errors.ts'
export type { VerifierKey } from './checkpoints.ts'
export { readCheckpoint } from './checkpoints.ts'
export { type ExportFailure, type ExportVerificationResult, type VerifyExportOptions, verifyExport } from './verify-export.ts'
