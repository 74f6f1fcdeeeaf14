/** Timestamps of events and checkpoints: RFC 3339 in UTC with nine decimals. */

const NANOS_PER_SECOND = 1_000_000_000n

/** The second that was written last, since 1970, and its text: most timestamps follow each other within one second. */
let last = { second: 0, text: '1970-01-01T00:00:00' }

/** Returns the timestamp of an instant in nanoseconds since 1970-01-01T00:00:00Z. */
export function toTimestamp(nanoseconds: bigint): string {
  const second = Number(nanoseconds / NANOS_PER_SECOND)
  if (second !== last.second) last = { second, text: new Date(second * 1000).toISOString().slice(0, 19) }
  const fraction = Number(nanoseconds - BigInt(second) * NANOS_PER_SECOND)
  return `${last.text}.${String(fraction).padStart(9, '0')}Z`
}

/** Returns the current time of a clock in milliseconds since 1970. */
export function nowMs({ clock }: { readonly clock: { now(): bigint } }): number {
  return Number(clock.now() / 1_000_000n)
}
