/** Reads short ASCII texts: each length has its own call, because an array of units for each text costs half of reading it, and most of its memory. */

/** Bytes up to which a text has a case below. */
export const SHORT_ASCII_BYTES = 24

/** All units that it is called with exist: `i` and the bytes after it are inside the bytes. */
const textOf = String.fromCharCode as (...units: readonly (number | undefined)[]) => string

/** Returns the text of `b[i .. i + length)`; undefined if it is not ASCII, or longer than SHORT_ASCII_BYTES. All of it is inside the bytes. */
export function readShortAscii(b: Uint8Array, i: number, length: number): string | undefined {
  let bits = 0
  for (let k = 0; k < length; k++) bits |= b[i + k] ?? 0 // Exists, as above.
  if (bits > 0x7f) return undefined
  // biome-ignore format: one case for each length.
  switch (length) {
    case 0: return ''
    case 1: return textOf(b[i])
    case 2: return textOf(b[i], b[i+1])
    case 3: return textOf(b[i], b[i+1], b[i+2])
    case 4: return textOf(b[i], b[i+1], b[i+2], b[i+3])
    case 5: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4])
    case 6: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5])
    case 7: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6])
    case 8: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7])
    case 9: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8])
    case 10: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9])
    case 11: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10])
    case 12: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11])
    case 13: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11], b[i+12])
    case 14: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11], b[i+12], b[i+13])
    case 15: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11], b[i+12], b[i+13], b[i+14])
    case 16: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11], b[i+12], b[i+13], b[i+14], b[i+15])
    case 17: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16])
    case 18: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16], b[i+17])
    case 19: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16], b[i+17], b[i+18])
    case 20: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16], b[i+17], b[i+18], b[i+19])
    case 21: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16], b[i+17], b[i+18], b[i+19], b[i+20])
    case 22: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16], b[i+17], b[i+18], b[i+19], b[i+20], b[i+21])
    case 23: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16], b[i+17], b[i+18], b[i+19], b[i+20], b[i+21], b[i+22])
    case 24: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16], b[i+17], b[i+18], b[i+19], b[i+20], b[i+21], b[i+22], b[i+23])
    default: return undefined
  }
}
