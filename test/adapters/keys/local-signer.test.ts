/** The signer of checkpoints, with Ed25519 and with ML-DSA-65. */
import { createPrivateKey, generateKeyPairSync, verify } from 'node:crypto'
import { expect, it } from 'vitest'
import { localSigner } from '../../../src/adapters/keys/local-signer.ts'
import { createVerifiers } from '../../../src/audit-verifier/checkpoints.ts'

/** PEM of an RFC 8032 secret key: the fixed head of PKCS #8, then the 32 bytes. */
function pemOf(secret: string): string {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.from(secret, 'hex')])
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ type: 'pkcs8', format: 'pem' }).toString()
}

it('signs as RFC 8032, section 7.1, tests 1 and 2', async () => {
  const one = localSigner({ keyId: 'k', privateKey: pemOf('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60') })
  const two = localSigner({ keyId: 'k', privateKey: pemOf('4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb') })
  expect(Buffer.from(await one.sign(Uint8Array.of())).toString('hex')).toBe(
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  )
  expect(Buffer.from(await two.sign(Uint8Array.of(0x72))).toString('hex')).toBe(
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  )
})

it('rejects a key of another kind, a public key, and a key without an id', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { privateKey: other } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pems = [
    'secret',
    '',
    publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    other.export({ type: 'pkcs8', format: 'pem' }).toString(),
  ]
  for (const pem of pems) {
    expect(() => localSigner({ keyId: 'k', privateKey: pem })).toThrow(
      'must be an Ed25519 or ML-DSA-65 private key as PEM text (PKCS #8)',
    )
  }
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  for (const keyId of ['', 'x'.repeat(129)]) expect(() => localSigner({ keyId, privateKey: pem })).toThrow('1 to 128 characters')
})

it('signs with an ML-DSA-65 key as the platform verifies, and says so', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ml-dsa-65')
  const signer = localSigner({ keyId: 'k', privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() })
  const signature = await signer.sign(Buffer.from('text'))
  expect([signer.algorithm, signature.length]).toEqual(['ML-DSA-65', 3309])
  expect(verify(null, Buffer.from('text'), publicKey, signature)).toBe(true)
  expect(verify(null, Buffer.from('texts'), publicKey, signature)).toBe(false)
  const other = generateKeyPairSync('ml-dsa-44').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  expect(() => localSigner({ keyId: 'k', privateKey: other })).toThrow('must be an Ed25519 or ML-DSA-65')
})

it('names the version of Node that a key needs which cannot be read: here it is cut', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ml-dsa-65')
  const cut = (pem: string): string => [...pem.split('\n').slice(0, 2), ...pem.split('\n').slice(-2)].join('\n')
  const pem = cut(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
  expect(() => localSigner({ keyId: 'k', privateKey: pem })).toThrow(
    'localSigner: `privateKey` is an ML-DSA-65 key that cannot be read. Use Node 24.7 or newer',
  )
  const spki = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  expect(() => createVerifiers([{ keyId: 'k', publicKey: cut(spki) }])).toThrow(
    'keys[0].publicKey is an ML-DSA-65 key that cannot be read',
  )
  expect(() => localSigner({ keyId: 'k', privateKey: spki })).toThrow('must be an Ed25519 or ML-DSA-65 private key')
  const kem = generateKeyPairSync('ml-kem-768').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  for (const other of [kem, cut(kem)])
    expect(() => localSigner({ keyId: 'k', privateKey: other })).toThrow('must be an Ed25519 or ML-DSA-65 private key')
})
