/** The check digit of card numbers. Source: ISO/IEC 7812-1, annex B. */
import { at } from '../../util/lists.ts'

/** What a doubled digit adds to the sum, by digit. */
const DOUBLED: readonly number[] = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]

/** Returns the sum of all digits modulo 10, with every second digit from the right doubled: 0 for a valid number. Other characters are ignored. */
export function luhnSum(text: string): number {
  let sum = 0
  let doubled = false
  for (let i = text.length - 1; i >= 0; i--) {
    const digit = text.charCodeAt(i) - 0x30
    if (digit < 0 || digit > 9) continue
    sum += doubled ? at(DOUBLED, digit) : digit
    doubled = !doubled
  }
  return sum % 10
}

/** Returns the digit that adds `amount` to the sum if `digitsAfter` digits follow it. It exists, because doubling permutes the ten digits. */
export function luhnDigit(amount: number, digitsAfter: number): number {
  return digitsAfter % 2 === 1 ? DOUBLED.indexOf(amount) : amount
}
