/** Law: the ciphers and the key derivation give the published results. `npm test` and the soak both check every vector. */
import { createCipheriv, createHash, hkdfSync } from 'node:crypto'
import { expect } from 'vitest'
import { createFf1 } from '../../src/adapters/keys/ff1.ts'
import { type InPlaceCipher, openPlain, sealPlain } from '../../src/adapters/keys/platform/aes.ts'
import type { Primitives } from '../../src/adapters/keys/primitives.ts'
import { createGcmKey } from '../../src/adapters/keys/wasm/derived-keys.ts'
import type { XaesKey } from '../../src/adapters/keys/xaes-key.ts'
import { toSlab } from '../../src/core/util/memory.ts'
import { openCases, sealCases } from '../adapters/keys/gcm-cases.ts'
import { IMPLEMENTATIONS } from '../adapters/keys/implementations.ts'
import { hex, readFf1Vectors, readHkdfVectors, readVectors, toHex } from '../adapters/keys/read-vectors.ts'
import type { Law } from './law.ts'

interface GcmVector {
  readonly key: string
  readonly iv: string
  readonly aad: string
  readonly message: string
  readonly ciphertext: string
  readonly tag: string
}

interface ForgedVector extends GcmVector {
  readonly forgedTags: readonly string[]
}

interface XaesVector {
  readonly key: string
  readonly nonce: string
  readonly aad: string
  readonly message: string
  readonly sealed: string
}

const gcm = readVectors<{ source: string; cases: readonly GcmVector[] }>('aes-256-gcm').cases
const forged = readVectors<ForgedVector & { source: string }>('aes-256-gcm-forged-tags')
const macs = readVectors<{ source: string; key: string; cases: readonly { message: string; mac: string }[] }>('aes-256-cmac')
const hkdf = readHkdfVectors()
const ff1 = ['ff1', 'ff1-wycheproof'].flatMap((name) => readFf1Vectors(name).cases)
const xaes = readVectors<{
  source: string
  cases: readonly XaesVector[]
  accumulated: { rounds: number; digest: string }
}>('xaes-256-gcm')

/** One check for each vector. */
const CHECKS: readonly (() => void)[] = [
  ...gcm.map((vector) => () => checkGcm(vector)),
  ...forged.forgedTags.map((tag) => () => checkForged(tag)),
  ...IMPLEMENTATIONS.flatMap((primitives) =>
    macs.cases.map(
      ({ message, mac }) =>
        () =>
          expect(macOf(primitives, message)).toBe(mac),
    ),
  ),
  ...hkdf.map((vector) => () => checkHkdf(vector)),
  ...ff1.map((vector) => () => checkFf1(vector)),
  ...IMPLEMENTATIONS.flatMap((primitives) => [
    ...xaes.cases.map((vector) => () => checkXaes(primitives, vector)),
    () => expect(accumulated(primitives)).toBe(xaes.accumulated.digest),
  ]),
]

/** A case is one vector. */
export const publishedVectors: Law = {
  name: 'published-vectors',
  statement: 'AES-256-GCM, XAES, CMAC, HKDF and FF1 give every published result, and refuse every published forgery',
  unit: 'vectors',
  figures: { test: CHECKS.length, soak: CHECKS.length },
  weight: 1,
  open: () => ({
    check({ number }) {
      CHECKS[number % CHECKS.length]?.()
      return 1
    },
  }),
}

/** Both ways of sealing and opening, batched and plain. Throws if one gives another result. */
export function checkGcm(vector: GcmVector): void {
  const [key, iv, context, message] = [vector.key, vector.iv, vector.aad, vector.message].map(hex) as GcmParts // Four texts give four lists of bytes.
  const body = vector.ciphertext + vector.tag
  expect(sealCases(key, [{ iv, context, message }]).map(toHex)).toEqual([body])
  expect(openCases(key, [{ iv, context, message }], [hex(body)]).map(textOf)).toEqual([vector.message])
  const out = new Uint8Array(message.length + 16)
  sealPlain(createGcmKey(key), iv, message, context, out, 0)
  expect(toHex(out)).toBe(body)
  expect(textOf(openPlain(createGcmKey(key), hex(vector.iv + body), context))).toBe(vector.message)
}

type GcmParts = [key: Uint8Array, iv: Uint8Array, context: Uint8Array, message: Uint8Array]

