/** Timestamps of events and checkpoints: RFC 3339 in UTC with nine decimals. */

const NANOS_PER_MILLI = 1_000_000n

/** Returns the timestamp of an instant in nanoseconds since 1970-01-01T00:00:00Z. */
export function toTimestamp(nanoseconds: bigint): string {
  const seconds = new Date(Number(nanoseconds / NANOS_PER_MILLI)).toISOString().slice(0, 19)
  return `${seconds}.${(nanoseconds % 1_000_000_000n).toString().padStart(9, '0')}Z`
}

/** Returns the current time of a clock in milliseconds since 1970. */
export function nowMs({ clock }: { readonly clock: { now(): bigint } }): number {
  return Number(clock.now() / 1_000_000n)
}
