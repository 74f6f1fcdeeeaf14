/** Pointers: a row's position, and the proof that it still holds what was pointed at, before they are disguised. */
import { POINTER_WORDS } from '../ports/keys.ts'

/** What a pointer says. `checkHigh` has 26 bits; both are zero in a record id and the cell's stamp in a token. */
export interface Pointer {
  readonly space: number
  readonly row: number
  readonly checkHigh: number
  readonly checkLow: number
}

/** Writes pointer `index` into a list of words: space 16 bits | row 48 | check 64. */
export function writePointer(words: Uint32Array, index: number, { space, row, checkHigh, checkLow }: Pointer): void {
  const at = index * POINTER_WORDS
  words[at] = (space << 16) | Math.floor(row / 0x1_0000_0000)
  words[at + 1] = row >>> 0
  words[at + 2] = checkHigh
  words[at + 3] = checkLow
}

/** Reads pointer `index` from a list of words. */
export function readPointer(words: Uint32Array, index: number): Pointer {
  const at = index * POINTER_WORDS
  const top = words[at] ?? 0
  return {
    space: top >>> 16,
    row: (top & 0xffff) * 0x1_0000_0000 + (words[at + 1] ?? 0),
    checkHigh: words[at + 2] ?? 0,
    checkLow: words[at + 3] ?? 0,
  }
}
