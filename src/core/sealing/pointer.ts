/** What tokens and ids hold before encryption: a pointer of an object id, a row and a token check; and digests and texts as UUIDs. */
import { POINTER_WORDS } from '../ports/crypto.ts'
import { at, required } from '../util/lists.ts'

/** A decoded pointer. `checkHigh` (26 bits) and `checkLow` (32 bits) are the token check of the cell in a token, the version in a version of a record, and zero in a record id. */
export interface Pointer {
  readonly objectId: number
  readonly row: number
  readonly checkHigh: number
  readonly checkLow: number
}

/** Writes a pointer at index `index` of a list of words. Layout in bits: object id 16 | row 48 | token check 64. */
export function writePointer(words: Uint32Array, index: number, { objectId, row, checkHigh, checkLow }: Pointer): void {
  const start = index * POINTER_WORDS
  words[start] = (objectId << 16) | Math.floor(row / 0x1_0000_0000)
  words[start + 1] = row >>> 0
  words[start + 2] = checkHigh
  words[start + 3] = checkLow
}

/** Returns the pointer at index `index` of a list of words. Throws `internal` if the list is too short. */
export function readPointer(words: Uint32Array, index: number): Pointer {
  const start = index * POINTER_WORDS
  const top = required(words[start])
  return {
    objectId: top >>> 16,
    row: (top & 0xffff) * 0x1_0000_0000 + required(words[start + 1]),
    checkHigh: required(words[start + 2]),
    checkLow: required(words[start + 3]),
  }
}

const CAPITAL = /[A-F]/

/** Returns texts as ids and other pointers are made: in lower case. A UUID can be given in capitals. */
export function toUuidTexts(texts: readonly string[]): readonly string[] {
  return texts.some((text) => CAPITAL.test(text)) ? texts.map((text) => text.toLowerCase()) : texts
}

/** Sets the version and variant bits of a 16-byte digest in place and returns it. 122 bits of the digest are kept. */
export function toDigestUuid(digest: Uint8Array): Uint8Array {
  digest[6] = (at(digest, 6) & 0x0f) | 0x80
  digest[8] = (at(digest, 8) & 0x3f) | 0x80
  return digest
}
