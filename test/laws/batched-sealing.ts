/** Law: the batched AES-256-GCM seals and opens as the platform's own cipher does. */
import { createCipheriv } from 'node:crypto'
import { createGcmKey } from '../../src/adapters/keys/wasm/derived-keys.ts'
import { openSingle } from '../../src/adapters/keys/wasm/gcm.ts'
import { type GcmCase, openCases, sealCases } from '../adapters/keys/gcm-cases.ts'
import type { Law } from './law.ts'

/** Lengths of messages in a case: 0 to this number. */
const MAX_LENGTH = 1000
/** Messages of a case that are also sealed and opened alone. */
const ALONE = 20

export const batchedSealing: Law = {
  name: 'batched-sealing',
  statement:
    'Sealing, in batches and alone, equals the cipher of node:crypto, for every length to 1,000 bytes and random associated data',
  unit: 'messages',
  figures: { test: 20_000, soak: 10_000_000 },
  weight: 1,
  open: () => ({
    check({ random }) {
      const secret = random.bytes(32)
      const contextBytes = random.below(101)
      // Drawing each byte of each message would take longer than sealing it.
      const pool = random.bytes(2 * MAX_LENGTH)
      const lengths = random.shuffle(Array.from({ length: MAX_LENGTH + 1 }, (_, length) => length))
      const draw = (length: number): Uint8Array => {
        const from = random.below(pool.length - length)
        return pool.slice(from, from + length)
      }
      const cases = lengths.map((length) => ({ iv: random.bytes(12), context: draw(contextBytes), message: draw(length) }))
      const sealed = sealCases(secret, cases)
      const wrong = cases.findIndex((one, i) => !platformSeal(secret, one).equals(sealed[i] ?? new Uint8Array()))
      if (wrong >= 0) throw new Error(`message ${wrong} of ${lengths[wrong]} bytes is sealed otherwise`)
      const opened = openCases(secret, cases, sealed)
      const lost = cases.findIndex((one, i) => !Buffer.from(one.message).equals(opened[i] ?? new Uint8Array(MAX_LENGTH * 2)))
      if (lost >= 0) throw new Error(`message ${lost} of ${lengths[lost]} bytes does not open`)
      for (const one of random.sample(cases, ALONE)) checkAlone(secret, one)
      return cases.length
    },
  }),
}

/** Seals and opens one message by itself, which takes another way through the module. Throws if the result differs. */
function checkAlone(secret: Uint8Array, { iv, context, message }: GcmCase): void {
  const expected = platformSeal(secret, { iv, context, message })
  const [sealed = new Uint8Array()] = sealCases(secret, [{ iv, context, message }])
  if (!expected.equals(sealed)) throw new Error(`a message of ${message.length} bytes is sealed otherwise alone`)
  const associatedData = new Uint8Array(Math.ceil(context.length / 16) * 16)
  associatedData.set(context)
  const single = { body: Buffer.concat([iv, sealed]), prefixBytes: 0, associatedData, aadBytes: context.length }
  const opened = new Uint8Array(message.length)
  if (!openSingle(createGcmKey(secret), single, opened, 0) || !Buffer.from(message).equals(opened))
    throw new Error(`a message of ${message.length} bytes does not open alone`)
  single.body.writeUInt8(single.body.readUInt8(single.body.length - 1) ^ 1, single.body.length - 1)
  if (openSingle(createGcmKey(secret), single, opened, 0)) throw new Error('a changed tag is accepted')
}

/** Returns `ciphertext | tag` of a case, computed by the platform. */
export function platformSeal(secret: Uint8Array, { iv, context, message }: GcmCase): Buffer {
  const cipher = createCipheriv('aes-256-gcm', secret, iv)
  cipher.setAAD(context)
  return Buffer.concat([cipher.update(message), cipher.final(), cipher.getAuthTag()])
}
