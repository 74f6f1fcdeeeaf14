/** Timestamps of events and checkpoints (RFC 3339 in UTC with nine decimals), and when a list of work is worth a turn of the event loop. */

const NANOS_PER_SECOND = 1_000_000_000

/** The second that was written last: its start, and its text. Most timestamps follow each other within one second. */
let last = { start: 0n, text: '1970-01-01T00:00:00.' }

/** Returns the timestamp of an instant in nanoseconds since 1970-01-01T00:00:00Z. */
export function toTimestamp(nanoseconds: bigint): string {
  let fraction = Number(nanoseconds - last.start)
  if (fraction < 0 || fraction >= NANOS_PER_SECOND) {
    const second = nanoseconds / BigInt(NANOS_PER_SECOND)
    last = { start: second * BigInt(NANOS_PER_SECOND), text: new Date(Number(second) * 1000).toISOString().slice(0, 20) }
    fraction = Number(nanoseconds - last.start)
  }
  // The digits after the first: as many as there are nanoseconds in a second have.
  return `${last.text}${String(NANOS_PER_SECOND + fraction).slice(1)}Z`
}

/** Returns the nanoseconds since 1970 of a valid RFC 3339 text in UTC, such as a timestamp. */
export function toNanoseconds(utc: string): bigint {
  const fraction = utc.slice('YYYY-MM-DDTHH:MM:SS.'.length, -1)
  return BigInt(Date.parse(`${utc.slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)}Z`)) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
}

/** Returns the current time of a clock in milliseconds since 1970. */
export function nowMs({ clock }: { readonly clock: { now(): bigint } }): number {
  return Number(clock.now() / 1_000_000n)
}

/** Maximum number of lists between two turns, so that input, timers and other callers get theirs. */
const MAX_WITHOUT_TURN = 8

/** Counts the lists of one place that gathers work. */
export interface TurnSaver {
  /** True if the next list can go without a turn: the last that took one stayed alone, and few went since. Counts the list. */
  saves(): boolean
  /** Notes the length of a list that went. After one of several items, lists take their turns again. */
  noteLength(length: number): void
}

/** Returns the saver of a place whose first list takes its turn. */
export function createTurnSaver(): TurnSaver {
  let left = 0
  let isSaved = false
  return {
    saves() {
      isSaved = left > 0
      if (isSaved) left--
      return isSaved
    },
    noteLength(length) {
      if (length > 1) left = 0
      else if (!isSaved) left = MAX_WITHOUT_TURN
    },
  }
}
