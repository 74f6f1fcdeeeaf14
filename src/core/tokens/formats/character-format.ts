/** The presets `digits` and `letters`: every digit, or every letter and digit, is replaced within its class. Separators are kept. */
import { type TokenFormat, TokenFormatError } from '../token-format.ts'
import { classOf, DIGITS, slotTemplate, type TextTemplate, templateFormat } from './template-format.ts'
import { fitsSlots, type Slot } from './token-domain.ts'

/** Characters that a token keeps. Others are rejected, because they could be the value itself. */
const SEPARATORS = " -._/():,+#'&"

/** Replaces digits. The value can hold only digits and separators. */
export const digitsFormat: TokenFormat = characterFormat(
  patternOf('0-9', 6),
  (character) => (classOf(character) === DIGITS ? DIGITS : separator(character, 'digits')),
  'must have at least 6 digits to have a token of this kind',
)

/** Replaces letters A to Z, keeping their case, and digits. The value can hold only these and separators. */
export const lettersFormat: TokenFormat = characterFormat(
  patternOf('A-Za-z0-9', 5),
  (character) => classOf(character) ?? separator(character, 'letters A to Z, digits'),
  'must have at least 5 letters or 6 digits, or as many of both, to have a token of this kind',
)

/** The pattern of characters of a class, at least so many, with single separators between them. */
function patternOf(characters: string, min: number): string {
  return `[${characters}](?:[ \\-._\\/():,+#'&]?[${characters}]){${min - 1},}`
}

/** Remembers the last template, because the values of a column mostly have one. Of a value it contains only the separators and the classes. */
function characterFormat(pattern: string, slotOf: (character: string) => Slot, tooFew: string): TokenFormat {
  let slots: readonly Slot[] = []
  let template: TextTemplate | undefined
  return templateFormat(pattern, (text) => {
    if (template === undefined || !fitsSlots(slots, text)) {
      const read = Array.from(text, slotOf)
      template = slotTemplate(read, tooFew)
      slots = read
    }
    return template
  })
}

function separator(character: string, allowed: string): string {
  if (SEPARATORS.includes(character)) return character
  throw new TokenFormatError(`must hold nothing but ${allowed} and separators to have a token of this kind`)
}
