/** The preset `phone`: the digits of a telephone number in its own punctuation; by choice the country code stays. */
import { TokenFault, type TokenFormat } from '../token-format.ts'
import { DIGITS, LEADING_DIGITS, layoutFormat, slotLayout } from './layout-format.ts'

/** Options of a phone format. */
export interface PhoneOptions {
  /** Whether the country code behind a plus sign stays in clear. Default true. */
  readonly keepCountry?: boolean | undefined
}

const PHONE = /^\+?[0-9 ().\-/]+$/
/** Digits of a number with its country code. Source: ITU-T E.164, section 6; 7 is the shortest subscriber's number in use. */
const FEWEST_DIGITS = 7
const MOST_DIGITS = 15

/** Country codes of two digits; 1 and 7 are codes by themselves, all others have three. Source: ITU-T E.164, list of codes. */
const TWO_DIGIT_CODES = /^(2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58])/

/** A format for telephone numbers, international with a plus sign or national without. */
export function phoneFormat({ keepCountry = true }: PhoneOptions = {}): TokenFormat {
  return layoutFormat((text) => {
    const digits = PHONE.test(text) ? text.replaceAll(/[^0-9]/g, '') : ''
    if (digits.length < FEWEST_DIGITS || digits.length > MOST_DIGITS) {
      throw new TokenFault(`must be a telephone number of ${FEWEST_DIGITS} to ${MOST_DIGITS} digits to have a token of this kind`)
    }
    const kept = keepCountry && text.startsWith('+') ? countryDigits(digits) : 0
    let seen = 0
    const slots = Array.from(text, (character) => {
      if (!DIGITS.includes(character)) return character
      const place = seen++ - kept
      if (place < 0) return character
      // The first digit tells a national prefix, which is a zero, from a number, which never begins with one.
      if (place === 0) return character === '0' ? '0' : LEADING_DIGITS
      return DIGITS
    })
    return slotLayout(slots, 'must have at least 7 digits behind its country code to have a token of this kind')
  })
}

function countryDigits(digits: string): number {
  if (digits.startsWith('1') || digits.startsWith('7')) return 1
  return TWO_DIGIT_CODES.test(digits) ? 2 : 3
}
