/** Conversions from what drivers return to the cells of the port. */
import { damagedIntegerError } from '../errors/storage-errors.ts'

const INTEGER = /^-?[0-9]+$/

/** An integer in any of the forms drivers return: a number when it is safe, else a bigint. Throws `data_loss` for other text. */
export function toIntegerCell(value: number | bigint | string): number | bigint {
  if (typeof value === 'number') return value
  if (typeof value === 'string' && !INTEGER.test(value)) throw damagedIntegerError()
  const exact = typeof value === 'bigint' ? value : BigInt(value)
  const near = Number(exact)
  return Number.isSafeInteger(near) ? near : exact
}

/** The same bytes without the driver's class around them: a view, not a copy. */
export function toPlainBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
