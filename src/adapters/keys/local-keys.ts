/** A key provider with a local key-encryption key: in a file, or as text from the environment. */
import { createHash } from 'node:crypto'
import { VaultError } from '../../core/errors.ts'
import type { KeyProvider } from '../../core/ports/crypto.ts'
import { readOptions } from '../../core/util/options.ts'
import { fillFresh } from '../system/kernel-random.ts'
import { openPlain, sealPlain } from './gcm-plain.ts'
import { readKeyFile, readOrCreateKeyFile } from './key-file.ts'
import { isRepeated, parseKey, textCodes } from './key-text.ts'
import { copySecret, wipe } from './secret-bytes.ts'
import { createXaesKey, HALF_BYTES, NONCE_BYTES, TAG_BYTES } from './xaes-key.ts'

/** The key-encryption key: `file` is created on first use with mode 0600; `key` is 32 random bytes in base64. */
export type LocalKeysOptions =
  | { readonly file: string; readonly key?: undefined }
  | { readonly key: string; readonly file?: undefined }

/**
 * Returns a key provider that needs no other service. It wraps with XAES-256-GCM; wrapped bytes are `nonce 24 | ciphertext | tag 16`.
 * Throws `invalid_request` if neither `file` nor a `key` of 32 random bytes in base64 is given. `unwrap` throws `failed_precondition`.
 */
export function localKeys(options: LocalKeysOptions): KeyProvider {
  const { file, key } = readOptions<{ file?: unknown; key?: unknown }>(options, ['file', 'key'], { of: 'localKeys' })
  if (file !== undefined && key !== undefined)
    throw new VaultError('invalid_request', 'localKeys: specify either `file` or `key`, not both.')
  const source = key === undefined ? fileSource(file) : textSource(key)
  return {
    async wrap(rootKey, associatedData) {
      return useKey(await source.readOrCreate(), (key) => ({
        keyId: keyIdOf(key),
        bytes: wrapBytes(key, rootKey, associatedData),
      }))
    },
    async unwrap(wrapped, associatedData) {
      return useKey(await source.read(), (key) => {
        if (keyIdOf(key) !== wrapped.keyId) {
          throw unwrapError(`it was wrapped by another key than ${source.description}. Provide that key.`)
        }
        const rootKey = unwrapBytes(key, wrapped.bytes, associatedData)
        if (rootKey === undefined)
          throw unwrapError('its wrapped bytes were changed, or belong to another key or vault. Restore them.')
        return rootKey
      })
    },
  }
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
  /** Returns the key, which the caller wipes. */
  read(): Promise<Uint8Array>
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
    description: `the one in ${file}`,
    async read() {
      const key = await readKeyFile(file)
      if (key === undefined) throw unwrapError(`key file ${file} does not exist. Restore it.`)
      return key
    },
    readOrCreate: () => readOrCreateKeyFile(file),
  }
}

/** Returns the name of a key: 16 hex digits of a hash, which reveal nothing about it. */
function keyIdOf(key: Uint8Array): string {
  return createHash('sha256').update('strongroom/v1/key-id|').update(key).digest('hex').slice(0, 16)
}

function wrapBytes(key: Uint8Array, rootKey: Uint8Array, associatedData: Uint8Array): Uint8Array {
  const out = new Uint8Array(NONCE_BYTES + rootKey.length + TAG_BYTES)
  const nonce = out.subarray(0, NONCE_BYTES)
  fillFresh(nonce)
  const xaes = createXaesKey(key)
  sealPlain(xaes.derive(nonce, 0), nonce.subarray(HALF_BYTES), rootKey, associatedData, out, NONCE_BYTES)
  xaes.close()
  return out
}

function unwrapBytes(key: Uint8Array, bytes: Uint8Array, associatedData: Uint8Array): Uint8Array | undefined {
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  const xaes = createXaesKey(key)
  const opened = openPlain(xaes.derive(bytes, 0), bytes.subarray(HALF_BYTES), associatedData)
  xaes.close()
  if (opened === undefined) return undefined
  const rootKey = copySecret(opened)
  wipe(opened)
  return rootKey
}

function unwrapError(reason: string): VaultError {
  return new VaultError('failed_precondition', `Cannot unwrap the root key: ${reason}`)
}
