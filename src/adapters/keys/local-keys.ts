/** A key provider with a local key, as text or in a file that only its owner reads: what an application has without a key service. */
import { createHash, randomBytes } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, link, mkdir, open, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { VaultError } from '../../core/errors.ts'
import type { KeyProvider } from '../../core/ports/crypto.ts'
import { errorCode, isForbidden } from '../../core/util/causes.ts'
import { readOptions } from '../../core/util/options.ts'
import { fillFresh } from '../system/system.ts'
import {
  byteCodes,
  copySecret,
  isRepeated,
  KEY_TEXT_LENGTH,
  parseKey,
  secretBytes,
  textCodes,
  wipe,
  writeKeyText,
} from './key-bytes.ts'
import { openPlain, sealPlain } from './platform/aes.ts'
import { createPlatformXaesKey } from './platform/derived-keys.ts'
import { HALF_BYTES, NONCE_BYTES, TAG_BYTES } from './xaes-key.ts'

/**
 * The key-encryption key: `file` is created with mode 0600 when it first wraps a root key; `key` is 32 random bytes in base64. The older ones only unwrap, until
 * `vault.rewrapKeys()` has wrapped all with the first.
 */
export type LocalKeysOptions =
  | { readonly file: string; readonly olderFiles?: readonly string[]; readonly key?: undefined; readonly olderKeys?: undefined }
  | { readonly key: string; readonly olderKeys?: readonly string[]; readonly file?: undefined; readonly olderFiles?: undefined }

const OPTIONS = ['file', 'olderFiles', 'key', 'olderKeys'] as const

type Given = { readonly [Name in (typeof OPTIONS)[number]]?: unknown }

/**
 * Returns a key provider that needs no other service. It wraps with XAES-256-GCM; wrapped bytes are `nonce 24 | ciphertext | tag 16`.
 * Throws `invalid_request` if neither `file` nor a `key` of 32 random bytes in base64 is given. `unwrap` throws `failed_precondition`.
 */
export function localKeys(options: LocalKeysOptions): KeyProvider {
  const sources = sourcesOf(readOptions<Given>(options, OPTIONS, { of: 'localKeys' }))
  const [current] = sources
  return {
    currentKeyId: async () => useKey(await current.readOrCreate(), keyIdOf),
    async wrap(rootKey, associatedData) {
      return useKey(await current.readOrCreate(), (key) => ({
        keyId: keyIdOf(key),
        bytes: wrapBytes(key, rootKey, associatedData),
      }))
    },
    async unwrap(wrapped, associatedData) {
      const missing: string[] = []
      for (const source of sources) {
        const key = await source.read()
        if (key === undefined) missing.push(source.description)
        else {
          const rootKey = useKey(key, () =>
            keyIdOf(key) === wrapped.keyId ? unwrapBytes(key, wrapped.bytes, associatedData) : 'other',
          )
          if (rootKey === undefined)
            throw unwrapError('its wrapped bytes were changed, or belong to another key or vault. Restore them.')
          if (rootKey !== 'other') return rootKey
        }
      }
      const names = sources.map(({ description }) => description).join(', ')
      throw unwrapError(
        missing.length === 0
          ? `it was wrapped by another key than ${names}. Provide that key.`
          : `${missing.map((file) => `key file ${file} does not exist`).join(', ')}. Restore it, or name the right one.`,
      )
    },
  }
}

/** Returns the sources of the current key and of the older ones. */
function sourcesOf({ file, olderFiles, key, olderKeys }: Given): readonly [KeySource, ...KeySource[]] {
  if (file !== undefined && key !== undefined)
    throw new VaultError('invalid_request', 'localKeys: specify either `file` or `key`, not both.')
  if (key === undefined) return [fileSource(file), ...listOf('olderFiles', olderFiles, olderKeys).map(fileSource)]
  return [textSource(key), ...listOf('olderKeys', olderKeys, olderFiles).map(textSource)]
}

