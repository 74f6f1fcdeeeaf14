/** Redaction levels: how much of a value a result contains, and the text of a value at each. */
import { unreachable } from '../util/causes.ts'

/** How a value is returned: in full, masked, or as a constant. */
export type RedactionLevel = 'PLAIN_TEXT' | 'MASKED' | 'REDACTED'

/** A level as a request names it. `DEFAULT` means the level of the column. */
export type Redaction = RedactionLevel | 'DEFAULT'

/** All levels, from the one that reveals most to the one that reveals least. */
export const REDACTION_LEVELS: readonly RedactionLevel[] = ['PLAIN_TEXT', 'MASKED', 'REDACTED']

const RANKS: Readonly<Record<RedactionLevel, number>> = { PLAIN_TEXT: 2, MASKED: 1, REDACTED: 0 }

/** Returns the level that reveals less. It applies when one level is requested and the other is granted. */
export function lowerLevel(left: RedactionLevel, right: RedactionLevel): RedactionLevel {
  return RANKS[left] < RANKS[right] ? left : right
}

/** Every value of `redaction` in a request. */
export const REDACTIONS: readonly string[] = ['DEFAULT', ...REDACTION_LEVELS]

/** True if the input is a level. */
export function isRedactionLevel(input: unknown): input is RedactionLevel {
  return typeof input === 'string' && Object.hasOwn(RANKS, input)
}

/** True if the input is a level or `DEFAULT`. */
export function isRedaction(input: unknown): input is Redaction {
  return input === 'DEFAULT' || isRedactionLevel(input)
}

/** The result at REDACTED, for every column type. Source: specification, "Redaction". */
export const REDACTED_TEXT = '*REDACTED*'

/** Returns the text at a level. MASKED without a mask gives the same as REDACTED. */
export function redact(level: RedactionLevel, text: string, mask?: ((text: string) => string) | undefined): string {
  switch (level) {
    case 'PLAIN_TEXT':
      return text
    case 'MASKED':
      return mask === undefined ? REDACTED_TEXT : mask(text)
    case 'REDACTED':
      return REDACTED_TEXT
    default:
      return unreachable(level)
  }
}
