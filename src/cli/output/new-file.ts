/** Writes files that only this account can read, and leaves none behind that is not whole. */
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import process from 'node:process'

/** Writes a new file, which outlasts a loss of power when it resolves. Throws EEXIST if there is one, unless it is to be replaced: then it is the old or the new one at any time. */
export async function writeNewFile(
  file: string,
  pieces: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  { replaces = false }: { readonly replaces?: boolean } = {},
): Promise<void> {
  const written = replaces ? `${file}.next` : file
  const handle = await open(written, replaces ? 'w' : 'wx', 0o600)
  try {
    for await (const piece of pieces) await handle.writeFile(piece)
    await handle.sync()
    if (replaces) await rename(written, file)
    await syncFolder(dirname(file))
  } catch (error) {
    await rm(written, { force: true })
    throw error
  } finally {
    await handle.close()
  }
}

/** Makes the name of the file durable. Windows cannot open folders, and does not need this. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
