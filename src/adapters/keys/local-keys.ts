/** A key provider with a local key-encryption key: in a file, or as text from the environment. */
import { createHash, randomFillSync } from 'node:crypto'
import { VaultError } from '../../core/errors.ts'
import type { KeyProvider } from '../../core/ports/keys.ts'
import { openPlain, sealPlain } from './gcm-plain.ts'
import { readKeyFile, readOrCreateKeyFile } from './key-file.ts'
import { parseKeyText } from './key-text.ts'
import { createXaesKey, HALF_BYTES, NONCE_BYTES, TAG_BYTES } from './xaes-key.ts'

/** The key-encryption key: `file` is created on first use with mode 0600; `key` is 32 bytes in base64. */
export type LocalKeysOptions = { readonly file: string } | { readonly key: string }

/**
 * Returns a key provider that needs no other service. It wraps with XAES-256-GCM; wrapped bytes are `nonce 24 | ciphertext | tag 16`.
 * Throws `invalid_request` if neither `file` nor a `key` of 32 bytes in base64 is given. `unwrap` throws `failed_precondition`.
 */
export function localKeys(options: LocalKeysOptions): KeyProvider {
  const source = 'key' in options ? textSource(options.key) : fileSource(options.file)
  return {
    async wrap(rootKey, associatedData) {
      const key = await source.readOrCreate()
      return { keyId: keyIdOf(key), bytes: wrapBytes(key, rootKey, associatedData) }
    },
    async unwrap(wrapped, associatedData) {
      const key = await source.read()
      if (keyIdOf(key) !== wrapped.keyId) {
        throw unwrapError(`it was wrapped by another key than ${source.description}. Provide that key.`)
      }
      const rootKey = unwrapBytes(key, wrapped.bytes, associatedData)
      if (rootKey === undefined)
        throw unwrapError('its wrapped bytes were changed, or belong to another key or vault. Restore them.')
      return rootKey
    },
  }
}

/** The source of the key-encryption key. */
interface KeySource {
  /** Names the key in an error. */
  readonly description: string
  read(): Promise<Uint8Array>
  readOrCreate(): Promise<Uint8Array>
}

function textSource(text: unknown): KeySource {
  const key = typeof text === 'string' ? parseKeyText(text) : undefined
  if (key === undefined) throw new VaultError('invalid_request', 'localKeys: `key` must be 32 bytes in base64 (44 characters).')
  const read = (): Promise<Uint8Array> => Promise.resolve(key)
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
  const nonce = randomFillSync(new Uint8Array(NONCE_BYTES))
  out.set(nonce)
  sealPlain(createXaesKey(key).derive(nonce, 0), nonce.subarray(HALF_BYTES), rootKey, associatedData, out, NONCE_BYTES)
  return out
}

function unwrapBytes(key: Uint8Array, bytes: Uint8Array, associatedData: Uint8Array): Uint8Array | undefined {
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  const rootKey = openPlain(createXaesKey(key).derive(bytes, 0), bytes.subarray(HALF_BYTES), associatedData)
  return rootKey === undefined ? undefined : Uint8Array.from(rootKey)
}

function unwrapError(reason: string): VaultError {
  return new VaultError('failed_precondition', `Cannot unwrap the root key: ${reason}`)
}
