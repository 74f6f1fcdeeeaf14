/** Transit as the tests have it: encrypt, decrypt and keys, with versions and associated data. It has no rewrap: that of Transit takes no associated data. */
import { bytesOf, type KeyRequest, type KeyServer, SERVICE_TEXT, startKeyServer, type WireFormat } from './key-server.ts'
import { KeyRefusal, type ServedKeys } from './served-keys.ts'

/** The names of keys that exist. They have the same bytes. */
export const KEYS = ['pii', 'pii-2027'] as const

export interface TransitServer extends KeyServer {
  /** The tokens that are let in. */
  readonly tokens: Set<string>
}

/** Transit says 400 for everything about keys and bytes, and 404 only where a key is read. */
const STATUSES = { mismatch: 400, disabled: 400, withdrawn: 403, 'unknown key': 400, throttled: 429, failing: 500 } as const

/** Starts the engine at a path. */
export async function startTransit(mount = 'transit'): Promise<TransitServer> {
  const tokens = new Set(['root'])
  const server = await startKeyServer(formatOf(mount, tokens))
  return Object.assign(server, { tokens })
}

function formatOf(mount: string, tokens: ReadonlySet<string>): WireFormat {
  return {
    answer(request, keys) {
      const { path, headers, body, method } = request
      if (!tokens.has(String(headers['x-vault-token'])) || headers['x-vault-request'] !== 'true')
        throw new KeyRefusal('withdrawn')
      const [, engine, verb, name] = /^\/v1\/(.+)\/(encrypt|decrypt|keys)\/([^/]+)$/.exec(path) ?? []
      if (engine !== mount || !KEYS.some((key) => key === name)) throw new KeyRefusal('unknown key')
      if (method !== (verb === 'keys' ? 'GET' : 'POST')) throw new Error(`No ${method} of ${path}.`)
      return {
        request_id: 'r',
        data: verb === 'encrypt' ? encrypt(body, keys) : verb === 'decrypt' ? decrypt(body, keys) : describe(keys),
      }
    },
    error: (reason) => ({ status: STATUSES[reason], body: { errors: [SERVICE_TEXT] } }),
  }
}

function encrypt(body: KeyRequest['body'], keys: ServedKeys): object {
  const { version, bytes } = keys.seal(bytesOf(body.plaintext), bytesOf(body.associated_data))
  return { ciphertext: `vault:v${version}:${bytes.toString('base64')}`, key_version: version }
}

function decrypt(body: KeyRequest['body'], keys: ServedKeys): object {
  const [, version, text] = /^vault:v(\d+):(.+)$/.exec(String(body.ciphertext)) ?? []
  const plaintext = keys.open(bytesOf(text), bytesOf(body.associated_data), Number(version))
  return { plaintext: plaintext.toString('base64') }
}

function describe(keys: ServedKeys): object {
  return { type: 'aes256-gcm96', latest_version: keys.current(), min_decryption_version: 1, derived: false }
}
