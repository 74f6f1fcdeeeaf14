/** Refuses multipart bodies with a delimiter and one dash, which is neither a delimiter of a part nor the last one. */
import { VaultError } from '../../index.ts'

const DASH = '-'.charCodeAt(0)

/**
 * Returns a function that checks the next piece of a body, and throws `invalid_request` for such a delimiter, wherever the pieces are
 * cut. The multipart library takes what follows the dash for one thing or another, as the pieces happen to be.
 */
export function createDelimiterCheck(boundary: string): (piece: Uint8Array) => void {
  const delimiter = Buffer.from(`\r\n--${boundary}-`, 'latin1')
  let tail = Buffer.from('\r\n')
  return (piece) => {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    const seam = Buffer.concat([tail, bytes.subarray(0, delimiter.length)])
    if (hasLoneDash(seam, delimiter) || hasLoneDash(bytes, delimiter)) {
      throw new VaultError(
        'invalid_request',
        'A delimiter of the multipart body has one dash behind its boundary. Send none, or two after the last part.',
      )
    }
    tail = Buffer.from((bytes.length < delimiter.length ? seam : bytes).subarray(-delimiter.length))
  }
}

/** Returns whether a byte other than a dash follows `delimiter`, which ends with a dash, in `bytes`. */
function hasLoneDash(bytes: Buffer, delimiter: Buffer): boolean {
  for (let at = bytes.indexOf(delimiter); at >= 0; at = bytes.indexOf(delimiter, at + 1)) {
    const next = bytes[at + delimiter.length]
    if (next !== undefined && next !== DASH) return true
  }
  return false
}
