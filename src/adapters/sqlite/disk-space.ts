/** Distinguishes a full disk from other failures to write: SQLite has several codes for it, and only one that says so. */
import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'

/** Less than SQLite extends a file by at once: 32 KiB, for the index of its log. */
const FULL_BELOW_BYTES = 64 * 1024

/** True if the disk of a file has no space for another write. */
export function isDiskFull(filename: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(filename))
    return bavail * bsize < FULL_BELOW_BYTES
  } catch {
    return false
  }
}
