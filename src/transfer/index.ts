/** The entry point "strongroom/transfer": records in and out, and whole vaults from one storage to another. */
export type { ColumnMapping, Target } from './column-mapping.ts'
export { type ExportOptions, type ExportSession, exportRecords } from './export-records.ts'
export type { ImportOptions, ImportProgress, ImportSummary, Reject } from './import-options.ts'
export { type ImportSession, importRecords } from './import-records.ts'
export type { EmptyValue, ValueFormat } from './value-formats.ts'
