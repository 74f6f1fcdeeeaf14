/** Instants as the wire writes them: RFC 3339 in UTC with nine decimals. */

const NANOS_PER_MILLI = 1_000_000n

/** Text of an instant given in nanoseconds since 1970. */
export function toTimestamp(nanoseconds: bigint): string {
  const seconds = new Date(Number(nanoseconds / NANOS_PER_MILLI)).toISOString().slice(0, 19)
  return `${seconds}.${(nanoseconds % 1_000_000_000n).toString().padStart(9, '0')}Z`
}
