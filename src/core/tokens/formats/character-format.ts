/** The presets `digits` and `letters`: every digit, or every letter and digit, is replaced within its class. Separators are kept. */
import { type TokenFormat, TokenFormatError } from '../token-format.ts'
import { classOf, DIGITS, slotTemplate, templateFormat } from './template-format.ts'

/** Characters that a token keeps. Others are rejected, because they could be the value itself. */
const SEPARATORS = " -._/():,+#'&"

/** Replaces digits. The value can hold only digits and separators. */
export const digitsFormat: TokenFormat = templateFormat((text) => {
  const slots = Array.from(text, (character) => (classOf(character) === DIGITS ? DIGITS : separator(character, 'digits')))
  return slotTemplate(slots, 'must have at least 6 digits to have a token of this kind')
})

/** Replaces letters A to Z, keeping their case, and digits. The value can hold only these and separators. */
export const lettersFormat: TokenFormat = templateFormat((text) => {
  const slots = Array.from(text, (character) => classOf(character) ?? separator(character, 'letters A to Z, digits'))
  return slotTemplate(slots, 'must have at least 5 letters or 6 digits, or as many of both, to have a token of this kind')
})

function separator(character: string, allowed: string): string {
  if (SEPARATORS.includes(character)) return character
  throw new TokenFormatError(`must hold nothing but ${allowed} and separators to have a token of this kind`)
}
