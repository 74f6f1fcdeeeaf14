/** How much of a value is shown, and which of two levels shows less. */

/** A level as an answer has it, from all to nothing. */
export type Level = 'PLAIN_TEXT' | 'MASKED' | 'REDACTED'

/** A level as a request asks for it: DEFAULT means the column's own. */
export type AskedLevel = Level | 'DEFAULT'

/** From the one that shows most to the one that shows least. */
export const LEVELS: readonly Level[] = ['PLAIN_TEXT', 'MASKED', 'REDACTED']

const RANKS: Readonly<Record<Level, number>> = { PLAIN_TEXT: 2, MASKED: 1, REDACTED: 0 }

/** The level that shows less: what is answered when one was asked and the other is allowed. */
export function lowerLevel(left: Level, right: Level): Level {
  return RANKS[left] < RANKS[right] ? left : right
}

/** Every word a request may ask by. */
export const ASKED_LEVELS: readonly string[] = ['DEFAULT', ...LEVELS]

/** True for the name of a level. */
export function isLevel(input: unknown): input is Level {
  return typeof input === 'string' && Object.hasOwn(RANKS, input)
}

/** True for what a request may ask. */
export function isAskedLevel(input: unknown): input is AskedLevel {
  return input === 'DEFAULT' || isLevel(input)
}
