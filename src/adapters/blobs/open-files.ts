/** The open files of a handle, which all end when it is closed. */
import { type FileHandle, open } from 'node:fs/promises'
import { closedError } from '../errors/storage-errors.ts'
import { mapFileError } from './file-errors.ts'

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
