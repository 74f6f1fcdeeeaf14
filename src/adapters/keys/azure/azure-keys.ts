/** Root keys wrapped by a key of Azure Key Vault or Managed HSM. The application gives the client; no package is loaded. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { CryptographyClient, KeyClient, KeyVaultKey } from '@azure/keyvault-keys'
import { fault, VaultError } from '../../../core/errors.ts'
import type { KeyProvider, WrappedKey } from '../../../core/ports/crypto.ts'
import { readInput } from '../../../core/util/boundary.ts'
import { errorCode } from '../../../core/util/causes.ts'
import { readOptions } from '../../../core/util/options.ts'
import { isDisconnected } from '../../errors/client-errors.ts'
import { type KeyServiceFailure, type KeyServiceLimits, type KeyServiceTask, serviceKeys } from '../services/service-keys.ts'

/** The `KeyClient` of the application. Only these members are used. */
export interface AzureKeyClientLike {
  readonly vaultUrl: string
  getKey(name: string, options: never): Promise<unknown>
  getCryptographyClient(name: string, options: never): unknown
}

/** Which key wraps, and who asks for it. */
export interface AzureKeysOptions extends KeyServiceLimits {
  /** The application's `KeyClient` of `@azure/keyvault-keys`, with its credential. */
  readonly client: AzureKeyClientLike
  /** Name of the key that wraps: an RSA key of at least 2,048 bits, or an AES key of 256 bits of a Managed HSM. Wrapped keys name theirs, so one that was replaced goes on unwrapping. */
  readonly key: string
}

const NAME = 'Azure Key Vault'
const RSA = 'RSA-OAEP-256'
const AES = 'A256GCM'
/** What follows `…/keys/` in the id of a version. */
const VERSION = /^([0-9A-Za-z-]{1,127})\/([0-9A-Za-z]{1,64})$/
const KEY_NAME = /^[0-9A-Za-z-]{1,127}$/
const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16
/** Length of what an AES key wrapped: `iv 12 | ciphertext 32 | tag 16`. An RSA key returns 256 bytes or more. */
const AES_BYTES = IV_BYTES + KEY_BYTES + TAG_BYTES

/**
 * Returns a key provider that wraps with Azure. An AES key (`oct-HSM`) authenticates the associated data itself. RSA keys have none, so what they wrap
 * is `root key 32 | SHA-256 of the associated data 32`, which is compared when it is unwrapped. An attacker who has the public RSA key can *make* a wrapped key:
 * pin the vault with `keyFingerprint`. `keyId` is the id of the key version. Needs the permissions get, wrapKey and unwrapKey, of AES keys get, encrypt and decrypt.
 * Throws `invalid_request` if the options are wrong.
 */
export function azureKeys(options: AzureKeysOptions): KeyProvider {
  const { client, key, ...limits } = checkOptions(options)
  // The public type names no package, so that the declarations compile without it.
  const keys = client as unknown as Pick<KeyClient, 'getKey' | 'getCryptographyClient'>
  const prefix = `${client.vaultUrl.replace(/\/+$/, '')}/keys/`
  // A client asks for its key once, and remembers it.
  const clients = new Map<string, CryptographyClient>()
  const clientOf = (name: string, keyVersion: string): CryptographyClient => {
    const id = `${name}/${keyVersion}`
    const known = clients.get(id) ?? keys.getCryptographyClient(name, { keyVersion })
    clients.set(id, known)
    return known
  }
  const current = async (abortSignal: AbortSignal) => {
    const found = await keys.getKey(key, { abortSignal })
    return { found, version: answered(found.properties.version) }
  }
  return serviceKeys(
    {
      name: NAME,
      async wrap(rootKey, associatedData, abortSignal) {
        const { found, version } = await current(abortSignal)
        const crypto = clientOf(key, version)
        const bytes = isAes(found)
          ? await wrapAes(crypto, { rootKey, associatedData, abortSignal })
          : await wrapRsa(crypto, { rootKey, associatedData, abortSignal })
        return { keyId: `${prefix}${key}/${version}`, bytes }
      },
      async unwrap({ keyId, bytes }, associatedData, abortSignal) {
        const [, name, version] = (keyId.startsWith(prefix) && VERSION.exec(keyId.slice(prefix.length))) || []
        if (name === undefined || version === undefined) throw otherKeyError()
        const crypto = clientOf(name, version)
        const wrapped = { bytes, associatedData, abortSignal }
        return bytes.length === AES_BYTES ? unwrapAes(crypto, wrapped) : unwrapRsa(crypto, wrapped)
      },
      currentKeyId: async (signal) => `${prefix}${key}/${(await current(signal)).version}`,
      failureOf,
    },
    limits,
  )
}

