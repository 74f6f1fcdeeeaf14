/** Root keys wrapped by the Transit engine of HashiCorp Vault or OpenBao, by plain HTTP requests. */
import { VaultError } from '../../../core/errors.ts'
import type { KeyProvider } from '../../../core/ports/crypto.ts'
import { bareCause, errorCode } from '../../../core/util/causes.ts'
import { readOptions } from '../../../core/util/options.ts'
import { isSecretText, readSecretText, type SecretText } from '../services/secret-text.ts'
import { type KeyServiceFailure, type KeyServiceLimits, serviceKeys } from '../services/service-keys.ts'

/** Where the key is, and how requests are let in. */
export interface TransitKeysOptions extends KeyServiceLimits {
  /** Address of the server, such as `https://vault.example.com:8200`. A path before `/v1` is kept. */
  readonly url: string
  /** Name of the key that wraps: of type aes256-gcm96, aes128-gcm96, chacha20-poly1305 or xchacha20-poly1305, and not derived. Wrapped keys name theirs, so one that was replaced goes on unwrapping. */
  readonly key: string
  /** The token, or a function that returns one. It is called before the first request, and once more when a token is refused. */
  readonly token: SecretText
  /** Path of the engine. Default `transit`. */
  readonly mount?: string | undefined
  /** Namespace of the engine. Default: none. */
  readonly namespace?: string | undefined
}

const NAME = 'Vault Transit'
/** Names of keys, and of the parts of a mount path. */
const KEY_NAME = /^\w(?:[\w.-]*\w)?$/
const MOUNT = /^\w(?:[\w.-]*\w)?(?:\/\w(?:[\w.-]*\w)?)*$/
/** A key and its version. */
const KEY_ID = /^(\w(?:[\w.-]*\w)?)\/v(\d+)$/
/** A wrapped key as the engine writes it, with the version of the key that wrapped it. */
const CIPHERTEXT = /^vault:v([1-9]\d{0,8}):([A-Za-z0-9+/]+={0,2})$/
/** Longest wrapped key that is sent, in bytes. One of 32 bytes takes about 90. */
const MAX_BYTES = 1024
/** 412: the server has not heard of an earlier write yet. 472 and 473: it is a standby. */
const AWAY: ReadonlySet<number> = new Set([408, 412, 472, 473])

/** An answer that is no success. */
class Refused extends Error {
  readonly status: number
  constructor(status: number) {
    super(`status ${status}`)
    this.status = status
  }
}

/**
 * Returns a key provider that wraps by encryption with associated data. Wrapped bytes are the text that the engine returns, and `keyId` is the
 * name of the key and its version, such as `pii/v3`. The policy of the token needs `update` on `<mount>/encrypt/<key>` and on
 * `<mount>/decrypt/<key>`, and `read` on `<mount>/keys/<key>`; not `create`, with which a misspelt name makes a new key. The engine cannot wrap
 * again what has associated data: a vault unwraps and wraps. Throws `invalid_request` if an option is wrong. Source: the HTTP API of Transit.
 */
export function transitKeys(options: TransitKeysOptions): KeyProvider {
  const transit = connect(options)
  const currentKeyId = async (signal: AbortSignal) => {
    const { latest_version: version } = await transit.ask(`keys/${transit.key}`, undefined, signal)
    if (!Number.isSafeInteger(version)) throw unexpected()
    return `${transit.key}/v${version}`
  }
  return serviceKeys(
    {
      name: NAME,
      async wrap(key, associatedData, signal) {
        const body = { plaintext: base64(key), associated_data: base64(associatedData) }
        const { ciphertext } = await transit.ask(`encrypt/${transit.key}`, body, signal)
        const version = typeof ciphertext === 'string' ? CIPHERTEXT.exec(ciphertext)?.[1] : undefined
        if (typeof ciphertext !== 'string' || version === undefined) throw unexpected()
        return { keyId: `${transit.key}/v${version}`, bytes: new TextEncoder().encode(ciphertext) }
      },
      async unwrap({ keyId, bytes }, associatedData, signal) {
        const ciphertext = bytes.length > MAX_BYTES ? '' : Buffer.from(bytes).toString('latin1')
        const [, version, encoded = ''] = CIPHERTEXT.exec(ciphertext) ?? []
        const [, key, named] = KEY_ID.exec(keyId) ?? []
        // Some texts in base64 stand for the same bytes. Only the one that was written is taken.
        const isWritten = Buffer.from(encoded, 'base64').toString('base64') === encoded
        if (version === undefined || named !== version || !isWritten) throw refusal()
        const body = { ciphertext, associated_data: base64(associatedData) }
        const { plaintext } = await transit.ask(`decrypt/${key}`, body, signal)
        if (typeof plaintext !== 'string') throw unexpected()
        return Buffer.from(plaintext, 'base64')
      },
      currentKeyId,
      failureOf,
    },
    transit.limits,
  )
}

