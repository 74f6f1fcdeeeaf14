/** Entry point "strongroom/scanner": a malware scanner for files, with the daemon of ClamAV. */
export type { FileScanner, ScannedFile, ScanVerdict } from '../../core/ports/blobs.ts'
export { type ClamdAddress, type ClamdOptions, clamdScanner } from './clamd-scanner.ts'
