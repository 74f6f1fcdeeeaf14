/** The presets `digits` and `letters`: every digit, or letter and digit, is exchanged within its class; separators stay. */
import { TokenFault, type TokenFormat } from '../token-format.ts'
import { classOf, DIGITS, layoutFormat, slotLayout } from './layout-format.ts'

/** What may stand between: nothing that could carry the value itself. */
const SEPARATORS = " -._/():,+#'&"

/** Digits are exchanged; beside them only separators may stand. */
export const digitsFormat: TokenFormat = layoutFormat((text) => {
  const slots = Array.from(text, (character) => (classOf(character) === DIGITS ? DIGITS : separator(character, 'digits')))
  return slotLayout(slots, 'must have at least 6 digits to have a token of this kind')
})

/** Letters A to Z keep their case and digits stay digits; beside them only separators may stand. */
export const lettersFormat: TokenFormat = layoutFormat((text) => {
  const slots = Array.from(text, (character) => classOf(character) ?? separator(character, 'letters A to Z, digits'))
  return slotLayout(slots, 'must have at least 5 letters or 6 digits, or as many of both, to have a token of this kind')
})

function separator(character: string, allowed: string): string {
  if (SEPARATORS.includes(character)) return character
  throw new TokenFault(`must hold nothing but ${allowed} and separators to have a token of this kind`)
}
