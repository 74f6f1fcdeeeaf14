/** Which options of JWTs are refused, when the authenticator is made. */
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { jwt } from '../../../src/http/credentials/jwt-authenticator.ts'
import { isVaultError } from '../../../src/index.ts'
import { accepted, authenticator, issuer } from '../../support/credentials/ask.ts'
import { claims, EC, jwkOf, RSA, signed, TEST_SECRET } from '../../support/credentials/issuer.ts'

const roles = () => []
const WEAK_RSA = generateKeyPairSync('rsa', { modulusLength: 1024 })
const P384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })
const PRIVATE_PEM = RSA.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

/** Options of the package as an application without types can write them. */
function withIssuer(changes: object): unknown {
  return { issuers: [{ ...issuer(), ...changes }], roles }
}

const INVALID: readonly (readonly [what: string, options: unknown, sentence: string])[] = [
  ['no options', undefined, 'jwt: the options must be an object.'],
  ['no issuers', { issuers: [], roles }, 'issuers is missing or invalid'],
  ['no roles', { issuers: [issuer()] }, 'roles is missing or invalid'],
  [
    'an unknown member',
    { issuers: [issuer()], roles, algorithm: 'none' },
    'jwt: Unknown option "algorithm". Supported: issuers, roles, actor, clock.',
  ],
  [
    'a secret in the place of a name',
    { issuers: [issuer()], roles, 'TEST_SECRET\u001b[31m': 1 },
    'jwt: Unknown option (not a valid name). Supported: issuers, roles, actor, clock.',
  ],
  [
    'a name without an end',
    withIssuer({ ['a'.repeat(10_000)]: 1 }),
    'jwt: Unknown option (not a valid name) of issuers[0]. Supported: issuer, audience, algorithms, jwks, keys, mode, vaults.',
  ],
  ['a clock that is no clock', { issuers: [issuer()], roles, clock: Date }, 'clock is missing or invalid'],
  ['an issuer twice', { issuers: [issuer(), issuer()], roles }, 'issuers[1].issuer is there twice'],
  ['no name', withIssuer({ issuer: '' }), 'issuers[0].issuer is missing or invalid'],
  ['no audience', withIssuer({ audience: [] }), 'issuers[0].audience is missing or invalid'],
  ['no vaults', withIssuer({ vaults: undefined }), 'issuers[0].vaults is missing or invalid'],
  ['no algorithms', withIssuer({ algorithms: [] }), 'issuers[0].algorithms is missing or invalid'],
  ['the algorithm none', withIssuer({ algorithms: ['none'] }), 'issuers[0].algorithms[0] is missing or invalid'],
  ['the name of an object member', withIssuer({ algorithms: ['toString'] }), 'issuers[0].algorithms[0] is missing or invalid'],
  [
    'shared secrets and public keys',
    withIssuer({ algorithms: ['RS256', 'HS256'] }),
    'issuers[0].algorithms mixes shared secrets with public keys',
  ],
  ['an unknown mode', withIssuer({ mode: 'API_KEY' }), 'issuers[0].mode is missing or invalid'],
  ['neither keys nor jwks', withIssuer({ keys: undefined }), 'issuers[0] needs either jwks or keys'],
  ['both keys and jwks', withIssuer({ jwks: 'https://acme.example/keys' }), 'issuers[0] needs either jwks or keys'],
  [
    'jwks for shared secrets',
    withIssuer({ keys: undefined, jwks: 'https://acme.example/keys', algorithms: ['HS256'] }),
    'issuers[0].jwks has no shared secrets; specify keys',
  ],
  [
    'jwks without TLS',
    withIssuer({ keys: undefined, jwks: 'http://acme.example/keys' }),
    'issuers[0].jwks is no https address without a user name',
  ],
  [
    'jwks of a host that begins like this machine',
    withIssuer({ keys: undefined, jwks: 'http://localhost.evil.example/' }),
    'issuers[0].jwks is no https address without a user name',
  ],
  [
    'jwks with a password',
    withIssuer({ keys: undefined, jwks: 'https://a:TEST_SECRET@acme.example' }),
    'issuers[0].jwks is no https address without a user name',
  ],
  [
    'jwks that is a file',
    withIssuer({ keys: undefined, jwks: 'file:///etc/keys.json' }),
    'issuers[0].jwks is no https address without a user name',
  ],
  [
    'jwks that is no address',
    withIssuer({ keys: undefined, jwks: 'keys' }),
    'issuers[0].jwks is no https address without a user name',
  ],
  ['no keys', withIssuer({ keys: [] }), 'issuers[0].keys is missing or invalid'],
  ['a private KeyObject', withIssuer({ keys: [RSA.privateKey] }), 'issuers[0].keys[0] is a private key; specify the public one'],
  [
    'a private PEM text',
    withIssuer({ keys: [RSA.publicKey, PRIVATE_PEM] }),
    'issuers[0].keys[1] is a private key; specify the public one',
  ],
  ['a private JWK', withIssuer({ keys: [jwkOf(RSA.privateKey)] }), 'issuers[0].keys[0] is a private key; specify the public one'],
  ['a secret for RS256', withIssuer({ keys: [TEST_SECRET] }), 'issuers[0].keys[0] is a secret; specify a public key'],
  ['a secret JWK for RS256', withIssuer({ keys: [jwkOf(TEST_SECRET)] }), 'issuers[0].keys[0] is a secret; specify a public key'],
  ['a public key for HS256', withIssuer({ algorithms: ['HS256'] }), 'issuers[0].keys[0] is no secret'],
  [
    'PEM text for HS256',
    withIssuer({ algorithms: ['HS256'], keys: [RSA.publicKey.export({ type: 'spki', format: 'pem' })] }),
    'issuers[0].keys[0] is no secret',
  ],
  [
    'a secret that is too short',
    withIssuer({ algorithms: ['HS384'], keys: [TEST_SECRET] }),
    'issuers[0].keys[0] fits none of the algorithms, or is too short for them',
  ],
  [
    'an RSA key that is too short',
    withIssuer({ keys: [WEAK_RSA.publicKey] }),
    'issuers[0].keys[0] fits none of the algorithms, or is too short for them',
  ],
  [
    'a key of another type',
    withIssuer({ keys: [EC.publicKey] }),
    'issuers[0].keys[0] fits none of the algorithms, or is too short for them',
  ],
  [
    'a key of another curve',
    withIssuer({ algorithms: ['ES256'], keys: [P384.publicKey] }),
    'issuers[0].keys[0] fits none of the algorithms, or is too short for them',
  ],
  [
    'a JWK for another algorithm',
    withIssuer({ keys: [jwkOf(RSA.publicKey, { alg: 'PS256' })] }),
    'issuers[0].keys[0] fits none of the algorithms, or is too short for them',
  ],
  [
    'a JWK for encryption',
    withIssuer({ keys: [jwkOf(RSA.publicKey, { use: 'enc' })] }),
    'issuers[0].keys[0] is not for signatures',
  ],
  [
    'a JWK for wrapping',
    withIssuer({ keys: [jwkOf(RSA.publicKey, { key_ops: ['wrapKey'] })] }),
    'issuers[0].keys[0] is not for verifying',
  ],
  ['text that is no key', withIssuer({ keys: ['TEST_SECRET'] }), 'issuers[0].keys[0] cannot be read as a key'],
  [
    'an object that is no key',
    withIssuer({ keys: [{ kty: 'RSA', n: 'TEST_SECRET' }] }),
    'issuers[0].keys[0] cannot be read as a key',
  ],
  ['a number as key', withIssuer({ keys: [1] }), 'issuers[0].keys[0] is no JWK, PEM text or KeyObject'],
]

describe('options of JWTs are refused with', () => {
  it.each(INVALID)('%s', (_what, options, sentence) => {
    // The options of an application without types.
    const error = errorOf(() => jwt(options as Parameters<typeof jwt>[0]))
    expect(isVaultError(error, 'invalid_request') && error.message).toBe(
      sentence.startsWith('jwt: ') ? sentence : `Invalid options of JWTs: ${sentence}.`,
    )
  })
})

describe('options of JWTs', () => {
  it.each(['https://acme.example/keys', 'http://localhost:8080/keys', 'http://127.0.0.1:8080/', 'http://[::1]:8080/'])(
    'can have the keys at %s',
    (jwks) => {
      expect(jwt({ issuers: [issuer({ jwks })], roles })).toBeTypeOf('function')
    },
  )

  it('are copied', async () => {
    const keys = [RSA.publicKey]
    const authenticate = authenticator({ keys })
    keys.length = 0
    await expect(accepted(authenticate, await signed(claims()))).resolves.toBeDefined()
  })
})

function errorOf(call: () => unknown): unknown {
  try {
    return call()
  } catch (error) {
    return error
  }
}
