/** Google Cloud KMS as the tests have it: REST with encrypt, decrypt and the key with its primary version. It checks the checksums it gets. */
import { KeyManagementServiceClient } from '@google-cloud/kms'
import { crc32c } from '../../../src/adapters/keys/google/crc32c.ts'
import { bytesOf, type KeyServer, SERVICE_TEXT, startKeyServer, type WireFormat } from './key-server.ts'
import { KeyRefusal } from './served-keys.ts'

export const GOOGLE_KEY = 'projects/acme/locations/europe-west3/keyRings/vaults/cryptoKeys/roots'
const PATH = `/v1/${GOOGLE_KEY}`

const ERRORS = {
  mismatch: [400, 'INVALID_ARGUMENT'],
  disabled: [400, 'FAILED_PRECONDITION'],
  withdrawn: [403, 'PERMISSION_DENIED'],
  'unknown key': [404, 'NOT_FOUND'],
  throttled: [429, 'RESOURCE_EXHAUSTED'],
  failing: [500, 'INTERNAL'],
} as const

const FORMAT: WireFormat = {
  answer({ method, path, body }, keys) {
    const associatedData = checked(body, 'additionalAuthenticatedData')
    if (method === 'POST' && path === `${PATH}:encrypt`) {
      const { version, bytes } = keys.seal(checked(body, 'plaintext'), associatedData)
      return {
        name: versionName(version),
        ciphertext: bytes.toString('base64'),
        ciphertextCrc32c: String(crc32c(bytes)),
        verifiedPlaintextCrc32c: true,
        verifiedAdditionalAuthenticatedDataCrc32c: true,
      }
    }
    if (method === 'POST' && path === `${PATH}:decrypt`) {
      const plaintext = keys.open(checked(body, 'ciphertext'), associatedData)
      return { plaintext: plaintext.toString('base64'), plaintextCrc32c: String(crc32c(plaintext)) }
    }
    if (method === 'GET' && path === PATH) return { name: GOOGLE_KEY, primary: { name: versionName(keys.current()) } }
    throw new KeyRefusal('unknown key')
  },
  error(reason) {
    const [code, status] = ERRORS[reason]
    return { status: code, body: { error: { code, status, message: SERVICE_TEXT } } }
  },
}

/** Starts the service. */
export function startGoogleKms(): Promise<KeyServer> {
  return startKeyServer(FORMAT)
}

/** The official client on the service. */
export function googleClient({ port }: Pick<KeyServer, 'port'>): KeyManagementServiceClient {
  return new KeyManagementServiceClient({ fallback: true, apiEndpoint: '127.0.0.1', port, protocol: 'http', apiKey: 'test' })
}

function versionName(version: number): string {
  return `${GOOGLE_KEY}/cryptoKeyVersions/${version}`
}

/** Returns the bytes of a member whose checksum is right. */
function checked(body: Readonly<Record<string, unknown>>, member: string): Buffer {
  const bytes = bytesOf(body[member])
  if (bytes.length > 0 && String(body[`${member}Crc32c`]) !== String(crc32c(bytes))) throw new KeyRefusal('mismatch')
  return bytes
}
