/** AWS KMS as the tests have it: JSON 1.1 with Encrypt, Decrypt, ReEncrypt and DescribeKey. A rotation points the alias at another key. */
import { KMSClient } from '@aws-sdk/client-kms'
import { bytesOf, type KeyRequest, type KeyServer, SERVICE_TEXT, startKeyServer, type WireFormat } from './key-server.ts'
import { KeyRefusal, type ServedKeys } from './served-keys.ts'

export const ALIAS = 'alias/vault'
const ARN = 'arn:aws:kms:eu-central-1:111122223333:key/'

const ERRORS = {
  mismatch: [400, 'InvalidCiphertextException'],
  disabled: [400, 'DisabledException'],
  withdrawn: [400, 'AccessDeniedException'],
  'unknown key': [400, 'NotFoundException'],
  throttled: [400, 'ThrottlingException'],
  failing: [500, 'KMSInternalException'],
} as const

const FORMAT: WireFormat = {
  contentType: 'application/x-amz-json-1.1',
  answer(request, keys) {
    const { body } = request
    const operation = operationOf(request)
    if (operation === 'Encrypt') {
      versionOf(body.KeyId, keys)
      return sealed(keys, bytesOf(body.Plaintext), contextOf(body.EncryptionContext))
    }
    if (operation === 'Decrypt') {
      const version = versionOf(body.KeyId, keys)
      const plaintext = keys.open(bytesOf(body.CiphertextBlob), contextOf(body.EncryptionContext), version)
      return { Plaintext: plaintext.toString('base64'), KeyId: ARN + version, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' }
    }
    if (operation === 'ReEncrypt') {
      const source = versionOf(body.SourceKeyId, keys)
      const plaintext = keys.open(bytesOf(body.CiphertextBlob), contextOf(body.SourceEncryptionContext), source)
      return { ...sealed(keys, plaintext, contextOf(body.DestinationEncryptionContext)), SourceKeyId: ARN + source }
    }
    if (operation === 'DescribeKey') {
      const version = versionOf(body.KeyId, keys)
      return { KeyMetadata: { KeyId: String(version), Arn: ARN + version, Enabled: true } }
    }
    throw new Error(`The server has no ${operation}.`)
  },
  error(reason) {
    const [status, name] = ERRORS[reason]
    return { status, body: { __type: name, message: SERVICE_TEXT } }
  },
}

/** Starts the service. */
export function startAwsKms(): Promise<KeyServer> {
  return startKeyServer(FORMAT)
}

/** The official client on the service. It tries nothing again: the provider does. */
export function awsClient({ port }: Pick<KeyServer, 'port'>): KMSClient {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  return new KMSClient({ endpoint: `http://127.0.0.1:${port}`, region: 'eu-central-1', credentials, maxAttempts: 1 })
}

/** The operation of a request, such as `Decrypt`. */
export function operationOf({ headers }: KeyRequest): string {
  return String(headers['x-amz-target']).replace('TrentService.', '')
}

/** The version that an ARN or the alias names. */
function versionOf(keyId: unknown, keys: ServedKeys): number {
  if (keyId === ALIAS) return keys.current()
  const version = String(keyId).startsWith(ARN) ? Number(String(keyId).slice(ARN.length)) : 0
  if (version < 1 || version > keys.current()) throw new KeyRefusal('unknown key')
  return version
}

function sealed(keys: ServedKeys, plaintext: Buffer, context: Buffer): object {
  const { version, bytes } = keys.seal(plaintext, context)
  return { CiphertextBlob: bytes.toString('base64'), KeyId: ARN + version, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' }
}

/** The members of the context in one order, as bytes. */
function contextOf(context: unknown): Buffer {
  return Buffer.from(JSON.stringify(Object.entries(Object(context)).toSorted()))
}
