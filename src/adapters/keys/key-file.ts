/** Reads and creates the file of a local key-encryption key. Only its owner can read it, and it appears only when complete. */
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { VaultError } from '../../core/errors.ts'
import { parseKeyText } from './key-text.ts'

const HEADER = 'strongroom key, version 1'
const OWNER_ONLY = 0o600
/** Permission bits of all users but the owner. */
const OTHERS = 0o077
/** Maximum length of a key file, in bytes. It has two short lines. */
const MAX_BYTES = 1024

/** Returns the key in a file; undefined if the file does not exist. Throws `failed_precondition` if other users can access it, or if it is not a key file. */
export async function readKeyFile(file: string): Promise<Uint8Array | undefined> {
  const handle = await open(file, 'r').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined
    throw fileError(file, 'cannot be opened', error)
  })
  if (handle === undefined) return undefined
  try {
    const { mode, size } = await handle.stat()
    // Windows has no such bits: the permissions of the folder protect the file there.
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0) {
      throw new VaultError('failed_precondition', `Key file ${file} is accessible to other users. Run: chmod 600 ${file}`)
    }
    const text = size > MAX_BYTES ? '' : await handle.readFile('latin1')
    return parseKeyFile(file, text)
  } finally {
    await handle.close()
  }
}

function parseKeyFile(file: string, text: string): Uint8Array {
  const [header, line] = text.split(/\r?\n/)
  const key = header === HEADER && line !== undefined ? parseKeyText(line) : undefined
  if (key === undefined)
    throw new VaultError('failed_precondition', `File ${file} is not a strongroom key file, or is damaged. Restore it.`)
  return key
}

/** Returns the key in a file, and creates the file if it does not exist. Two processes that create it at once use the same key. Throws `failed_precondition` if it cannot be created or read. */
export async function readOrCreateKeyFile(file: string): Promise<Uint8Array> {
  const present = await readKeyFile(file)
  if (present !== undefined) return present
  await createKeyFile(file)
  const created = await readKeyFile(file)
  if (created === undefined)
    throw new VaultError('failed_precondition', `Key file ${file} was deleted while being created. Retry.`)
  return created
}

async function createKeyFile(file: string): Promise<void> {
  const folder = dirname(resolve(file))
  const draft = join(folder, `.strongroom-key-${randomBytes(8).toString('hex')}`)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeDraft(draft, `${HEADER}\n${randomBytes(32).toString('base64')}\n`)
    // A link appears at once and never replaces a file, so a reader sees a complete key or no file.
    await link(draft, file).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error
    })
    await syncFolder(folder)
  } catch (error) {
    throw fileError(file, 'cannot be created', error)
  } finally {
    await unlink(draft).catch(() => undefined)
  }
}

async function writeDraft(draft: string, text: string): Promise<void> {
  const handle = await open(draft, 'wx', OWNER_ONLY)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes the name of the new file durable. Windows cannot open folders, and does not need this. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function fileError(file: string, failure: string, error: unknown): VaultError {
  const reason = errorCode(error) ?? 'unknown reason'
  return new VaultError('failed_precondition', `Key file ${file} ${failure} (${reason}). Check the folder and its permissions.`)
}

function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