/** Returns the older keys. Throws `invalid_request` unless they are a list of the kind of the current one. */
function listOf(name: string, given: unknown, ofOther: unknown): readonly unknown[] {
  if (ofOther === undefined && (given === undefined || Array.isArray(given))) return given ?? []
  throw new VaultError(
    'invalid_request',
    `localKeys: the older keys must be a list, \`${name}\`, of the kind of the current one.`,
  )
}

/** Uses a key once, and wipes it. */
function useKey<Result>(key: Uint8Array, use: (key: Uint8Array) => Result): Result {
  try {
    return use(key)
  } finally {
    wipe(key)
  }
}

/** The source of the key-encryption key. */
interface KeySource {
  /** Names the key in an error. */
  readonly description: string
  /** Returns the key, which the caller wipes; undefined if its file does not exist. */
  read(): Promise<Uint8Array | undefined>
  readOrCreate(): Promise<Uint8Array>
}

/** A source that keeps the text alone: the key is decoded for each use. */
function textSource(text: unknown): KeySource {
  const codes = textCodes(typeof text === 'string' ? text : '')
  const decode = (): Uint8Array => {
    const key = parseKey(codes)
    if (key === undefined) throw new VaultError('invalid_request', 'localKeys: `key` must be 32 bytes in base64 (44 characters).')
    return key
  }
  if (useKey(decode(), isRepeated))
    throw new VaultError('invalid_request', 'localKeys: `key` repeats itself. It must be 32 random bytes in base64.')
  const read = async (): Promise<Uint8Array> => decode()
  return { description: 'the given one', read, readOrCreate: read }
}

function fileSource(file: unknown): KeySource {
  if (typeof file !== 'string' || file === '')
    throw new VaultError('invalid_request', 'localKeys: expected `file` (a path) or `key`.')
  return {
    description: file,
    read: () => readKeyFile(file),
    readOrCreate: () => readOrCreateKeyFile(file),
  }
}

/** Returns the name of a key: 16 hex digits of a hash, which reveal nothing about it. */
function keyIdOf(key: Uint8Array): string {
  return createHash('sha256').update('strongroom/v1/key-id|').update(key).digest('hex').slice(0, 16)
}

/** Wraps a root key: `nonce 24 | ciphertext | tag 16`, by XAES-256-GCM. */
export function wrapBytes(key: Uint8Array, rootKey: Uint8Array, associatedData: Uint8Array): Uint8Array {
  const out = new Uint8Array(NONCE_BYTES + rootKey.length + TAG_BYTES)
  const nonce = out.subarray(0, NONCE_BYTES)
  fillFresh(nonce)
  const xaes = createPlatformXaesKey(key)
  sealPlain(xaes.derive(nonce, 0), nonce.subarray(HALF_BYTES), rootKey, associatedData, out, NONCE_BYTES)
  xaes.close()
  return out
}

/** Returns the root key in an array of its own; undefined if bytes or associated data differ. */
export function unwrapBytes(key: Uint8Array, bytes: Uint8Array, associatedData: Uint8Array): Uint8Array | undefined {
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  const xaes = createPlatformXaesKey(key)
  const opened = openPlain(xaes.derive(bytes, 0), bytes.subarray(HALF_BYTES), associatedData)
  xaes.close()
  if (opened === undefined) return undefined
  const rootKey = copySecret(opened)
  wipe(opened)
  return rootKey
}

/** An error of `unwrap`. `reason` says what to do. */
export function unwrapError(reason: string): VaultError {
  return new VaultError('failed_precondition', `Cannot unwrap the root key: ${reason}`)
}

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
async function readKeyFile(file: string): Promise<Uint8Array | undefined> {
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
async function readOrCreateKeyFile(file: string): Promise<Uint8Array> {
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
  const reason = errorCode(error) ?? (isForbidden(error) ? 'not permitted' : 'unknown reason')
  return new VaultError('failed_precondition', `Key file ${file} ${failure} (${reason}). Check the folder and its permissions.`)
}
