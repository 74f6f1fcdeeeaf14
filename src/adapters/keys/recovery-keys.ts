/** A second way to the root keys: each is also wrapped for public keys (ML-KEM-768) whose private keys are kept offline. */
import * as crypto from 'node:crypto'
import { VaultError } from '../../core/errors.ts'
import type { KeyProvider, WrappedKey } from '../../core/ports/crypto.ts'
import { readOptions } from '../../core/util/options.ts'
import { assertNotNewer, hasLabel, type PemLabel } from '../../core/util/pem.ts'
import { wipe } from './key-bytes.ts'
import { unwrapBytes, unwrapError, wrapBytes } from './local-keys.ts'

/** A provider, and who else can unwrap. */
export interface RecoverableKeysOptions {
  /** The provider of every day, such as that of a KMS. */
  readonly keys: KeyProvider
  /** The public keys, at most 8, as PEM text (SPKI, ML-KEM-768). None: what was wrapped for recipients is still unwrapped, and `rewrapKeys` removes them. */
  readonly recipients: readonly string[]
}

/** A private key, and the provider that takes over. */
export interface RecoveryKeysOptions {
  /** The private key of a recipient, as PEM text (PKCS #8, ML-KEM-768). */
  readonly privateKey: string
  /** The new provider. It wraps from now on, and unwraps what it wrapped. */
  readonly keys: KeyProvider
}

/**
 * Returns a provider that wraps each root key by `keys`, and for each recipient: the bytes are `count 1 | for each: fingerprint 16 | encapsulated
 * 1088 | wrapped root key 72 | bytes of keys`, and the latter are bound to the former. The name of the key is that of `keys` and a hash of the recipients, so that `rewrapKeys` renews
 * what was wrapped for others. Unwraps what `keys` wrapped without recipients. Throws `invalid_request` for a key of another kind, and
 * `failed_precondition` if the runtime has no ML-KEM-768 (Node below 24.7). Source: FIPS 203.
 */
export function recoverableKeys(options: RecoverableKeysOptions): KeyProvider {
  const { keys, recipients } = readOptions<Partial<RecoverableKeysOptions>>(options, ['keys', 'recipients'], {
    of: 'recoverableKeys',
  })
  assertProvider(keys, 'recoverableKeys')
  if (!Array.isArray(recipients) || recipients.length > MAX_RECIPIENTS)
    throw new VaultError(
      'invalid_request',
      `recoverableKeys: \`recipients\` must be a list of at most ${MAX_RECIPIENTS} public keys.`,
    )
  const parsed = recipients.map((pem: unknown, index) => parseRecipient(pem, `recoverableKeys: recipients[${index}]`))
  const suffix = parsed.length === 0 ? '' : `${MARK}${namesOf(parsed)}`
  return {
    async wrap(rootKey, associatedData) {
      if (parsed.length === 0) return keys.wrap(rootKey, associatedData)
      const parts = parsed.map((recipient) => wrapFor(recipient, rootKey, associatedData))
      const prefix = Buffer.concat([Uint8Array.of(parts.length), ...parts])
      const inner = await keys.wrap(rootKey, boundTo(prefix, associatedData))
      return { keyId: `${inner.keyId}${suffix}`, bytes: new Uint8Array(Buffer.concat([prefix, inner.bytes])) }
    },
    async unwrap(wrapped, associatedData) {
      const { prefix, inner } = split(wrapped)
      return keys.unwrap(inner, prefix.length === 0 ? associatedData : boundTo(prefix, associatedData))
    },
    ...othersOf(keys, suffix),
  }
}

/**
 * Returns a provider for the day on which the key of a vault's provider is lost: it unwraps with the private key of a recipient, and wraps by `keys`.
 * `vault.rewrapKeys()` then wraps all root keys by those, and the vault opens without the private key again. Throws like `recoverableKeys`.
 */
export function recoveryKeys(options: RecoveryKeysOptions): KeyProvider {
  const { keys, privateKey } = readOptions<Partial<RecoveryKeysOptions>>(options, ['keys', 'privateKey'], { of: 'recoveryKeys' })
  assertProvider(keys, 'recoveryKeys')
  const name = 'recoveryKeys: `privateKey`'
  const key = kemKey(privateKey, name, 'PRIVATE KEY')
  if (key === undefined)
    throw new VaultError('invalid_request', `${name} must be an ML-KEM-768 private key as PEM text (PKCS #8).`)
  const fingerprint = fingerprintOf(crypto.createPublicKey(key))
  return {
    wrap: (rootKey, associatedData) => keys.wrap(rootKey, associatedData),
    async unwrap(wrapped, associatedData) {
      const part = split(wrapped).parts.find((each) => fingerprint.equals(each.subarray(0, FINGERPRINT_BYTES)))
      return part === undefined ? keys.unwrap(wrapped, associatedData) : unwrapPart(key, part, associatedData)
    },
    ...othersOf(keys, ''),
  }
}

const MAX_RECIPIENTS = 8
const MARK = '+recovery/'
const MARKED = /^(.*)\+recovery\/[0-9a-f]{16}$/s
const FINGERPRINT_BYTES = 16
/** Length of an encapsulated secret of ML-KEM-768. Source: FIPS 203, table 3. */
const ENCAPSULATED_BYTES = 1088
const HEAD_BYTES = FINGERPRINT_BYTES + ENCAPSULATED_BYTES
/** A nonce of 24 bytes, a root key of 32, and a tag of 16. */
const PART_BYTES = HEAD_BYTES + 72
const SECRET_BYTES = 32

