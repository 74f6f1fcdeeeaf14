/** The files of blobs in a folder: where they are, folders that survive a loss of power, the open files of a handle, and errors without a path. */
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fault, isVaultError, VaultError } from '../../core/errors.ts'
import { errorCode, isForbidden } from '../../core/util/causes.ts'
import { closedError, fullError, strippedCause, unavailableError } from '../errors/storage-errors.ts'
import { syncFolder } from '../system/sync-folder.ts'

/** The paths of one blob. */
export interface BlobPaths {
  readonly folder: string
  /** The whole blob. */
  readonly file: string
  /** An unfinished write. The name depends on the key alone, so that a deletion finds it. */
  readonly unfinished: string
}

/** Returns the paths of a key, which must be checked before. */
export function blobPaths(directory: string, key: string): BlobPaths {
  const folder = join(directory, key.slice(0, 2))
  const file = join(folder, key)
  return { folder, file, unfinished: `${file}.unfinished` }
}

/** Only the account of the process can list a folder and use what is in it. */
const FOLDER_MODE = 0o700

/** Throws `invalid_request` for anything but the name of a directory. */
export function assertDirectoryName(directory: unknown): asserts directory is string {
  if (typeof directory === 'string' && directory !== '' && !directory.includes('\0')) return
  throw fault('invalid_request')`folderBlobs: directory must be the path of a directory.`
}

export interface DurableFolders {
  /** Makes a folder of the directory, and the directory, if they are missing. Both survive a loss of power after that. */
  make(folder: string): Promise<void>
}

/** Creates the folders of one handle. It synchronizes each of them once, because another process that made it may not have yet. */
export function createDurableFolders(directory: string): DurableFolders {
  const durable = new Set<string>()
  return {
    async make(folder) {
      if (durable.has(folder)) return
      await mkdirIn(directory, folder)
      await syncFolder(directory)
      durable.add(folder)
    },
  }
}

async function mkdirIn(directory: string, folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: FOLDER_MODE })
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return
    if (errorCode(error) !== 'ENOENT') throw error
    const first = await mkdir(directory, { mode: FOLDER_MODE, recursive: true })
    if (first !== undefined) await synchronizeAbove(resolve(directory), dirname(resolve(first)))
    await mkdir(folder, { mode: FOLDER_MODE, recursive: true })
  }
}

/** Synchronizes every folder above `directory`, up to `top`. */
async function synchronizeAbove(directory: string, top: string): Promise<void> {
  for (let folder = dirname(directory); folder.length >= top.length; folder = dirname(folder)) {
    await syncFolder(folder)
    if (folder === top) return
  }
}

export interface OpenFiles {
  /** Throws `unavailable` after `close`. */
  assertOpen(): void
  /** Opens a file, runs work on it, and closes it. Throws what work throws, and `unavailable` after `close`. */
  use(path: string, options: { readonly flags: number; readonly mode?: number }): Promise<OpenFile>
  close(): Promise<void>
}

/** An open file. */
export interface OpenFile {
  readonly handle: FileHandle
  /** Closes it. Closing again does nothing. */
  close(): Promise<void>
}

/** Creates the list of the files that one handle opens. */
export function createOpenFiles(): OpenFiles {
  const files = new Set<OpenFile>()
  let isClosed = false

  function assertOpen(): void {
    if (isClosed) throw closedError('folder')
  }

  return {
    assertOpen,
    async use(path, { flags, mode }) {
      assertOpen()
      const handle = await open(path, flags, mode)
      const file: OpenFile = {
        handle,
        async close() {
          if (files.delete(file)) await handle.close()
        },
      }
      files.add(file)
      return file
    },
    async close() {
      isClosed = true
      try {
        for (const file of [...files]) await file.close()
      } catch (error) {
        throw mapFileError(error)
      }
    },
  }
}

const ENGINE = 'The file system'

/** No space is left: on the disk, of the quota, or in a file. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])
/** The account of the process has no right to the directory or the file. */
const REFUSED: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS'])
/** The disk, or the process, cannot serve the call now. */
const UNREACHABLE: ReadonlySet<string> = new Set(['EIO', 'EMFILE', 'ENFILE', 'ENOMEM', 'EBUSY', 'ESTALE', 'ENODEV', 'ETIMEDOUT'])

/** Returns the error to throw for anything that a call threw. */
export function mapFileError(error: unknown): VaultError {
  if (isVaultError(error)) return error
  const code = errorCode(error)
  const cause = strippedCause(ENGINE, code)
  if (isForbidden(error))
    return unavailableError(
      'The permissions of this process do not allow the folder of the blobs. Start Node with --allow-fs-read and --allow-fs-write of it, ' +
        'and Deno with --allow-read and --allow-write.',
      cause,
    )
  if (code === undefined) return new VaultError('internal', 'The folder of the blobs cannot be used.', {}, { cause })
  if (FULL.has(code)) return fullError(ENGINE, cause)
  if (REFUSED.has(code))
    return unavailableError('The folder of the blobs refuses this process. Check the owner and mode of the folder.', cause)
  if (UNREACHABLE.has(code)) return unavailableError('The folder of the blobs cannot be read or written now. Retry.', cause)
  return new VaultError('internal', 'The folder of the blobs is not as this store left it.', {}, { cause })
}
