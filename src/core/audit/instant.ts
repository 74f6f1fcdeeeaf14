/** Instants of events: read from what a caller gives, and from what stands in an event. */
import { datetimeType } from '../values/datetime-type.ts'

const NANOS_PER_MILLI = 1_000_000n

/** Nanoseconds since 1970 of an RFC 3339 text with its offset, or undefined where it is none. */
export function parseInstant(text: string): bigint | undefined {
  try {
    return toNanoseconds(datetimeType.fromText(text))
  } catch {
    return undefined
  }
}

/** The same of a text known to be an instant in UTC. */
export function toNanoseconds(utc: string): bigint {
  const fraction = utc.slice('YYYY-MM-DDTHH:MM:SS.'.length, -1)
  return BigInt(Date.parse(`${utc.slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)}Z`)) * NANOS_PER_MILLI + BigInt(fraction.padEnd(9, '0'))
}
