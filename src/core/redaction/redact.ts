/** Applies a redaction level to the text of a value. */
import { unreachable } from '../util/causes.ts'
import type { RedactionLevel } from './levels.ts'

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
