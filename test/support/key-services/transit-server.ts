/** A server that speaks the part of Transit that root keys need: keys with versions, AES-256-GCM with associated data, tokens with a policy. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { KeyServiceFault } from '../../../src/conformance/keys/index.ts'

/** A key of the engine. */
interface TransitKey {
  /** By version, from 1. One that was trimmed is undefined. */
  readonly versions: (Buffer | undefined)[]
  minDecryptionVersion: number
  isDeleted: boolean
}

export interface TransitServer {
  readonly url: string
  /** What was asked, as `method path namespace`. */
  readonly requests: string[]
  /** The tokens that are let in. */
  readonly tokens: Set<string>
  key(name: string): TransitKey
  rotate(name: string): void
  fail(fault: KeyServiceFault | undefined, calls?: number): void
  close(): Promise<void>
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
const SLOW_MS = 100

/** Starts a server with the engine mounted at a path. Keys are made when the test asks for them. */
export async function startTransit(mount = 'transit'): Promise<TransitServer> {
  const keys = new Map<string, TransitKey>()
  const requests: string[] = []
  const tokens = new Set(['root'])
  let fault: { readonly kind: KeyServiceFault; calls: number } | undefined

  const key = (name: string): TransitKey => {
    const found = keys.get(name) ?? { versions: [randomBytes(32)], minDecryptionVersion: 1, isDeleted: false }
    keys.set(name, found)
    return found
  }

  /** Acts out a fault. Returns true if that was the answer. */
  async function faulty(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    if (fault === undefined || fault.calls-- <= 0) return false
    if (fault.kind === 'slow') await new Promise((resolve) => setTimeout(resolve, SLOW_MS))
    if (fault.kind === 'reset') request.socket.destroy()
    if (fault.kind === 'throttled' || fault.kind === 'failing')
      reply(response, fault.kind === 'throttled' ? 429 : 500, { errors: ['internal error'] })
    return fault.kind !== 'slow'
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readText(request)
    const { method = '', url = '', headers } = request
    requests.push([method, url, headers['x-vault-namespace']].filter((part) => part !== undefined).join(' '))
    if (await faulty(request, response)) return
    if (headers['x-vault-request'] !== 'true') return reply(response, 400, { errors: ['missing header'] })
    if (!tokens.has(String(headers['x-vault-token']))) return reply(response, 403, { errors: ['permission denied'] })
    const { pathname } = new URL(url, 'http://localhost')
    const [, engine, verb = '', name = ''] = /^\/v1\/(.+)\/(encrypt|decrypt|keys)\/([^/]+)$/.exec(pathname) ?? []
    const found = keys.get(name)
    if (engine !== mount || verb === '') reply(response, 404, { errors: [] })
    else if (found === undefined || found.isDeleted)
      reply(response, verb === 'keys' ? 404 : 400, { errors: ['encryption key not found'] })
    else perform(response, { verb, key: found, body: text === '' ? {} : JSON.parse(text) })
  }

  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // It listens at a port.
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    tokens,
    key,
    rotate: (name) => void key(name).versions.push(randomBytes(32)),
    fail(kind, calls = Number.POSITIVE_INFINITY) {
      fault = kind === undefined ? undefined : { kind, calls }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

interface TransitCall {
  readonly verb: string
  readonly key: TransitKey
  readonly body: Record<string, string>
}

function perform(response: ServerResponse, { verb, key, body }: TransitCall): void {
  const data = verb === 'encrypt' ? encrypt(key, body) : verb === 'decrypt' ? decrypt(key, body) : describe(key)
  if (data === undefined) reply(response, 400, { errors: ['cipher: message authentication failed'] })
  else reply(response, 200, { data })
}

function describe({ versions, minDecryptionVersion }: TransitKey) {
  return { latest_version: versions.length, min_decryption_version: minDecryptionVersion, type: 'aes256-gcm96' }
}

function encrypt({ versions }: TransitKey, { plaintext = '', associated_data: data = '' }: Record<string, string>) {
  const version = versions.length
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', versions[version - 1] ?? '', nonce).setAAD(Buffer.from(data, 'base64'))
  const bytes = Buffer.concat([nonce, cipher.update(plaintext, 'base64'), cipher.final(), cipher.getAuthTag()])
  return { ciphertext: `vault:v${version}:${bytes.toString('base64')}`, key_version: version }
}

/** Returns undefined for what does not decrypt. */
function decrypt(key: TransitKey, { ciphertext = '', associated_data: data = '' }: Record<string, string>) {
  const [, text = '', encoded = ''] = /^vault:v(\d+):(.+)$/.exec(ciphertext) ?? []
  const version = Number(text)
  const secret = version < key.minDecryptionVersion ? undefined : key.versions[version - 1]
  const bytes = Buffer.from(encoded, 'base64')
  if (secret === undefined || bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', secret, bytes.subarray(0, NONCE_BYTES)).setAAD(Buffer.from(data, 'base64'))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    const opened = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]
    return { plaintext: Buffer.concat(opened).toString('base64') }
  } catch {
    return undefined
  }
}
