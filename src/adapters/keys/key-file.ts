/** The file of a local key-encryption key: readable by its owner alone, never visible half-written. */
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { VaultError } from '../../core/errors.ts'
import { parseKeyText } from './key-text.ts'

const HEADER = 'strongroom key, version 1'
const OWNER_ONLY = 0o600
/** Permission bits of all users but the owner. */
const OTHERS = 0o077
/** A key file has two short lines; a longer file is not one. */
const MAX_BYTES = 1024

/** The key in the file, or undefined when there is no file. Throws `failed_precondition` for a file that other users can access. */
export async function readKeyFile(file: string): Promise<Uint8Array | undefined> {
  const handle = await open(file, 'r').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined
    throw fileError(file, 'cannot be opened', error)
  })
  if (handle === undefined) return undefined
  try {
    const { mode, size } = await handle.stat()
    // Windows has no such bits: there the folder's own rules protect the file.
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

/** The key in the file, which is created when there is none. Of two processes that create it at once, one wins and both use its key. */
export async function readOrCreateKeyFile(file: string): Promise<Uint8Array> {
  const present = await readKeyFile(file)
  if (present !== undefined) return present
  await createKeyFile(file)
  const made = await readKeyFile(file)
  if (made === undefined) throw new VaultError('failed_precondition', `Key file ${file} was deleted while being created. Retry.`)
  return made
}

async function createKeyFile(file: string): Promise<void> {
  const folder = dirname(resolve(file))
  const draft = join(folder, `.strongroom-key-${randomBytes(8).toString('hex')}`)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeDraft(draft, `${HEADER}\n${randomBytes(32).toString('base64')}\n`)
    // A link appears whole and never replaces what is there, so a reader sees all of one key or no file.
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

/** Makes the new name itself durable. Windows cannot open folders and needs no such step. */
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
