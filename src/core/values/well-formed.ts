/** Text without lone surrogates: what UTF-8 can hold. */
import { ValueFault } from './column-type.ts'

/** Under the u flag a surrogate that is half of a pair is no match. */
const LONE_SURROGATE = /[\ud800-\udfff]/u

/** True when the text has a UTF-8 form. */
export function isWellFormed(text: string): boolean {
  return !LONE_SURROGATE.test(text)
}

/** Refuses text that would not come back from its bytes as it went in. */
export function assertWellFormed(text: string): void {
  if (!isWellFormed(text)) throw new ValueFault('must be well-formed Unicode text, without lone surrogates')
}
