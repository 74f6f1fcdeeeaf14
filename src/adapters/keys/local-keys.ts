/** A key provider with a local key, as text or in a file that only its owner reads: what an application has without a key service. */
import { createHash } from 'node:crypto'
import { VaultError } from '../../core/errors.ts'
import type { KeyProvider } from '../../core/ports/crypto.ts'
import { readOptions } from '../../core/util/options.ts'
import { fillFresh } from '../system/system.ts'
import { copySecret, isRepeated, parseKey, textCodes, wipe } from './key-bytes.ts'
import { readKeyFile, readOrCreateKeyFile } from './key-file.ts'
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