function checkOptions(options: AzureKeysOptions): AzureKeysOptions {
  const checked = readOptions(options, ['client', 'key', 'callTimeoutMs', 'openTimeoutMs'], { of: 'azureKeys' })
  const { client, key } = checked
  if (typeof key !== 'string' || !KEY_NAME.test(key))
    throw fault('invalid_request')`azureKeys: key must be the name of a key, without a version.`
  const isClient = readInput(
    () =>
      typeof client === 'object' &&
      client !== null &&
      typeof client.getCryptographyClient === 'function' &&
      typeof client.vaultUrl === 'string',
  )
  if (!isClient) throw fault('invalid_request')`azureKeys: client must be a KeyClient.`
  return checked
}

function isAes({ keyType }: KeyVaultKey): boolean {
  return keyType === 'oct-HSM' || keyType === 'oct'
}

interface ToWrap {
  readonly rootKey: Uint8Array
  readonly associatedData: Uint8Array
  readonly abortSignal: AbortSignal
}

interface ToUnwrap extends Omit<ToWrap, 'rootKey'> {
  readonly bytes: WrappedKey['bytes']
}

async function wrapRsa(crypto: CryptographyClient, { rootKey, associatedData, abortSignal }: ToWrap): Promise<Uint8Array> {
  const both = new Uint8Array(2 * KEY_BYTES)
  both.set(rootKey)
  both.set(hashOf(associatedData), KEY_BYTES)
  try {
    const { result } = await crypto.wrapKey(RSA, both, { abortSignal })
    return Uint8Array.from(answered(result))
  } finally {
    both.fill(0)
  }
}

async function unwrapRsa(crypto: CryptographyClient, { bytes, associatedData, abortSignal }: ToUnwrap): Promise<Uint8Array> {
  const { result } = await crypto.unwrapKey(RSA, bytes, { abortSignal })
  const both = answered(result)
  try {
    const isOfVault = both.length === 2 * KEY_BYTES && timingSafeEqual(both.subarray(KEY_BYTES), hashOf(associatedData))
    if (!isOfVault) throw MISMATCH
    // The client returns a Buffer, whose own `slice` makes no copy.
    return Uint8Array.from(both.subarray(0, KEY_BYTES))
  } finally {
    both.fill(0)
  }
}

function hashOf(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest()
}

async function wrapAes(crypto: CryptographyClient, { rootKey, associatedData, abortSignal }: ToWrap): Promise<Uint8Array> {
  const parameters = { algorithm: AES, plaintext: rootKey, additionalAuthenticatedData: associatedData } as const
  const { iv, result, authenticationTag } = await crypto.encrypt(parameters, { abortSignal })
  return Buffer.concat([answered(iv), answered(result), answered(authenticationTag)])
}

async function unwrapAes(crypto: CryptographyClient, { bytes, associatedData, abortSignal }: ToUnwrap): Promise<Uint8Array> {
  const parameters = {
    algorithm: AES,
    iv: bytes.subarray(0, IV_BYTES),
    ciphertext: bytes.subarray(IV_BYTES, -TAG_BYTES),
    authenticationTag: bytes.subarray(-TAG_BYTES),
    additionalAuthenticatedData: associatedData,
  } as const
  const { result } = await crypto.decrypt(parameters, { abortSignal })
  return answered(result)
}

/** The unwrapped bytes are not of this vault. */
const MISMATCH = new Error('other associated data')

function otherKeyError(): VaultError {
  const message = `${NAME} could not unwrap a root key: it was wrapped by a key of another vault or service. Provide that one.`
  return new VaultError('failed_precondition', message)
}

function answered<T>(member: T | undefined): T {
  if (member === undefined) throw new VaultError('internal', `${NAME} returned an answer without the member that was asked for.`)
  return member
}

/** Names of errors of credentials, which the client throws when it cannot get a token now. */
const CREDENTIAL_ERROR =
  /^(CredentialUnavailableError|AuthenticationError|AggregateAuthenticationError|AuthenticationRequiredError)$/

function failureOf(error: unknown, task: KeyServiceTask): KeyServiceFailure {
  if (error === MISMATCH) return { kind: 'mismatch' }
  if (!(error instanceof Error)) return { kind: 'unknown' }
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : undefined
  if (status !== undefined) return { kind: kindOf(status, task), code: status }
  const code = errorCode(error)
  if (CREDENTIAL_ERROR.test(error.name)) return { kind: 'unavailable', code: error.name }
  if (code === 'REQUEST_SEND_ERROR' || isDisconnected(error)) return { kind: 'unavailable', code }
  // The client refuses a key that it has read: it expired, or is not of the type.
  return { kind: error.name === 'Error' ? 'refused' : 'unknown' }
}

function kindOf(status: number, task: KeyServiceTask): KeyServiceFailure['kind'] {
  if (status === 429) return 'throttled'
  if (status >= 500 || status === 408) return 'unavailable'
  // Bytes that do not decrypt are a bad request.
  if (status === 400) return task === 'unwrap' ? 'mismatch' : 'refused'
  return [401, 403, 404, 409].includes(status) ? 'refused' : 'unknown'
}
