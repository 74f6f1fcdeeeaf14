/** A stream sealed for one public key: X25519, HKDF-SHA-256 and AES-256-GCM in chunks, whose order, number and end are authenticated. */
import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import { VaultError } from '../core/errors.ts'
import { toUtf8 } from '../core/util/bytes.ts'
import { toBlocks } from '../core/util/memory.ts'
import { hasLabel, type PemLabel } from '../core/util/pem.ts'
import type { ByteReader } from './byte-reader.ts'

/** The first bytes of a sealed stream. */
export const SEALED_MAGIC = toUtf8('strongroom sealed 1\n')

const CHUNK_BYTES = 64 * 1024
const TAG_BYTES = 16
const KEY_BYTES = 32
const CIPHER = 'aes-256-gcm'

/** Returns the public key of PEM text. Throws `invalid_request` for another kind of key. */
export function parseRecipient(pem: unknown): KeyObject {
  return x25519(pem, { label: 'PUBLIC KEY', name: 'backupVault: `recipient`' })
}

/** Returns the private key of PEM text. Throws `invalid_request` for another kind of key. */
export function parsePrivateKey(pem: unknown): KeyObject {
  return x25519(pem, { label: 'PRIVATE KEY', name: 'restoreVault: `privateKey`' })
}

/** The error of the library is dropped, because it can quote its input. */
function x25519(pem: unknown, { label, name }: { readonly label: PemLabel; readonly name: string }): KeyObject {
  if (hasLabel(pem, label)) {
    try {
      const key = label === 'PUBLIC KEY' ? createPublicKey(pem) : createPrivateKey(pem)
      if (key.asymmetricKeyType === 'x25519') return key
    } catch {
      // It is said below what is needed.
    }
  }
  throw new VaultError('invalid_request', `${name} must be a ${label.toLowerCase()} of X25519 as PEM text.`)
}

/**
 * Seals a stream: `magic 20 | public key of this stream 32 | chunks`, each of 64 KiB and a tag of 16 bytes. The last one is shorter, and may have no byte
 * besides its tag. The key is of this stream alone, so the nonce is the number of the chunk and whether it is the last one.
 */
export async function* sealStream(
  content: AsyncIterable<Uint8Array>,
  recipient: KeyObject,
): AsyncGenerator<Uint8Array, void, void> {
  const own = generateKeyPairSync('x25519')
  const shared = diffieHellman({ privateKey: own.privateKey, publicKey: recipient })
  const key = keyOf(shared, { own: own.publicKey, recipient })
  yield Buffer.concat([SEALED_MAGIC, rawOf(own.publicKey)])
  let number = 0
  for await (const block of toBlocks(content, { size: CHUNK_BYTES })) {
    const cipher = createCipheriv(CIPHER, key, nonceOf(number++, block.length < CHUNK_BYTES))
    yield Buffer.concat([cipher.update(block), cipher.final(), cipher.getAuthTag()])
  }
  key.fill(0)
}

/** Opens a stream after its first bytes. Throws `data_loss` where a chunk was changed, moved or left out, or the key is another one. */
export async function* openStream(reader: ByteReader, privateKey: KeyObject): AsyncGenerator<Uint8Array, void, void> {
  const own = publicOf(await reader.read(KEY_BYTES))
  const key = keyOf(sharedOf(privateKey, own), { own, recipient: createPublicKey(privateKey) })
  let number = 0
  for await (const block of toBlocks(reader.rest(), { size: CHUNK_BYTES + TAG_BYTES })) {
    const isLast = block.length < CHUNK_BYTES + TAG_BYTES
    yield openChunk(key, block, nonceOf(number++, isLast))
  }
  key.fill(0)
}

function openChunk(key: Uint8Array, block: Uint8Array, nonce: Uint8Array): Uint8Array {
  const end = block.length - TAG_BYTES
  if (end < 0) throw unopened()
  try {
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAuthTag(block.subarray(end))
    return Buffer.concat([decipher.update(block.subarray(0, end)), decipher.final()])
  } catch {
    throw unopened()
  }
}

function unopened(): VaultError {
  return new VaultError(
    'data_loss',
    'The sealed backup was changed or cut, or it was sealed for another key. Nothing of it opens.',
  )
}

/** 11 bytes of the number, and one that is 1 for the last chunk. */
function nonceOf(number: number, isLast: boolean): Uint8Array {
  const nonce = Buffer.alloc(12)
  nonce.writeUIntBE(number, 5, 6)
  nonce.writeUInt8(isLast ? 1 : 0, 11)
  return nonce
}

function keyOf(shared: Uint8Array, { own, recipient }: { readonly own: KeyObject; readonly recipient: KeyObject }): Uint8Array {
  const salt = Buffer.concat([rawOf(own), rawOf(recipient)])
  const key = new Uint8Array(hkdfSync('sha256', shared, salt, 'strongroom/v1/backup', KEY_BYTES))
  shared.fill(0)
  return key
}

/** A key of a small order has no secret in common with another one. */
function sharedOf(privateKey: KeyObject, publicKey: KeyObject): Uint8Array {
  try {
    return diffieHellman({ privateKey, publicKey })
  } catch {
    throw unopened()
  }
}

function rawOf(key: KeyObject): Uint8Array {
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url')
}

function publicOf(raw: Uint8Array): KeyObject {
  const x = Buffer.from(raw).toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' })
}
