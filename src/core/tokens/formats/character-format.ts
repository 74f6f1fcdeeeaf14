/** The presets `digits` and `letters`: every digit, or every letter and digit, is replaced within its class. Separators are kept. */
import { TokenFault, type TokenFormat } from '../token-format.ts'
import { classOf, DIGITS, layoutFormat, slotLayout } from './layout-format.ts'

/** Characters that a token keeps. Others are rejected, because they could be the value itself. */
const SEPARATORS = " -._/():,+#'&"

/** Replaces digits. The value can hold only digits and separators. */
export const digitsFormat: TokenFormat = layoutFormat((text) => {
  const slots = Array.from(text, (character) => (classOf(character) === DIGITS ? DIGITS : separator(character, 'digits')))
  return slotLayout(slots, 'must have at least 6 digits to have a token of this kind')
})

/** Replaces letters A to Z, keeping their case, and digits. The value can hold only these and separators. */
export const lettersFormat: TokenFormat = layoutFormat((text) => {
  const slots = Array.from(text, (character) => classOf(character) ?? separator(character, 'letters A to Z, digits'))
  return slotLayout(slots, 'must have at least 5 letters or 6 digits, or as many of both, to have a token of this kind')
})

function separator(character: string, allowed: string): string {
  if (SEPARATORS.includes(character)) return character
  throw new TokenFault(`must hold nothing but ${allowed} and separators to have a token of this kind`)
}
