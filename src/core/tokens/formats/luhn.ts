/** The check digit of card numbers: ISO/IEC 7812-1, annex B. */

/** What a digit adds where every second one, from the right, is doubled. */
const DOUBLED: readonly number[] = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]

/** The sum of all digits, every second from the right doubled, modulo 10: 0 for a number that passes. Other characters do not count. */
export function luhnSum(text: string): number {
  let sum = 0
  let doubled = false
  for (let at = text.length - 1; at >= 0; at--) {
    const digit = text.charCodeAt(at) - 0x30
    if (digit < 0 || digit > 9) continue
    sum += doubled ? (DOUBLED[digit] ?? 0) : digit
    doubled = !doubled
  }
  return sum % 10
}

/** The digit that adds so much where `digitsBehind` digits follow it: doubling maps the ten digits onto themselves. */
export function luhnDigit(amount: number, digitsBehind: number): number {
  return digitsBehind % 2 === 1 ? DOUBLED.indexOf(amount) : amount
}
