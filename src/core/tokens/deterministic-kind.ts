/** Deterministic tokens: the digest of the value as a version 8 UUID. Equal values of one scope have one token. */
import { DIGEST_BYTES } from '../ports/crypto.ts'
import { toHex } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import type { TokenKind } from './token-kind.ts'

const TOKEN_LENGTH = 36
/** Where the two digits of each byte of a UUID begin. */
const DIGITS_AT = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const
const DASHES_AT = [8, 13, 18, 23] as const
const DASH = 0x2d

export const deterministicKind: TokenKind<'deterministic'> = {
  name: 'deterministic',
  options: {},
  keeps: 'nothing',
  isDeterministic: true,
  expires: false,
  hasFormat: false,
  formatProblem: () => undefined,
  assertValue: () => {},
  // The stored digest already has the six fixed bits of a version 8 UUID: the token itself is looked up.
  derive: (_from, values) => values.digests().map(tokenOf),
  recover: (_from, texts) =>
    texts.map((text) => {
      const digest = digestOf(text)
      return digest && { kind: 'digest', digest }
    }),
}

function tokenOf(digest: Uint8Array): string {
  const hex = toHex(digest)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Returns the digest that a text shows; undefined for a text that is not a UUID of version 8 as this library writes it, or the same in capitals. */
export function digestOf(text: string): Uint8Array | undefined {
  if (text.length !== TOKEN_LENGTH) return undefined
  for (const dash of DASHES_AT) if (text.charCodeAt(dash) !== DASH) return undefined
  const digest = new Uint8Array(DIGEST_BYTES)
  for (let i = 0; i < DIGEST_BYTES; i++) {
    const digits = DIGITS_AT[i] ?? 0 // Exists: i < DIGEST_BYTES.
    const byte = (hexValue(text.charCodeAt(digits)) << 4) | hexValue(text.charCodeAt(digits + 1))
    if (byte < 0) return undefined
    digest[i] = byte
  }
  return isVersion8(digest) ? digest : undefined
}

/** The value of each hex digit by its unit, and -1 for other units. A processor cannot predict a branch on the digits of digests. */
const HEX_VALUES = Int8Array.from({ length: 0x80 }, (_, unit) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(unit).toLowerCase()),
)

/** Returns the value of a hex digit; a negative number for another unit. */
function hexValue(unit: number): number {
  return HEX_VALUES[unit] ?? -1
}

function isVersion8(digest: Uint8Array): boolean {
  return at(digest, 6) >> 4 === 8 && at(digest, 8) >> 6 === 2
}
