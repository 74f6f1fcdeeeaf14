/** The number of LIMIT or OFFSET. */
import { say } from '../errors.ts'
import { LanguageError } from '../expressions/language-error.ts'

/** Returns the integer that a text spells. Throws `LanguageError` for any other number. */
export function wholeNumber(text: string, at: number): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number
  throw new LanguageError('range', say`Expected an integer from 0 to ${Number.MAX_SAFE_INTEGER}.`, at)
}