/** A public key, and its name in wrapped bytes. */
interface Recipient {
  readonly key: crypto.KeyObject
  readonly fingerprint: Buffer
}

function assertProvider(keys: KeyProvider | undefined, of: string): asserts keys is KeyProvider {
  if (typeof keys?.wrap !== 'function' || typeof keys.unwrap !== 'function')
    throw new VaultError('invalid_request', `${of}: \`keys\` must be a key provider, such as localKeys({ … }).`)
}

/** Returns the optional methods of a provider. `suffix` is added to the names of its keys. */
function othersOf(keys: KeyProvider, suffix: string): Pick<KeyProvider, 'currentKeyId' | 'close'> {
  const { currentKeyId, close } = keys
  return {
    ...(currentKeyId && { currentKeyId: async () => `${await currentKeyId.call(keys)}${suffix}` }),
    ...(close && { close: () => close.call(keys) }),
  }
}

function parseRecipient(pem: unknown, name: string): Recipient {
  const key = kemKey(pem, name, 'PUBLIC KEY')
  if (key === undefined)
    throw new VaultError(
      'invalid_request',
      `${name} must be an ML-KEM-768 public key as PEM text (SPKI). Keep its private key offline.`,
    )
  return { key, fingerprint: fingerprintOf(key) }
}

/**
 * Returns a key of ML-KEM-768; undefined if it is another, or of the other kind: `createPublicKey` would take a private key, which must not be where
 * the vault runs. The error of the library is dropped, because it can quote its input.
 */
function kemKey(pem: unknown, name: string, label: PemLabel): crypto.KeyObject | undefined {
  if (!hasLabel(pem, label)) return undefined
  try {
    const key = label === 'PUBLIC KEY' ? crypto.createPublicKey(pem) : crypto.createPrivateKey(pem)
    return key.asymmetricKeyType === 'ml-kem-768' ? key : undefined
  } catch {
    assertNotNewer(pem, 'ML-KEM-768', name)
    return undefined
  }
}

/** Binds the bytes of a provider to what was wrapped for recipients: a change of it is found at the next opening, and not on the day it is needed. */
function boundTo(prefix: Uint8Array, associatedData: Uint8Array): Uint8Array {
  return new Uint8Array(Buffer.concat([associatedData, hashOf(prefix)]))
}

function hashOf(bytes: Uint8Array): Buffer {
  return crypto.createHash('sha256').update(bytes).digest()
}

/** Returns a name for a set of recipients: 16 hex digits, which do not depend on their order. */
function namesOf(recipients: readonly Recipient[]): string {
  return hashOf(Buffer.concat(recipients.map(({ fingerprint }) => fingerprint).sort(Buffer.compare))).toString('hex', 0, 8)
}

/** Returns the first bytes of the SHA-256 of a public key. */
function fingerprintOf(key: crypto.KeyObject): Buffer {
  return hashOf(key.export({ type: 'spki', format: 'der' })).subarray(0, FINGERPRINT_BYTES)
}

/** Returns the key that wraps one root key for one recipient. The salt is all that precedes the wrapped root key. */
function wrappingKey(shared: Uint8Array, head: Uint8Array): Uint8Array {
  const key = new Uint8Array(crypto.hkdfSync('sha256', shared, head, 'strongroom/v1/recovery', SECRET_BYTES))
  wipe(shared)
  return key
}

function wrapFor({ key, fingerprint }: Recipient, rootKey: Uint8Array, associatedData: Uint8Array): Uint8Array {
  const { sharedKey, ciphertext } = crypto.encapsulate(key)
  const head = Buffer.concat([fingerprint, ciphertext])
  const secret = wrappingKey(sharedKey, head)
  const part = Buffer.concat([head, wrapBytes(secret, rootKey, associatedData)])
  wipe(secret)
  return part
}

function unwrapPart(key: crypto.KeyObject, part: Uint8Array, associatedData: Uint8Array): Uint8Array {
  const head = part.subarray(0, HEAD_BYTES)
  // Changed bytes give another secret, not an error. Source: FIPS 203, implicit rejection.
  const secret = wrappingKey(crypto.decapsulate(key, head.subarray(FINGERPRINT_BYTES)), head)
  const rootKey = unwrapBytes(secret, part.subarray(HEAD_BYTES), associatedData)
  wipe(secret)
  if (rootKey === undefined)
    throw unwrapError('what was wrapped for recovery was changed, or belongs to another vault. Restore it.')
  return rootKey
}

/** What was wrapped for recipients, each and as a whole, and what the provider itself wrapped. Without recipients the former is empty. */
interface SplitKey {
  readonly parts: readonly Uint8Array[]
  readonly prefix: Uint8Array
  readonly inner: WrappedKey
}

function split(wrapped: WrappedKey): SplitKey {
  const keyId = MARKED.exec(wrapped.keyId)?.[1]
  if (keyId === undefined) return { parts: [], prefix: new Uint8Array(0), inner: wrapped }
  const { bytes } = wrapped
  const count = bytes[0] ?? 0
  const end = 1 + count * PART_BYTES
  if (count < 1 || count > MAX_RECIPIENTS || bytes.length < end) throw unwrapError('its wrapped bytes were cut. Restore them.')
  const parts = Array.from({ length: count }, (_, i) => bytes.subarray(1 + i * PART_BYTES, 1 + (i + 1) * PART_BYTES))
  return { parts, prefix: bytes.subarray(0, end), inner: { keyId, bytes: bytes.slice(end) } }
}
