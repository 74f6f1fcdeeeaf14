/** Converts the times of events and of queries for events to nanoseconds. */
import { datetimeType } from '../values/calendar-types.ts'

const NANOS_PER_MILLI = 1_000_000n

/** Returns the nanoseconds since 1970 of RFC 3339 text with an offset; undefined for other text. */
export function parseInstant(text: string): bigint | undefined {
  try {
    return toNanoseconds(datetimeType.fromText(text))
  } catch {
    return undefined
  }
}

/** Returns the nanoseconds since 1970 of a valid RFC 3339 text in UTC, such as the timestamp of an event. */
export function toNanoseconds(utc: string): bigint {
  const fraction = utc.slice('YYYY-MM-DDTHH:MM:SS.'.length, -1)
  return BigInt(Date.parse(`${utc.slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)}Z`)) * NANOS_PER_MILLI + BigInt(fraction.padEnd(9, '0'))
}
