/** Blobs as files of a folder: each is written beside its place, synchronized, and renamed. */
import { constants } from 'node:fs'
import { type FileHandle, rename, rm } from 'node:fs/promises'
import { VaultError } from '../../core/errors.ts'
import type { BlobStore, ByteRange } from '../../core/ports/blobs.ts'
import { assertBlobKeys, assertByteRange, errorCode, noBlobError } from '../../core/util/causes.ts'
import { toBlocks, watchContent } from '../../core/util/memory.ts'
import { readOptions } from '../../core/util/options.ts'
import { syncFolder } from '../system/sync-folder.ts'
import {
  assertDirectoryName,
  type BlobPaths,
  blobPaths,
  createDurableFolders,
  createOpenFiles,
  type DurableFolders,
  mapFileError,
  type OpenFile,
  type OpenFiles,
} from './folder-files.ts'

/** Where blobs are stored. */
export interface FolderBlobsOptions {
  /** A directory on one file system, for blobs alone. Created if it is missing, for the account of the process only. */
  readonly directory: string
}

/** Bytes written at once, and bytes of a chunk that is read. */
const BLOCK_BYTES = 512 * 1024
/** Only the account of the process can read and write a blob. */
const FILE_MODE = 0o600

// A symbolic link in place of a blob is not followed, and a pipe is not waited for. Windows has neither flag.
const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY, O_WRONLY, O_CREAT, O_EXCL } = constants
const FOR_READING = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
const FOR_WRITING = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW

/**
 * Stores each blob as one file, in one of 256 folders of `directory`. A blob survives a loss of power once its write has resolved.
 * Several processes and vaults can share a directory. Throws `invalid_request` if the options are wrong.
 */
export function folderBlobs(options: FolderBlobsOptions): BlobStore {
  const { directory } = readOptions(options, ['directory'], { of: 'folderBlobs' })
  assertDirectoryName(directory)
  const files = createOpenFiles()
  const folders = createDurableFolders(directory)
  return {
    async write(key, content) {
      files.assertOpen()
      assertBlobKeys([key])
      await writeFile({ files, folders, paths: blobPaths(directory, key) }, content)
    },
    async *read(key, range) {
      files.assertOpen()
      assertBlobKeys([key])
      assertByteRange(range)
      yield* readFile(files, blobPaths(directory, key), range)
    },
    async delete(keys) {
      files.assertOpen()
      assertBlobKeys(keys)
      await deleteFiles(keys.map((key) => blobPaths(directory, key)))
    },
    close: () => files.close(),
  }
}

/** A blob that is written. */
interface NewBlob {
  readonly files: OpenFiles
  readonly folders: DurableFolders
  readonly paths: BlobPaths
}

async function writeFile({ files, folders, paths }: NewBlob, content: AsyncIterable<Uint8Array>): Promise<void> {
  const watched = watchContent(content)
  let file: OpenFile | undefined
  let writing = Promise.resolve()
  try {
    await folders.make(paths.folder)
    file = await files.use(paths.unfinished, { flags: FOR_WRITING, mode: FILE_MODE })
    // While a block is written, the next one is asked for. It is another buffer, and the one after it waits for the write.
    for await (const block of toBlocks(watched, { size: BLOCK_BYTES, buffers: 2 })) {
      await writing
      writing = writeBlock(file.handle, block)
      // Its error is thrown where it is waited for, after the content has given the next block.
      writing.catch(() => {})
    }
    await writing
    await file.handle.sync()
    await file.close()
    await rename(paths.unfinished, paths.file)
    await syncFolder(paths.folder)
  } catch (error) {
    // A write that goes on would write into the next file that gets its number.
    await writing.catch(() => {})
    // A file that this write did not create belongs to another one.
    if (file !== undefined) await discard(file, paths)
    throw watched.hasThrown(error) ? error : writeError(error, { files, isOpened: file !== undefined })
  }
}

async function writeBlock(handle: FileHandle, block: Uint8Array): Promise<void> {
  for (let from = 0; from < block.length; ) from += (await handle.write(block, from, block.length - from)).bytesWritten
}

/** Removes what a failed write left. If that fails too, a deletion of the key removes it. */
async function discard(file: OpenFile, paths: BlobPaths): Promise<void> {
  await file.close().catch(() => {})
  for (const path of [paths.unfinished, paths.file]) await rm(path, { force: true }).catch(() => {})
}

function writeError(error: unknown, { files, isOpened }: { readonly files: OpenFiles; readonly isOpened: boolean }): VaultError {
  files.assertOpen()
  const code = errorCode(error)
  if (code === 'ENOENT' && isOpened) return new VaultError('not_found', 'The blob was deleted while it was written.')
  if (code === 'EEXIST')
    return new VaultError('internal', 'A blob of this key is being written, or was not finished. Delete it first.')
  return mapFileError(error)
}

async function* readFile(files: OpenFiles, paths: BlobPaths, { start, end }: ByteRange): AsyncGenerator<Uint8Array, void, void> {
  const file = await openBlob(files, paths)
  const readAt = (position: number): Promise<Uint8Array> => {
    const chunk = new Uint8Array(Math.min(BLOCK_BYTES, end - position))
    const reading = readChunk(files, file, { chunk, position })
    // Its error is thrown where it is waited for, which is after the consumer asks for this chunk.
    reading.catch(() => {})
    return reading
  }
  let reading = readAt(start)
  try {
    for (let position = start; position < end; ) {
      const chunk = await reading
      files.assertOpen()
      if (chunk.length === 0) return
      position += chunk.length
      // The next chunk is read while the consumer works on this one.
      if (position < end) reading = readAt(position)
      yield chunk
    }
  } finally {
    await reading.catch(() => {})
    await file.close().catch(() => {})
  }
}

async function openBlob(files: OpenFiles, paths: BlobPaths): Promise<OpenFile> {
  try {
    const file = await files.use(paths.file, { flags: FOR_READING })
    if ((await file.handle.stat()).isFile()) return file
    await file.close()
  } catch (error) {
    throw errorCode(error) === 'ENOENT' ? noBlobError() : mapFileError(error)
  }
  throw new VaultError('internal', 'The name of a blob belongs to something that is no file.')
}

async function readChunk(
  files: OpenFiles,
  { handle }: OpenFile,
  { chunk, position }: { readonly chunk: Uint8Array; readonly position: number },
): Promise<Uint8Array> {
  files.assertOpen()
  try {
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position)
    return bytesRead === chunk.length ? chunk : chunk.subarray(0, bytesRead)
  } catch (error) {
    files.assertOpen()
    throw mapFileError(error)
  }
}

/** Deletes files, and then synchronizes each folder once: a blob does not come back after a loss of power. */
async function deleteFiles(blobs: readonly BlobPaths[]): Promise<void> {
  const changed = new Set<string>()
  try {
    for (const { folder, file, unfinished } of blobs) {
      for (const path of [unfinished, file]) if (await removeFile(path)) changed.add(folder)
    }
    for (const folder of changed) await syncFolder(folder)
  } catch (error) {
    throw mapFileError(error)
  }
}

/** Returns whether there was a file. */
async function removeFile(path: string): Promise<boolean> {
  try {
    await rm(path)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}
