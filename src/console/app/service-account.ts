/** A service account in the tab: its key file is read, assertions are signed here, and exchanged for bearers that are renewed. */
import { ApiError, postWithout } from './api.ts'
import { base64url } from './base64url.ts'
import type { Credential } from './credential.ts'

/** What a key file has, as far as signing in needs it. */
interface KeyFile {
  readonly vaultID: string
  readonly clientID: string
  readonly keyID: string
  readonly tokenURI: string
  readonly privateKey: string
}

const RSA = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } as const
/** Seconds from the signing of an assertion to its expiry. */
const ASSERTION_SECONDS = 60
/** A bearer lives for 60 minutes; it is renewed after 50. */
const RENEWAL_MS = 50 * 60_000
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** Returns the credential of a key file. Its text is dropped: the key stays in the tab as one that cannot be read. Throws `ApiError`. */
export async function serviceAccount(text: string): Promise<Credential> {
  const file = parseKeyFile(text)
  const key = await importKey(file.privateKey)
  const { privateKey: _dropped, ...names } = file
  let bearer = { token: await exchange(names, key), renewAt: Date.now() + RENEWAL_MS }
  let renewal: Promise<string> | undefined
  const renew = async (): Promise<string> => {
    try {
      bearer = { token: await exchange(names, key), renewAt: Date.now() + RENEWAL_MS }
      return bearer.token
    } finally {
      renewal = undefined
    }
  }
  return {
    vaultID: file.vaultID,
    bearer() {
      if (Date.now() < bearer.renewAt) return bearer.token
      renewal ??= renew()
      return renewal
    },
  }
}

const MEMBERS = ['clientID', 'keyID', 'tokenURI', 'privateKey'] as const

function parseKeyFile(text: string): KeyFile {
  const file = parseJson(text)
  const [clientID = '', keyID = '', tokenURI = '', privateKey = ''] = MEMBERS.map((name) => {
    const value = file?.[name]
    if (typeof value === 'string' && value !== '') return value
    throw new ApiError(`This is no key file of a service account: ${name} is missing.`)
  })
  return { vaultID: vaultOf(keyID), clientID, keyID, tokenURI, privateKey }
}

/** The id of a key ends with the vault that has it. */
function vaultOf(keyID: string): string {
  try {
    const encoded = keyID
      .slice(keyID.indexOf('.') + 1)
      .replaceAll('-', '+')
      .replaceAll('_', '/')
    return new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(encoded))
  } catch {
    throw new ApiError('This is no key file of a service account: keyID names no vault.')
  }
}

function parseJson(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

async function importKey(pem: string): Promise<CryptoKey> {
  if (!isSecureContext)
    throw new ApiError('A key file signs in from pages over HTTPS, or of this machine. Open the console there.')
  try {
    return await crypto.subtle.importKey('pkcs8', bytesOf(pem.replace(/-----[A-Z ]+-----|\s/g, '')), RSA, false, ['sign'])
  } catch {
    throw new ApiError('The private key of this key file cannot be read.')
  }
}

async function exchange({ clientID, keyID, tokenURI }: Omit<KeyFile, 'privateKey'>, key: CryptoKey): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: clientID,
    sub: clientID,
    key: keyID,
    aud: tokenURI,
    exp: now + ASSERTION_SECONDS,
    jti: crypto.randomUUID(),
  }
  const signed = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`
  const signature = await crypto.subtle.sign(RSA, key, new TextEncoder().encode(signed))
  const assertion = `${signed}.${base64url(new Uint8Array(signature))}`
  const answer = await postWithout('v1/auth/sa/oauth/token', { grant_type: GRANT_TYPE, assertion })
  const token: unknown = (answer as { accessToken?: unknown }).accessToken
  if (typeof token === 'string') return token
  throw new ApiError('The server answered without a token.')
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
}

function encode(value: object): string {
  return base64url(new TextEncoder().encode(JSON.stringify(value)))
}
