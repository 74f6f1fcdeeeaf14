/** Waits until the names of the files in a folder are on the disk, so that a file that was made there outlasts a loss of power. */
import { open } from 'node:fs/promises'

/** Throws what the file system throws. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows opens no folder, and its file system logs names by itself.
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
