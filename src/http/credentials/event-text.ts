/** Text of a credential that an event can record. */

const MAX_LENGTH = 1000

/** Returns true for text of 1 to 1,000 UTF-16 units, without control characters and lone surrogates. */
export function isEventText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH && !/[\p{Cc}\p{Cs}]/u.test(value)
}
