/** What is shown of a value's text at a level. */
import { unreachable } from '../util/unreachable.ts'
import type { Level } from './levels.ts'

/** What every type shows at REDACTED. Existing clients of the interface read exactly this. */
export const REDACTED_TEXT = '*REDACTED*'

/** A text as its level allows. MASKED without a mask shows no more than REDACTED. */
export function redact(level: Level, shown: string, mask?: ((shown: string) => string) | undefined): string {
  switch (level) {
    case 'PLAIN_TEXT':
      return shown
    case 'MASKED':
      return mask === undefined ? REDACTED_TEXT : mask(shown)
    case 'REDACTED':
      return REDACTED_TEXT
    default:
      return unreachable(level)
  }
}
