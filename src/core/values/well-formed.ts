/** Checks that text has no lone surrogates, so that UTF-8 can hold it. */
import { ValueError } from './column-type.ts'

/** With the u flag, a surrogate that is part of a pair does not match. */
const LONE_SURROGATE = /[\ud800-\udfff]/u

/** True if the text has no lone surrogates. */
export function isWellFormed(text: string): boolean {
  return !LONE_SURROGATE.test(text)
}

/** Throws `ValueError` for text with lone surrogates: it could not be read back from its bytes. */
export function assertWellFormed(text: string): void {
  if (!isWellFormed(text)) throw new ValueError('must be well-formed Unicode text, without lone surrogates')
}
