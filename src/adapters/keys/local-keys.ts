/** A key-encryption key kept on this machine: in a file of its own, or given as a secret from the environment. */
import { createHash, randomFillSync } from 'node:crypto'
import { VaultError } from '../../core/errors.ts'
import type { KeyProvider } from '../../core/ports/keys.ts'
import { openPlain, sealPlain } from './gcm-plain.ts'
import { readKeyFile, readOrCreateKeyFile } from './key-file.ts'
import { parseKeyText } from './key-text.ts'
import { createXaesKey, HALF_BYTES, NONCE_BYTES, TAG_BYTES } from './xaes-key.ts'

/** The key: a file, created on first use with mode 0600, or 32 bytes in base64. */
export type LocalKeysOptions = { readonly file: string } | { readonly key: string }

/**
 * A key provider that needs no other service. Wrapped secrets are `nonce 24 | ciphertext | tag 16` under XAES-256-GCM with the
 * context as associated data. Throws `invalid_request` when the secret is not 32 bytes in base64.
 */
export function localKeys(options: LocalKeysOptions): KeyProvider {
  const source = 'key' in options ? secretSource(options.key) : fileSource(options.file)
  return {
    async wrap(secret, context) {
      const key = await source.readOrCreate()
      return { keyId: keyIdOf(key), bytes: wrapBytes(key, secret, context) }
    },
    async unwrap(wrapped, context) {
      const key = await source.read()
      if (keyIdOf(key) !== wrapped.keyId) {
        throw lockedError(`it was wrapped by another key than ${source.place}. Provide that key.`)
      }
      const secret = unwrapBytes(key, wrapped.bytes, context)
      if (secret === undefined)
        throw lockedError('its wrapped bytes were changed, or belong to another key or vault. Restore them.')
      return secret
    },
  }
}

/** Where a provider reads its key. */
interface KeySource {
  readonly place: string
  read(): Promise<Uint8Array>
  readOrCreate(): Promise<Uint8Array>
}

function secretSource(secret: unknown): KeySource {
  const key = typeof secret === 'string' ? parseKeyText(secret) : undefined
  if (key === undefined)
    throw new VaultError('invalid_request', 'localKeys: `secret` must be 32 bytes in base64 (44 characters).')
  const read = (): Promise<Uint8Array> => Promise.resolve(key)
  return { place: 'the given secret', read, readOrCreate: read }
}

function fileSource(file: unknown): KeySource {
  if (typeof file !== 'string' || file === '')
    throw new VaultError('invalid_request', 'localKeys: expected `file` (a path) or `secret`.')
  return {
    place: `the one in ${file}`,
    async read() {
      const key = await readKeyFile(file)
      if (key === undefined) throw lockedError(`key file ${file} does not exist. Restore it.`)
      return key
    },
    readOrCreate: () => readOrCreateKeyFile(file),
  }
}

/** A name for a key that reveals nothing about it. */
function keyIdOf(key: Uint8Array): string {
  return createHash('sha256').update('strongroom/v1/key-id|').update(key).digest('hex').slice(0, 16)
}

function wrapBytes(key: Uint8Array, secret: Uint8Array, context: Uint8Array): Uint8Array {
  const out = new Uint8Array(NONCE_BYTES + secret.length + TAG_BYTES)
  const nonce = randomFillSync(new Uint8Array(NONCE_BYTES))
  out.set(nonce)
  sealPlain(createXaesKey(key).derive(nonce, 0), nonce.subarray(HALF_BYTES), secret, context, out, NONCE_BYTES)
  return out
}

function unwrapBytes(key: Uint8Array, bytes: Uint8Array, context: Uint8Array): Uint8Array | undefined {
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  const secret = openPlain(createXaesKey(key).derive(bytes, 0), bytes.subarray(HALF_BYTES), context)
  return secret === undefined ? undefined : Uint8Array.from(secret)
}

function lockedError(reason: string): VaultError {
  return new VaultError('failed_precondition', `Cannot unwrap the root key: ${reason}`)
}
