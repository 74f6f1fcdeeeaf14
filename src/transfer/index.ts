/** The entry point "strongroom/transfer": records in and out, and whole vaults from one storage to another. */

export { reopenSource as reopenVault } from '../core/catalog/vault-moves.ts'
export { type Backup, type BackupOptions, backupVault } from './backup-vault.ts'
export type { ColumnMapping, Target } from './column-mapping.ts'
export { type ExportOptions, type ExportSession, exportRecords } from './export-records.ts'
export type { ImportOptions, ImportProgress, ImportSummary, Reject } from './import-options.ts'
export { type ImportSession, importRecords } from './import-records.ts'
export { type MovedVault, type MoveOptions, moveVault } from './move-vault.ts'
export { type RestoredVault, type RestoreOptions, restoreVault } from './restore-vault.ts'
export type { EmptyValue, ValueFormat } from './value-formats.ts'