/** Both ways of opening refuse the tag, and accept the valid one beside it. */
function checkForged(tag: string): void {
  const { key, iv, ciphertext, message } = forged
  const tags = [tag, forged.tag]
  const one = { iv: hex(iv), context: hex(forged.aad), message: hex(message) }
  const bodies = tags.map((each) => hex(ciphertext + each))
  expect(openCases(hex(key), [one, one], bodies).map(textOf)).toEqual(['refused', message])
  const plain = tags.map((each) => openPlain(createGcmKey(hex(key)), hex(iv + ciphertext + each), one.context))
  expect(plain.map(textOf)).toEqual(['refused', message])
}

/** The code of a message alone, which equals its code in the list of all messages. */
function macOf({ createCmac }: Primitives, message: string): string {
  const digest = (messages: readonly string[]): string => toHex(createCmac(hex(macs.key)).digest(toSlab(messages.map(hex))))
  expect(digest(macs.cases.map((one) => one.message))).toBe(macs.cases.map((one) => one.mac).join(''))
  return digest([message])
}

/** The platform's function, which derives the keys of a vault. */
function checkHkdf({ ikm, salt, info, length, okm }: (typeof hkdf)[number]): void {
  expect(toHex(new Uint8Array(hkdfSync('sha256', hex(ikm), hex(salt), hex(info), length)))).toBe(okm)
}

/** Both directions. */
function checkFf1({ key, radix, tweak, plaintext, ciphertext }: (typeof ff1)[number]): void {
  const [value, image] = [plaintext, ciphertext].map((text) => toNumber(text, radix)) as [bigint, bigint] // Two texts give two numbers.
  const cipher = createFf1(blockCipher(hex(key)), { radix, length: plaintext.length, tweakBytes: tweak.length / 2 })
  expect(cipher.encrypt([value], hex(tweak)), `${radix} ${plaintext}`).toEqual([image])
  expect(cipher.decrypt([image], hex(tweak)), `${radix} ${plaintext}`).toEqual([value])
}

/** Plain and batched. */
function checkXaes({ createXaesKey }: Primitives, { key, nonce, aad, message, sealed }: XaesVector): void {
  expect(toHex(sealXaes(createXaesKey(hex(key)), hex(nonce), hex(message), hex(aad)))).toBe(sealed)
  const derived = createXaesKey(hex(key)).derive(hex(nonce), 0)
  expect(textOf(openPlain(derived, hex(nonce.slice(24) + sealed), hex(aad)))).toBe(message)
  const one = { iv: hex(nonce.slice(24)), context: hex(aad), message: hex(message) }
  expect(sealCases(derived.secret, [one]).map(toHex)).toEqual([sealed])
  expect(openCases(derived.secret, [one], [hex(sealed)]).map(textOf)).toEqual([message])
}

/** The digest over 10,000 sealed messages, which are drawn from SHAKE128. */
function accumulated({ createXaesKey }: Primitives): string {
  const stream = createHash('shake128', { outputLength: 4_000_000 }).digest()
  let at = 0
  const read = (count: number): Uint8Array => {
    at += count
    return stream.subarray(at - count, at)
  }
  const all = createHash('shake128', { outputLength: 32 })
  for (let round = 0; round < xaes.accumulated.rounds; round++) {
    const key = read(32)
    const nonce = read(24)
    const message = read(read(1)[0] ?? 0)
    const context = read(read(1)[0] ?? 0)
    const xaesKey = createXaesKey(key)
    all.update(sealXaes(xaesKey, nonce, message, context))
    xaesKey.close()
  }
  return all.digest('hex')
}

function sealXaes(key: XaesKey, nonce: Uint8Array, message: Uint8Array, context: Uint8Array): Uint8Array {
  const out = new Uint8Array(message.length + 16)
  sealPlain(key.derive(nonce, 0), nonce.subarray(12), message, context, out, 0)
  return out
}

/** What was opened, as hexadecimal text. */
function textOf(opened: Uint8Array | undefined): string {
  return opened === undefined ? 'refused' : toHex(opened)
}

/** AES of any key size, as the vectors need. */
function blockCipher(key: Uint8Array): Pick<InPlaceCipher, 'encrypt'> {
  const cipher = createCipheriv(`aes-${key.length * 8}-ecb`, key, null)
  cipher.setAutoPadding(false)
  return { encrypt: (blocks) => blocks.set(cipher.update(blocks)) }
}

/** A number from its numerals. */
function toNumber(text: string, radix: number): bigint {
  return [...text].reduce((number, digit) => number * BigInt(radix) + BigInt(Number.parseInt(digit, 36)), 0n)
}
