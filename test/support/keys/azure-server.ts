/** Azure Key Vault and Managed HSM as the tests have them: TLS, a challenge before the first request, and keys with versions, of RSA or AES. */
import { execFileSync } from 'node:child_process'
import { constants, generateKeyPairSync, type KeyPairKeyObjectResult, privateDecrypt, publicEncrypt } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { KeyClient } from '@azure/keyvault-keys'
import { bytesOf, type KeyRequest, type KeyServer, SERVICE_TEXT, startKeyServer, type WireFormat } from './key-server.ts'
import { KeyRefusal, type ServedKeys } from './served-keys.ts'

export type AzureKeyType = 'RSA' | 'oct-HSM'

/** The names of keys that exist. They have the same versions. */
export const KEYS = ['pii', 'pii-2027'] as const

const ERRORS = {
  mismatch: [400, 'BadParameter'],
  disabled: [403, 'Forbidden'],
  withdrawn: [403, 'Forbidden'],
  'unknown key': [404, 'KeyNotFound'],
  throttled: [429, 'Throttled'],
  failing: [500, 'InternalServerError'],
} as const

const OAEP = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }
const VERSION_BYTES = 4
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Making an RSA key takes long: servers share them, by version. */
const pairs: KeyPairKeyObjectResult[] = []

function pairOf(version: number): KeyPairKeyObjectResult {
  while (pairs.length < version) pairs.push(generateKeyPairSync('rsa', { modulusLength: 2048 }))
  const pair = pairs[version - 1]
  if (pair === undefined) throw new KeyRefusal('unknown key')
  return pair
}

export interface AzureServer extends KeyServer {
  readonly url: string
  /** The official client. It tries nothing again: the provider does. */
  readonly client: KeyClient
}

/** Starts a vault with keys of one type. */
export async function startAzure(keyType: AzureKeyType, certificate: TestCertificate): Promise<AzureServer> {
  let url = ''
  const server = await startKeyServer(
    formatOf(keyType, () => url),
    (handle) =>
      createServer(certificate, (request, response) => {
        if (request.headers.authorization === 'Bearer token') return handle(request, response)
        const challenge = `Bearer authorization="${url}/tenant", resource="https://vault.azure.net"`
        request.resume()
        response.writeHead(401, { 'www-authenticate': challenge }).end()
      }),
  )
  url = `https://localhost:${server.port}`
  const credential = { getToken: async () => ({ token: 'token', expiresOnTimestamp: Date.now() + 3_600_000 }) }
  const client = new KeyClient(url, credential, {
    disableChallengeResourceVerification: true,
    tlsOptions: { ca: certificate.cert },
    retryOptions: { maxRetries: 0 },
  })
  return Object.assign(server, { url, client })
}

function formatOf(keyType: AzureKeyType, url: () => string): WireFormat {
  return {
    answer({ method, path: requested, body }, keys) {
      const [, name, versionId, operation] = /^\/keys\/([^/]+)\/([^/]*)(?:\/(\w+))?$/.exec(requested) ?? []
      if (!KEYS.some((key) => key === name)) throw new KeyRefusal('unknown key')
      const version = versionId === '' || versionId === undefined ? keys.current() : Number(versionId)
      const kid = `${url()}/keys/${name}/${idOf(version)}`
      if (method === 'GET') return bundleOf(keyType, kid, version)
      const work = operation === undefined ? undefined : OPERATIONS[operation]
      if (work === undefined) throw new Error(`The server has no ${operation}.`)
      return { kid, ...work(body, keys, version) }
    },
    error(reason) {
      const [status, code] = ERRORS[reason]
      return { status, body: { error: { code, message: SERVICE_TEXT } } }
    },
  }
}

/** The id of a version: 32 hex digits, of which Azure says nothing. */
function idOf(version: number): string {
  return String(version).padStart(32, '0')
}

function bundleOf(keyType: AzureKeyType, kid: string, version: number): object {
  const attributes = { enabled: true, created: 1, updated: 1 }
  if (keyType === 'oct-HSM') return { key: { kid, kty: keyType, key_ops: ['encrypt', 'decrypt'] }, attributes }
  const { n, e } = pairOf(version).publicKey.export({ format: 'jwk' })
  return { key: { kid, kty: keyType, key_ops: ['wrapKey', 'unwrapKey'], n, e }, attributes }
}

type Work = (body: KeyRequest['body'], keys: ServedKeys, version: number) => object

const OPERATIONS: Readonly<Record<string, Work>> = {
  wrapkey(body, keys, version) {
    assertUsable(keys, version)
    return { value: publicEncrypt({ key: pairOf(version).publicKey, ...OAEP }, bytesOf(body.value)).toString('base64url') }
  },
  unwrapkey(body, keys, version) {
    assertUsable(keys, version)
    try {
      return { value: privateDecrypt({ key: pairOf(version).privateKey, ...OAEP }, bytesOf(body.value)).toString('base64url') }
    } catch {
      throw new KeyRefusal('mismatch')
    }
  },
  encrypt(body, keys) {
    const { bytes } = keys.seal(bytesOf(body.value), bytesOf(body.aad))
    const [iv, value, tag] = [
      bytes.subarray(VERSION_BYTES, VERSION_BYTES + NONCE_BYTES),
      bytes.subarray(VERSION_BYTES + NONCE_BYTES, -TAG_BYTES),
      bytes.subarray(-TAG_BYTES),
    ].map((part) => part.toString('base64url'))
    return { value, iv, tag, aad: body.aad }
  },
  decrypt(body, keys, version) {
    const head = Buffer.alloc(VERSION_BYTES)
    head.writeUInt32BE(version)
    const sealed = Buffer.concat([head, bytesOf(body.iv), bytesOf(body.value), bytesOf(body.tag)])
    return { value: keys.open(sealed, bytesOf(body.aad), version).toString('base64url') }
  },
}

/** Throws for a version that is disabled or withdrawn: it opens nothing that names it. */
function assertUsable(keys: ServedKeys, version: number): void {
  if (!Number.isInteger(version) || version < 1 || version > keys.current()) throw new KeyRefusal('unknown key')
  const sealed = Buffer.alloc(VERSION_BYTES + NONCE_BYTES + TAG_BYTES)
  sealed.writeUInt32BE(version)
  try {
    keys.open(sealed, Buffer.alloc(0))
  } catch (error) {
    if (!(error instanceof KeyRefusal && error.reason === 'mismatch')) throw error
  }
}

/** A certificate of `localhost` that signs itself. */
export interface TestCertificate {
  readonly key: string
  readonly cert: string
}

export function makeTestCertificate(): TestCertificate {
  const folder = mkdtempSync(path.join(tmpdir(), 'strongroom-azure-'))
  const [key, cert] = [path.join(folder, 'key'), path.join(folder, 'cert')]
  try {
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '2']
    execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', cert, ...names], { stdio: 'pipe' })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
