/** Root keys wrapped by a symmetric key of AWS KMS. The application gives the client; its package is loaded at the first call. */
import type { KMSClient } from '@aws-sdk/client-kms'
import { fault, VaultError } from '../../../core/errors.ts'
import type { KeyProvider, WrappedKey } from '../../../core/ports/crypto.ts'
import { readInput } from '../../../core/util/boundary.ts'
import { readOptions } from '../../../core/util/options.ts'
import { describeAwsError, isAwsUnavailable } from '../../errors/client-errors.ts'
import { missingPackageError } from '../../packages/require-package.ts'
import { type KeyServiceFailure, type KeyServiceLimits, serviceKeys } from '../services/service-keys.ts'

/** The `KMSClient` of the application. Only its method `send` is used. */
export interface AwsKmsClientLike {
  send(command: never, options: never): Promise<unknown>
}

/** Which key wraps, and who asks for it. */
export interface AwsKmsKeysOptions extends KeyServiceLimits {
  /** The application's `KMSClient` of `@aws-sdk/client-kms`, with its region and credentials. It stays open. */
  readonly client: AwsKmsClientLike
  /** The key that wraps: a symmetric one, by its id, its ARN, or an alias such as `alias/vault`. */
  readonly keyId: string
}

const NAME = 'AWS KMS'
/** The name of the associated data in the encryption context, which KMS authenticates, and CloudTrail records. */
const CONTEXT = 'strongroom'

const THROTTLED: ReadonlySet<string> = new Set(['ThrottlingException', 'LimitExceededException', 'TooManyRequestsException'])
const MISMATCHES: ReadonlySet<string> = new Set(['InvalidCiphertextException', 'IncorrectKeyException'])
const REFUSALS: ReadonlySet<string> = new Set([
  'AccessDeniedException',
  'DisabledException',
  'ExpiredTokenException',
  'IncompleteSignature',
  'InvalidArnException',
  'InvalidKeyUsageException',
  'InvalidSignatureException',
  'KMSInvalidStateException',
  'MissingAuthenticationToken',
  'NotFoundException',
  'OptInRequired',
  'UnrecognizedClientException',
  'ValidationException',
])

/**
 * Returns a key provider that wraps with AWS KMS. The associated data is the encryption context, and the name of a wrapped key is the ARN of
 * the key that wrapped it: an alias can be pointed at another key, and `rewrap` moves root keys to it inside KMS. Needs the rights
 * kms:Encrypt, kms:Decrypt, kms:ReEncrypt* and kms:DescribeKey. Throws `invalid_request` if the options are wrong.
 */
export function awsKmsKeys(options: AwsKmsKeysOptions): KeyProvider {
  const { client, keyId, ...limits } = checkOptions(options)
  // The public type names no package, so that the declarations compile without it.
  const kms = client as Pick<KMSClient, 'send'>
  return serviceKeys(
    {
      name: NAME,
      async wrap(Plaintext, associatedData, abortSignal) {
        const { EncryptCommand } = await loadSdk()
        const request = { KeyId: keyId, Plaintext, EncryptionContext: contextOf(associatedData) }
        return wrappedKey(await kms.send(new EncryptCommand(request), { abortSignal }))
      },
      async unwrap(wrapped, associatedData, abortSignal) {
        const { DecryptCommand } = await loadSdk()
        const request = { KeyId: wrapped.keyId, CiphertextBlob: wrapped.bytes, EncryptionContext: contextOf(associatedData) }
        const { Plaintext } = await kms.send(new DecryptCommand(request), { abortSignal })
        return answered(Plaintext)
      },
      async rewrap(wrapped, associatedData, abortSignal) {
        const { ReEncryptCommand } = await loadSdk()
        const context = contextOf(associatedData)
        const source = { CiphertextBlob: wrapped.bytes, SourceKeyId: wrapped.keyId, SourceEncryptionContext: context }
        const request = { ...source, DestinationKeyId: keyId, DestinationEncryptionContext: context }
        return wrappedKey(await kms.send(new ReEncryptCommand(request), { abortSignal }))
      },
      async currentKeyId(abortSignal) {
        const { DescribeKeyCommand } = await loadSdk()
        const { KeyMetadata } = await kms.send(new DescribeKeyCommand({ KeyId: keyId }), { abortSignal })
        return answered(KeyMetadata?.Arn)
      },
      failureOf,
    },
    limits,
  )
}

function checkOptions(options: AwsKmsKeysOptions): AwsKmsKeysOptions {
  const checked = readOptions(options, ['client', 'keyId', 'callTimeoutMs', 'openTimeoutMs'], { of: 'awsKmsKeys' })
  const { client, keyId } = checked
  if (typeof keyId !== 'string' || keyId === '')
    throw fault('invalid_request')`awsKmsKeys: keyId must be the id, ARN or alias of a key.`
  const isClient = readInput(() => typeof client === 'object' && client !== null && typeof client.send === 'function')
  if (!isClient) throw fault('invalid_request')`awsKmsKeys: client must be a KMSClient.`
  return checked
}

/** Loads the package, which is an optional peer dependency. */
async function loadSdk(): Promise<typeof import('@aws-sdk/client-kms')> {
  try {
    return await import('@aws-sdk/client-kms')
  } catch (error) {
    throw missingPackageError({ user: 'awsKmsKeys', name: '@aws-sdk/client-kms' }, error)
  }
}

/** The context takes texts alone. */
function contextOf(associatedData: Uint8Array): Record<string, string> {
  return { [CONTEXT]: Buffer.from(associatedData).toString('base64') }
}

function wrappedKey(answer: {
  readonly CiphertextBlob?: Uint8Array | undefined
  readonly KeyId?: string | undefined
}): WrappedKey {
  return { keyId: answered(answer.KeyId), bytes: Uint8Array.from(answered(answer.CiphertextBlob)) }
}

function answered<T>(member: T | undefined): T {
  if (member === undefined) throw new VaultError('internal', `${NAME} returned an answer without the member that was asked for.`)
  return member
}

function failureOf(error: unknown): KeyServiceFailure {
  const { name = '', code, status } = describeAwsError(error)
  const reported = name || code || status
  const failure = (kind: KeyServiceFailure['kind']): KeyServiceFailure => ({ kind, code: reported })
  if (THROTTLED.has(name) || status === 429) return failure('throttled')
  if (isAwsUnavailable(error)) return failure('unavailable')
  if (MISMATCHES.has(name)) return failure('mismatch')
  return failure(REFUSALS.has(name) ? 'refused' : 'unknown')
}
