/** Folders whose entries survive a loss of power. */
import { mkdir, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fault } from '../../core/errors.ts'
import { errorCode } from '../../core/util/causes.ts'

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
      await synchronizeFolder(directory)
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
    await synchronizeFolder(folder)
    if (folder === top) return
  }
}

/** Waits until the names in a folder are on the disk. */
export async function synchronizeFolder(folder: string): Promise<void> {
  // Windows opens no folder, and its file system logs names by itself.
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