/** The engine, as it is asked. */
interface Transit {
  readonly key: string
  readonly limits: KeyServiceLimits
  /** Returns the data of an answer. Reads without a body. */
  ask(path: string, body: object | undefined, signal: AbortSignal): Promise<Record<string, unknown>>
}

function connect(options: TransitKeysOptions): Transit {
  const names = ['url', 'key', 'token', 'mount', 'namespace', 'callTimeoutMs', 'openTimeoutMs'] as const
  const { url, key, token, mount = 'transit', namespace, ...limits } = readOptions(options, names, { of: 'transitKeys' })
  if (typeof url !== 'string' || !/^https?:\/\//.test(url) || !URL.canParse(url)) throw wrong('url', 'the address of a server')
  if (typeof key !== 'string' || !KEY_NAME.test(key)) throw wrong('key', 'the name of a key')
  if (typeof mount !== 'string' || !MOUNT.test(mount)) throw wrong('mount', 'the path of the engine, without slashes at its ends')
  if (!isSecretText(token)) throw wrong('token', 'a text, or a function')
  if (namespace !== undefined && typeof namespace !== 'string') throw wrong('namespace', 'a text')
  const base = `${url.replace(/\/+$/, '')}/v1/${mount}`
  const tokens = tokenSource(token)
  const post = (path: string, body: object | undefined, { token, signal }: { token: string; signal: AbortSignal }) =>
    fetch(`${base}/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'X-Vault-Token': token,
        'X-Vault-Request': 'true',
        ...(namespace === undefined ? {} : { 'X-Vault-Namespace': namespace }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // Another server must not get the token.
      redirect: 'error',
      signal,
    })
  return {
    key,
    limits,
    async ask(path, body, signal) {
      const first = await tokens.current()
      let response = await post(path, body, { token: first, signal })
      // The whole answer is read, so that its connection serves the next request.
      let text = await response.text()
      const next = response.status === 403 ? await tokens.after(first) : undefined
      if (next !== undefined) {
        response = await post(path, body, { token: next, signal })
        text = await response.text()
      }
      if (response.ok) return dataOf(text)
      if (response.status === 400) throw refusal(response.status)
      throw new Refused(response.status)
    },
  }
}

/** The tokens of requests. */
interface TokenSource {
  current(): Promise<string>
  /** Returns the token after one that was refused; undefined if there is no other. */
  after(refused: string): Promise<string | undefined>
}

function tokenSource(given: TransitKeysOptions['token']): TokenSource {
  if (typeof given === 'string') return { current: async () => given, after: async () => undefined }
  let known: string | undefined
  const current = async (): Promise<string> => {
    known ??= await readSecretText(given, { service: NAME, option: 'token' })
    return known
  }
  return {
    current,
    async after(refused) {
      // Another call may have asked for a new one meanwhile.
      if (known === refused) known = undefined
      const next = await current()
      return next === refused ? undefined : next
    },
  }
}

function dataOf(text: string): Record<string, unknown> {
  const answer = parsed(text)
  const data: unknown = typeof answer === 'object' && answer !== null && 'data' in answer ? answer.data : undefined
  if (typeof data !== 'object' || data === null) throw unexpected()
  return { ...data }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw unexpected()
  }
}

function failureOf(error: unknown): KeyServiceFailure {
  if (!(error instanceof Refused))
    return { kind: 'unavailable', code: errorCode(error instanceof Error ? error.cause : undefined) }
  const { status } = error
  if (status === 429) return { kind: 'throttled', code: status }
  if (status >= 500 || AWAY.has(status)) return { kind: 'unavailable', code: status }
  return { kind: status === 403 || status === 404 ? 'refused' : 'unknown', code: status }
}

/** What the engine says to a wrong key and to wrong bytes alike. */
function refusal(status?: number): VaultError {
  const cause = status === undefined ? undefined : bareCause(`${NAME} reported ${status}`)
  const message = `${NAME} refused a root key: the key or its version is gone, not allowed or of another type, or the wrapped bytes were changed or belong to another vault. Check the key, or restore the bytes.`
  return new VaultError('failed_precondition', message, {}, { cause })
}

/** An answer that is not of this engine: of a proxy, or of another service. */
function unexpected(): VaultError {
  return new VaultError('unavailable', `${NAME} answered in a form that is not known. Check the address and what is before it.`)
}

function wrong(option: string, expected: string): VaultError {
  return new VaultError('invalid_request', `transitKeys: \`${option}\` must be ${expected}.`)
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
