/** The preset `phone`: the digits of a telephone number are replaced, its punctuation is kept. The country code is kept by choice. */
import { type TokenFormat, TokenFormatError } from '../token-format.ts'
import { DIGITS, LEADING_DIGITS, slotTemplate, templateFormat } from './template-format.ts'

/** Options of a phone format. */
export interface PhoneOptions {
  /** Whether a token keeps the country code after a plus sign, or as much of it as leaves 7 digits. Default true. */
  readonly keepCountry?: boolean | undefined
}

const PATTERN = '[+]?[(]?[0-9](?:[ ().\\/\\-]{0,3}[0-9]){6,14}'
const PHONE = /^\+?[0-9 ().\-/]+$/
/** Number of digits, with the country code. The shortest numbers in use have 7. Source: ITU-T E.164, section 6. */
const MIN_DIGITS = 7
const MAX_DIGITS = 15
/** Digits that are always replaced: fewer have not enough possibilities. Of a longer country code the end is replaced too. */
const MIN_REPLACED = 7

/** Country codes of two digits. 1 and 7 are codes of one digit, all others have three. Source: ITU-T E.164, list of codes. */
const TWO_DIGIT_CODES = /^(2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58])/

/**
 * Returns a format for telephone numbers: international with a plus sign, or national without. How many digits are kept follows from the
 * number of digits and from the kept ones, so every text of a template has the same template.
 */
export function phoneFormat({ keepCountry = true }: PhoneOptions = {}): TokenFormat {
  return templateFormat(PATTERN, (text) => {
    const digits = PHONE.test(text) ? text.replaceAll(/[^0-9]/g, '') : ''
    if (digits.length < MIN_DIGITS || digits.length > MAX_DIGITS) {
      throw new TokenFormatError(
        `must be a telephone number of ${MIN_DIGITS} to ${MAX_DIGITS} digits to have a token of this kind`,
      )
    }
    const country = keepCountry && text.startsWith('+') ? countryDigits(digits) : 0
    const kept = Math.min(country, digits.length - MIN_REPLACED)
    let seen = 0
    const slots = Array.from(text, (character) => {
      if (!DIGITS.includes(character)) return character
      const index = seen++ - kept
      if (index < 0) return character
      // A national prefix begins with zero and a number does not: a token keeps this difference.
      if (index === 0) return character === '0' ? '0' : LEADING_DIGITS
      return DIGITS
    })
    return slotTemplate(slots, `must have at least ${MIN_DIGITS} digits to have a token of this kind`)
  })
}

function countryDigits(digits: string): number {
  if (digits.startsWith('1') || digits.startsWith('7')) return 1
  return TWO_DIGIT_CODES.test(digits) ? 2 : 3
}
