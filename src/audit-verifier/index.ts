/** The entry point "strongroom/audit-verifier": verifies an exported audit trail without the vault. */
export type { Checkpoint, SignedCheckpoint } from '../core/audit/checkpoint.ts'
export type { Receipt } from '../core/audit/receipt.ts'
export { VaultError } from '../core/errors.ts'
export type { VerifierKey } from './checkpoints.ts'
export { readCheckpoint } from './checkpoints.ts'
export { isReceiptSigned } from './receipts.ts'
export { type ExportFailure, type ExportVerificationResult, type VerifyExportOptions, verifyExport } from './verify-export.ts'
