/** Root keys wrapped by a symmetric key of Google Cloud KMS. The application gives the client; no package is loaded. */
import type { KeyManagementServiceClient } from '@google-cloud/kms'
import { fault, VaultError } from '../../../core/errors.ts'
import type { KeyProvider } from '../../../core/ports/crypto.ts'
import { readInput } from '../../../core/util/boundary.ts'
import { readOptions } from '../../../core/util/options.ts'
import { isDisconnected } from '../../errors/client-errors.ts'
import { type KeyServiceFailure, type KeyServiceLimits, type KeyServiceTask, serviceKeys } from '../services/service-keys.ts'
import { crc32c } from './crc32c.ts'

/** The `KeyManagementServiceClient` of the application. Only these methods are used. */
export interface GoogleKmsClientLike {
  encrypt(request: never, options: never): Promise<unknown>
  decrypt(request: never, options: never): Promise<unknown>
  getCryptoKey(request: never, options: never): Promise<unknown>
}

/** Which key wraps, and who asks for it. */
export interface GoogleKmsKeysOptions extends KeyServiceLimits {
  /** The application's `KeyManagementServiceClient` of `@google-cloud/kms`, with its credentials. It stays open. */
  readonly client: GoogleKmsClientLike
  /** The key that wraps, of the purpose ENCRYPT_DECRYPT, such as `projects/p/locations/l/keyRings/r/cryptoKeys/k`. */
  readonly key: string
}

const NAME = 'Google Cloud KMS'
const KEY = /^projects\/[^/]+\/locations\/[^/]+\/keyRings\/[^/]+\/cryptoKeys\/[^/]+$/
/** What follows the name of a key in that of its version. */
const VERSION = /\/cryptoKeyVersions\/[0-9]+$/

/**
 * Returns a key provider that wraps with Google Cloud KMS. The name of a wrapped key is that of the key version that wrapped it, so a
 * rotation in KMS is seen. Checksums are verified on both ways. Needs the rights cloudkms.cryptoKeyVersions.useToEncrypt and useToDecrypt, and
 * cloudkms.cryptoKeys.get. Throws `invalid_request` if the options are wrong.
 */
export function googleKmsKeys(options: GoogleKmsKeysOptions): KeyProvider {
  const { client, key, ...limits } = checkOptions(options)
  // The public type names no package, so that the declarations compile without it.
  const kms = client as Pick<KeyManagementServiceClient, 'encrypt' | 'decrypt' | 'getCryptoKey'>
  // The client would go on trying for ten minutes.
  const callOptions = (signal: AbortSignal) => ({ signal, timeout: limits.callTimeoutMs ?? 5000, retry: null })
  return serviceKeys(
    {
      name: NAME,
      async wrap(plaintext, additionalAuthenticatedData, signal) {
        const request = {
          name: key,
          plaintext,
          plaintextCrc32c: checksumOf(plaintext),
          additionalAuthenticatedData,
          additionalAuthenticatedDataCrc32c: checksumOf(additionalAuthenticatedData),
        }
        const [answer] = await kms.encrypt(request, callOptions(signal))
        const bytes = bytesOf(answer.ciphertext)
        const isIntact = answer.verifiedPlaintextCrc32c && answer.verifiedAdditionalAuthenticatedDataCrc32c
        if (!isIntact || !isChecksum(answer.ciphertextCrc32c, bytes)) throw changedError()
        return { keyId: answered(answer.name), bytes }
      },
      async unwrap({ keyId, bytes }, additionalAuthenticatedData, signal) {
        const request = {
          name: keyOf(keyId),
          ciphertext: bytes,
          ciphertextCrc32c: checksumOf(bytes),
          additionalAuthenticatedData,
          additionalAuthenticatedDataCrc32c: checksumOf(additionalAuthenticatedData),
        }
        const [answer] = await kms.decrypt(request, callOptions(signal))
        const plaintext = bytesOf(answer.plaintext)
        if (!isChecksum(answer.plaintextCrc32c, plaintext)) throw changedError()
        return plaintext
      },
      async currentKeyId(signal) {
        const [{ primary }] = await kms.getCryptoKey({ name: key }, callOptions(signal))
        return answered(primary?.name)
      },
      failureOf,
    },
    limits,
  )
}

function checkOptions(options: GoogleKmsKeysOptions): GoogleKmsKeysOptions {
  const checked = readOptions(options, ['client', 'key', 'callTimeoutMs', 'openTimeoutMs'], { of: 'googleKmsKeys' })
  const { client, key } = checked
  if (typeof key !== 'string' || !KEY.test(key))
    throw fault('invalid_request')`googleKmsKeys: key must be projects/*/locations/*/keyRings/*/cryptoKeys/*, without a version.`
  const isClient = readInput(() => typeof client === 'object' && client !== null && typeof client.encrypt === 'function')
  if (!isClient) throw fault('invalid_request')`googleKmsKeys: client must be a KeyManagementServiceClient.`
  return checked
}

/** Returns the name of the key that a version belongs to: KMS finds the version by the wrapped bytes. */
function keyOf(keyId: string): string {
  const key = keyId.replace(VERSION, '')
  if (key !== keyId && KEY.test(key)) return key
  throw new VaultError(
    'failed_precondition',
    `${NAME} could not unwrap a root key: it was wrapped by a key of another service. Provide that one.`,
  )
}

interface Checksum {
  readonly value?: unknown
}

function checksumOf(bytes: Uint8Array): { readonly value: number } {
  return { value: crc32c(bytes) }
}

/** The client returns a 64-bit number as a number, a text or an object that prints it. */
function isChecksum(checksum: Checksum | null | undefined, bytes: Uint8Array): boolean {
  return Number(checksum?.value ?? Number.NaN) === crc32c(bytes)
}

function changedError(): VaultError {
  return new VaultError('unavailable', `${NAME} and this process do not see the same bytes: they were changed on the way. Retry.`)
}

function bytesOf(bytes: Uint8Array | string | null | undefined): Uint8Array {
  const given = answered(bytes)
  return typeof given === 'string' ? Buffer.from(given, 'base64') : given
}

function answered<T>(member: T | null | undefined): T {
  if (member === undefined || member === null)
    throw new VaultError('internal', `${NAME} returned an answer without the member that was asked for.`)
  return member
}

/** By the gRPC code of an error, which the client also makes of the status of HTTP. 3 is a bad request: to unwrap, other bytes. */
const KINDS: Readonly<Record<number, KeyServiceFailure['kind']>> = {
  3: 'refused',
  4: 'unavailable',
  5: 'refused',
  7: 'refused',
  8: 'throttled',
  9: 'refused',
  10: 'unavailable',
  13: 'unavailable',
  14: 'unavailable',
  16: 'refused',
}

function failureOf(error: unknown, task: KeyServiceTask): KeyServiceFailure {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (typeof code !== 'number') return { kind: isDisconnected(error) ? 'unavailable' : 'unknown' }
  return { kind: code === 3 && task === 'unwrap' ? 'mismatch' : (KINDS[code] ?? 'unknown'), code }
}
