/** Writes files that only this account can read, and leaves none behind that is not whole. */
import { open, rename, unlink } from 'node:fs/promises'

/** Writes a new file. Throws EEXIST if there is one, unless it is to be replaced. */
export async function writeNewFile(
  file: string,
  pieces: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array>,
  { replaces = false }: { readonly replaces?: boolean } = {},
): Promise<void> {
  const written = replaces ? `${file}.part` : file
  const handle = await open(written, replaces ? 'w' : 'wx', 0o600)
  try {
    for await (const piece of pieces) await handle.writeFile(piece)
    await handle.sync()
    if (replaces) await rename(written, file)
  } catch (error) {
    await unlink(written)
    throw error
  } finally {
    await handle.close()
  }
}
