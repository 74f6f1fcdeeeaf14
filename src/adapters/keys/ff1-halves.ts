/** The numbers in the halves of FF1: plain ones where 32 bits hold them, big integers where they do not. */

/** Arithmetic on one half of a numeral string. `limit` is the half's radix^length. */
export interface HalfArithmetic<Half extends number | bigint> {
  readonly zero: Half
  limit(value: bigint): Half
  fromRank(value: bigint): Half
  toRank(half: Half): bigint
  /** Writes the number big-endian as `bytes` bytes before `end`, with zeros in front to the whole word. */
  write(view: DataView, end: number, bytes: number, half: Half): void
  /** The half plus, or minus, the big-endian number of `bytes` bytes at `at`, below `limit`. */
  add(half: Half, view: DataView, at: number, bytes: number, limit: Half): Half
  subtract(half: Half, view: DataView, at: number, bytes: number, limit: Half): Half
}

/** The largest limit of a half that plain numbers hold: their stream is then eight bytes long. */
export const MAX_SMALL_HALF = 2n ** 32n

/** Halves of four bytes at most. */
export const SMALL_HALVES: HalfArithmetic<number> = {
  zero: 0,
  limit: Number,
  fromRank: Number,
  toRank: BigInt,
  write: (view, end, _bytes, half) => view.setUint32(end - 4, half),
  add: (half, view, at, _bytes, limit) => (half + smallRest(view, at, limit)) % limit,
  subtract: (half, view, at, _bytes, limit) => (half + limit - smallRest(view, at, limit)) % limit,
}

/** The 64-bit number at `at`, modulo a limit of 2^32 at most: sixteen bits at a time, so that no step leaves 53 bits. */
function smallRest(view: DataView, at: number, limit: number): number {
  const low = view.getUint32(at + 4)
  const high = view.getUint32(at) % limit
  const middle = (high * 0x1_0000 + (low >>> 16)) % limit
  return (middle * 0x1_0000 + (low & 0xffff)) % limit
}

/** Halves of any length. */
export const BIG_HALVES: HalfArithmetic<bigint> = {
  zero: 0n,
  limit: (value) => value,
  fromRank: (value) => value,
  toRank: (half) => half,
  write(view, end, bytes, half) {
    let rest = half
    for (let at = end - 8; at > end - 8 - bytes; at -= 8) {
      view.setBigUint64(at, BigInt.asUintN(64, rest))
      rest >>= 64n
    }
  },
  add: (half, view, at, bytes, limit) => (half + bigNumber(view, at, bytes)) % limit,
  subtract: (half, view, at, bytes, limit) => {
    const rest = (half - bigNumber(view, at, bytes)) % limit
    return rest < 0n ? rest + limit : rest
  },
}

function bigNumber(view: DataView, at: number, bytes: number): bigint {
  let value = 0n
  for (let i = 0; i + 8 <= bytes; i += 8) value = (value << 64n) | view.getBigUint64(at + i)
  return bytes % 8 === 0 ? value : (value << 32n) | BigInt(view.getUint32(at + bytes - 4))
}
