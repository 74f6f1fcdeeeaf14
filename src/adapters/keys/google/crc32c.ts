/** CRC-32C, by which Google Cloud KMS checks bytes on their way. Source: RFC 3720, appendix B.4. */
import { required } from '../../../core/util/lists.ts'

/** The polynomial 0x1edc6f41 with its bits reversed. */
const POLYNOMIAL = 0x82f6_3b78

/** The remainder of each byte. */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte
  for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? POLYNOMIAL : 0)
  return rest
})

/** Returns the checksum of bytes, from 0 to 2^32 - 1. */
export function crc32c(bytes: Uint8Array): number {
  let rest = 0xffff_ffff
  for (const byte of bytes) rest = (rest >>> 8) ^ required(TABLE[(rest ^ byte) & 0xff])
  return (rest ^ 0xffff_ffff) >>> 0
}
