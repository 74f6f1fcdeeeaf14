/** A folder of blobs for the conformance suite, and what is in it below the store. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { folderBlobs } from '../../../src/adapters/blobs/index.ts'
import type { BlobsUnderTest } from '../../../src/conformance/blobs/index.ts'

/** Bytes of the files of a key, whole or unfinished; undefined if there are none. */
export async function storedInFolder(directory: string, key: string): Promise<number | undefined> {
  const sizes = await Promise.all(
    [key, `${key}.unfinished`].map((name) =>
      stat(join(directory, key.slice(0, 2), name)).then(
        ({ size }) => size,
        () => undefined,
      ),
    ),
  )
  const found = sizes.filter((size) => size !== undefined)
  return found.length === 0 ? undefined : found.reduce((sum, size) => sum + size, 0)
}

/** `next` returns the name of a folder that does not exist yet. */
export function folderUnderTest(next: () => string): BlobsUnderTest {
  let directory = ''
  const reopen = async () => folderBlobs({ directory })
  return {
    open() {
      directory = next()
      return reopen()
    },
    reopen,
    stored: (key) => storedInFolder(directory, key),
  }
}
