/** The file of a key-encryption key: how it is read, what protects it, and how it is made at once or not at all. */
import { randomBytes } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, link, mkdir, open, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { VaultError } from '../../core/errors.ts'
import { errorCode, isForbidden } from '../../core/util/causes.ts'
import { syncFolder } from '../system/sync-folder.ts'
import { fillFresh } from '../system/system.ts'
import { byteCodes, isRepeated, KEY_TEXT_LENGTH, parseKey, secretBytes, wipe, writeKeyText } from './key-bytes.ts'

const HEADER = 'strongroom key, version 1'
const KEY_BYTES = 32
const LINE_FEED = 0x0a
const OWNER_ONLY = 0o600
/** Permission bits of all users but the owner. */
const OTHERS = 0o077
/** Maximum length of a key file, in bytes. It has two short lines. */
const MAX_BYTES = 1024
const ROOT = 0
/** Opening a FIFO without a writer would wait for one, and a terminal could become the process's own. Windows has neither flag. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0)

/**
 * Returns the key in a file, which the caller wipes; undefined if the file does not exist. Throws `failed_precondition` if it is not a
 * regular file, belongs to another user, can be accessed by others, is not a key file, or holds a key that is not random.
 */
export async function readKeyFile(file: string): Promise<Uint8Array | undefined> {
  const handle = await open(file, READ_FLAGS).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined
    throw fileError(file, 'cannot be opened', error)
  })
  if (handle === undefined) return undefined
  try {
    // The open file is checked, not its name: the name can come to mean another file.
    const stats = await handle.stat()
    assertProtected(file, stats)
    const bytes = secretBytes(MAX_BYTES)
    const length = stats.size > MAX_BYTES ? 0 : await fill(handle, bytes)
    const key = parseKeyFile(bytes, length)
    wipe(bytes)
    return checkedKey(file, key)
  } catch (error) {
    throw error instanceof VaultError ? error : fileError(file, 'cannot be read', error)
  } finally {
    await handle.close()
  }
}

function assertProtected(file: string, stats: Stats): void {
  if (!stats.isFile()) {
    throw new VaultError('failed_precondition', `Key file ${file} is not a regular file. Name a regular file.`)
  }
  // Windows has no such owner and bits: the permissions of the folder protect the file there.
  const user = process.platform === 'win32' ? undefined : process.geteuid?.()
  if (user === undefined) return
  if (stats.uid !== user && stats.uid !== ROOT) {
    throw new VaultError(
      'failed_precondition',
      `Key file ${file} belongs to another user, who can change it. Run: chown ${user} ${file}`,
    )
  }
  if ((stats.mode & OTHERS) !== 0) {
    throw new VaultError('failed_precondition', `Key file ${file} is accessible to other users. Run: chmod 600 ${file}`)
  }
}

/** Fills `bytes` from the start of a file. Returns the number of bytes read. */
async function fill(handle: FileHandle, bytes: Uint8Array): Promise<number> {
  let length = 0
  for (;;) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length)
    length += bytesRead
    if (bytesRead === 0 || length === bytes.length) return length
  }
}

/** Returns the key after the line of the header; undefined if this is no key file. */
function parseKeyFile(bytes: Uint8Array, length: number): Uint8Array | undefined {
  for (let i = 0; i < HEADER.length; i++) if (bytes[i] !== HEADER.charCodeAt(i)) return undefined
  const first = bytes.indexOf(LINE_FEED)
  const headerRest = first - HEADER.length
  const isHeaderLine = headerRest === 0 || (headerRest === 1 && bytes[first - 1] === 0x0d)
  if (!isHeaderLine) return undefined
  const second = bytes.indexOf(LINE_FEED, first + 1)
  return parseKey(byteCodes(bytes, first + 1, second < 0 ? length : second))
}

function checkedKey(file: string, key: Uint8Array | undefined): Uint8Array {
  if (key === undefined)
    throw new VaultError('failed_precondition', `File ${file} is not a strongroom key file, or is damaged. Restore it.`)
  if (!isRepeated(key)) return key
  wipe(key)
  throw new VaultError(
    'failed_precondition',
    `Key file ${file} holds a key that repeats itself, so it is not random. Restore it.`,
  )
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
  const content = newContent()
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeDraft(draft, content)
    // A link appears at once and never replaces a file, so a reader sees a complete key or no file.
    await link(draft, file).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error
    })
    await syncFolder(folder)
  } catch (error) {
    throw fileError(file, 'cannot be created', error)
  } finally {
    wipe(content)
    await unlink(draft).catch(() => undefined)
  }
}

/** Returns the bytes of a file with a new key: the line of the header, and the key. */
function newContent(): Uint8Array {
  const header = `${HEADER}\n`
  const content = secretBytes(header.length + KEY_TEXT_LENGTH + 1)
  for (let i = 0; i < header.length; i++) content[i] = header.charCodeAt(i)
  const key = secretBytes(KEY_BYTES)
  fillFresh(key)
  writeKeyText(key, content, header.length)
  content[content.length - 1] = LINE_FEED
  wipe(key)
  return content
}

async function writeDraft(draft: string, content: Uint8Array): Promise<void> {
  const handle = await open(draft, 'wx', OWNER_ONLY)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function fileError(file: string, failure: string, error: unknown): VaultError {
  const reason = errorCode(error) ?? (isForbidden(error) ? 'not permitted' : 'unknown reason')
  return new VaultError('failed_precondition', `Key file ${file} ${failure} (${reason}). Check the folder and its permissions.`)
}
