/** Distinguishes a full disk from other failures to write: SQLite has several codes for it, and only one that says so. */
import { accessSync, constants, statfsSync } from 'node:fs'

/** Less than SQLite extends a file by at once: 32 KiB, for the index of its log. */
const FULL_BELOW_BYTES = 64 * 1024

/** True if the disk of a file has no space for another write. A file system that is read-only often has no free block either, and is not full. */
export function isDiskFull(filename: string): boolean {
  try {
    const folder = folderOf(filename)
    const { bavail, blocks, bsize } = statfsSync(folder)
    // One without blocks, such as /proc, holds no files that could fill it.
    if (blocks === 0 || bavail * bsize >= FULL_BELOW_BYTES) return false
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** The folder exists also where the file could not be created. */
function folderOf(filename: string): string {
  const end = Math.max(filename.lastIndexOf('/'), filename.lastIndexOf('\\'))
  return end < 0 ? '.' : filename.slice(0, end + 1)
}
