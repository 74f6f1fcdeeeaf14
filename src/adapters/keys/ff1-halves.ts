/** Arithmetic on the halves of FF1: numbers for halves up to 32 bits, bigints above. */

/** Arithmetic on one half of a numeral string. `limit` is radix^length of the half. */
export interface HalfArithmetic<Half extends number | bigint> {
  limit(value: bigint): Half
  fromRank(value: bigint): Half
  toRank(half: Half): bigint
  /** Writes the number as `bytes` bytes before `end`, big-endian, padded with zeros to whole words. */
  write(view: DataView, end: number, bytes: number, half: Half): void
  /** Adds to the half the big-endian number of `bytes` bytes at `offset`, modulo `limit`. `subtract` is the inverse. */
  add(half: Half, view: DataView, offset: number, bytes: number, limit: Half): Half
  subtract(half: Half, view: DataView, offset: number, bytes: number, limit: Half): Half
}

/** Highest limit of a half for `SMALL_HALVES`: its stream is eight bytes long. */
export const MAX_SMALL_HALF = 2n ** 32n

/** Halves of at most four bytes. */
export const SMALL_HALVES: HalfArithmetic<number> = {
  limit: Number,
  fromRank: Number,
  toRank: BigInt,
  write: (view, end, _bytes, half) => view.setUint32(end - 4, half),
  add: (half, view, offset, _bytes, limit) => remainder(half + smallRest(view, offset, limit), limit),
  subtract: (half, view, offset, _bytes, limit) => remainder(half + limit - smallRest(view, offset, limit), limit),
}

/** Returns the 64-bit number at `offset`, modulo a limit of at most 2^32. Works on 16 bits at a time, so that every step stays below 2^53. */
function smallRest(view: DataView, offset: number, limit: number): number {
  const low = view.getUint32(offset + 4)
  const high = remainder(view.getUint32(offset), limit)
  const middle = remainder(high * 0x1_0000 + (low >>> 16), limit)
  return remainder(middle * 0x1_0000 + (low & 0xffff), limit)
}

/** Returns the remainder of a number below 2^53. Several times faster than `%`, which divides large numbers bit by bit. */
function remainder(number: number, limit: number): number {
  // The quotient is rounded, so it can be too large by one, but never too small.
  const rest = number - Math.floor(number / limit) * limit
  return rest < 0 ? rest + limit : rest
}

/** Halves of any length. */
export const BIG_HALVES: HalfArithmetic<bigint> = {
  limit: (value) => value,
  fromRank: (value) => value,
  toRank: (half) => half,
  write(view, end, bytes, half) {
    let rest = half
    for (let offset = end - 8; offset > end - 8 - bytes; offset -= 8) {
      view.setBigUint64(offset, BigInt.asUintN(64, rest))
      rest >>= 64n
    }
  },
  add: (half, view, offset, bytes, limit) => (half + bigNumber(view, offset, bytes)) % limit,
  subtract: (half, view, offset, bytes, limit) => {
    const rest = (half - bigNumber(view, offset, bytes)) % limit
    return rest < 0n ? rest + limit : rest
  },
}

function bigNumber(view: DataView, offset: number, bytes: number): bigint {
  let value = 0n
  for (let i = 0; i + 8 <= bytes; i += 8) value = (value << 64n) | view.getBigUint64(offset + i)
  return bytes % 8 === 0 ? value : (value << 32n) | BigInt(view.getUint32(offset + bytes - 4))
}
