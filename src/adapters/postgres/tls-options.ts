/** TLS of the connections that a storage opens itself. */
import { VaultError } from '../../core/errors.ts'
import { readOptions } from '../../core/util/options.ts'

/** Certificates of TLS, as those of `tls.connect` of Node. Texts are in PEM. */
export interface PostgresTls {
  /** The authorities that the certificate of the server must come from. Default: those of Node. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[]
  /** The certificate of the client, where the server asks for one. */
  readonly cert?: string | Uint8Array
  /** The private key of the client, and its passphrase if it is encrypted. */
  readonly key?: string | Uint8Array
  readonly passphrase?: string
  /** The name that the certificate of the server must have. Default: the host of the address. */
  readonly servername?: string
  /** False: the connection is encrypted, and the certificate is not checked, so an attacker on the network can be the server. Default true. */
  readonly rejectUnauthorized?: boolean
}

/** Checks of the members. Each returns whether a value fits. */
const MEMBERS: Readonly<Record<keyof PostgresTls, (value: unknown) => boolean>> = {
  ca: (value) => [value].flat().every(isPem),
  cert: isPem,
  key: isPem,
  passphrase: isText,
  servername: isText,
  rejectUnauthorized: (value) => typeof value === 'boolean',
}

/** The parameters of an address that say how TLS is used. */
const OF_ADDRESS = ['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation']

/** Returns the option `ssl`. Throws `invalid_request` for another value, and if the address says it too: the driver would read the address alone. */
export function parseTls(connectionString: string, ssl: unknown): boolean | PostgresTls | undefined {
  if (ssl === undefined) return undefined
  const address = new URLSearchParams(connectionString.split('?')[1])
  const twice = OF_ADDRESS.find((name) => address.has(name))
  if (twice !== undefined) throw invalid(`TLS is set by option "ssl" and by "${twice}" of connectionString. Keep one of them.`)
  if (typeof ssl === 'boolean') return ssl
  if (typeof ssl !== 'object') throw invalid('Option "ssl" must be true, false or an object, such as { ca }.')
  const names = Object.keys(MEMBERS) as (keyof PostgresTls)[]
  const given = readOptions<PostgresTls>(ssl as PostgresTls, names, { of: 'postgresStorage', member: 'ssl' })
  const wrong = names.find((name) => given[name] !== undefined && !MEMBERS[name](given[name]))
  if (wrong !== undefined) throw invalid(`ssl.${wrong} is not valid. See PostgresTls.`)
  return given
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isPem(value: unknown): boolean {
  return isText(value) || value instanceof Uint8Array
}

function invalid(problem: string): VaultError {
  return new VaultError('invalid_request', `postgresStorage: ${problem}`)
}
