/** Redaction levels: how much of a value a result contains. */

/** How a value is returned: in full, masked, or as a constant. */
export type Level = 'PLAIN_TEXT' | 'MASKED' | 'REDACTED'

/** A level as a request names it. `DEFAULT` means the level of the column. */
export type AskedLevel = Level | 'DEFAULT'

/** All levels, from the one that reveals most to the one that reveals least. */
export const LEVELS: readonly Level[] = ['PLAIN_TEXT', 'MASKED', 'REDACTED']

const RANKS: Readonly<Record<Level, number>> = { PLAIN_TEXT: 2, MASKED: 1, REDACTED: 0 }

/** Returns the level that reveals less. It applies when one level is requested and the other is granted. */
export function lowerLevel(left: Level, right: Level): Level {
  return RANKS[left] < RANKS[right] ? left : right
}

/** Every value of `redaction` in a request. */
export const ASKED_LEVELS: readonly string[] = ['DEFAULT', ...LEVELS]

/** True if the input is a level. */
export function isLevel(input: unknown): input is Level {
  return typeof input === 'string' && Object.hasOwn(RANKS, input)
}

/** True if the input is a level or `DEFAULT`. */
export function isAskedLevel(input: unknown): input is AskedLevel {
  return input === 'DEFAULT' || isLevel(input)
}
