/** The preset `card`: a token keeps the punctuation and chosen digits of a card number. By default it fails the Luhn check, so it cannot be charged. */
import { at } from '../../util/lists.ts'
import { type DeterministicFormat, formatCount, MIN_DOMAIN, type TokenFormat, TokenFormatError } from '../token-format.ts'
import { DIGITS } from './template-format.ts'
import { excluding, slotDomain, type TokenDomain } from './token-domain.ts'

/** Options of a card format. */
export interface CardOptions {
  /** Number of leading digits that a token keeps. Default 0. */
  readonly keepFirst?: number | undefined
  /** Number of trailing digits that a token keeps. Default 4. */
  readonly keepLast?: number | undefined
  /** Whether tokens pass the Luhn check. Default `'invalid'`. */
  readonly luhn?: 'invalid' | 'valid' | undefined
}

const CARD = /^[0-9]+(?:[ -][0-9]+)*$/
/** Number of digits of a card number. Source: ISO/IEC 7812-1, section 4. */
const MIN_DIGITS = 12
const MAX_DIGITS = 19
/** Number of digits of most cards. A format with too few possible tokens for them is rejected. */
const USUAL_DIGITS = 16

/** Luhn sum of a deterministic token that fails the check. One sum only: there must be as many tokens as valid cards. */
const FAILING_SUM = 5

/** Returns a format for card numbers. Throws `TokenFormatError` if so many digits are kept that cards of 16 digits have too few possible tokens. */
export function cardFormat({ keepFirst = 0, keepLast = 4, luhn = 'invalid' }: CardOptions = {}): TokenFormat {
  const kept = { first: keepFirst, last: keepLast }
  const sums = luhn === 'valid' ? [0] : [1, 2, 3, 4, 5, 6, 7, 8, 9]
  const perCard = (digits: number): bigint => possibilities(digits - keepFirst - keepLast, sums.length)
  if (perCard(USUAL_DIGITS) < MIN_DOMAIN) {
    throw new TokenFormatError(
      `has a token format with ${formatCount(perCard(USUAL_DIGITS))} possibilities for a card of ${USUAL_DIGITS} digits; ` +
        `keep fewer digits, so that there are at least ${formatCount(MIN_DOMAIN)}`,
    )
  }
  const lengths = Array.from({ length: MAX_DIGITS - MIN_DIGITS + 1 }, (_, i) => MIN_DIGITS + i)
  const min = lengths.find((digits) => possibilities(digits - keepFirst - keepLast, 1) >= MIN_DOMAIN) ?? USUAL_DIGITS
  const assertCard = (value: string): void => {
    if (!isCard(value, min)) {
      throw new TokenFormatError(`must be a card number of ${min} to ${MAX_DIGITS} digits to have a token of this kind`)
    }
  }
  return {
    pattern: `[0-9](?:[ \\-]?[0-9]){${min - 1},${MAX_DIGITS - 1}}`,
    capacity: perCard(min),
    rangeOf(value) {
      assertCard(value)
      return excluding(cardDomain(value, kept, sums), value)
    },
    deterministic: deterministicCard(kept, luhn === 'valid' ? 0 : FAILING_SUM, min, assertCard),
  }
}

/** Number of kept digits at each end. */
interface Kept {
  readonly first: number
  readonly last: number
}

/** Maps valid cards one-to-one to tokens of one Luhn sum that keep the same digits. */
function deterministicCard(kept: Kept, sum: number, min: number, assertCard: (value: string) => void): DeterministicFormat {
  return {
    capacity: possibilities(min - kept.first - kept.last, 1),
    rankOf(value) {
      assertCard(value)
      const rankOfValue = cardDomain(value, kept, [0]).rankOf(value)
      if (rankOfValue === undefined)
        throw new TokenFormatError('must be a card number with a correct check digit to have a token of this kind')
      const tokens = cardDomain(value, kept, [sum])
      return {
        value: rankOfValue,
        domain: tokens.size,
        tweakText: contextOf(value, kept),
        tokenAt: (rank) => tokens.textAt(rank),
      }
    },
    rankOfToken(token) {
      const tokens = isCard(token, min) ? cardDomain(token, kept, [sum]) : undefined
      const rankOfToken = tokens?.rankOf(token)
      if (tokens === undefined || rankOfToken === undefined) return undefined
      const values = cardDomain(token, kept, [0])
      return {
        value: rankOfToken,
        domain: values.size,
        tweakText: contextOf(token, kept),
        valueAt: (rank) => values.textAt(rank),
      }
    },
  }
}

function possibilities(freeDigits: number, sums: number): bigint {
  return freeDigits < 1 ? 0n : BigInt(sums) * 10n ** BigInt(freeDigits - 1)
}

function isCard(text: string, min: number): boolean {
  if (text.length > 2 * MAX_DIGITS || !CARD.test(text)) return false
  const digits = text.replaceAll(/[ -]/g, '').length
  return digits >= min && digits <= MAX_DIGITS
}

/**
 * Returns all card numbers with the kept digits and the punctuation of this one whose Luhn sum is in `sums`. All free digits
 * except the last are arbitrary; the last one is computed from the sum. `card` must have at least one free digit.
 */
export function cardDomain(card: string, kept: Kept, sums: readonly number[]): TokenDomain {
  const free = freeIndexes(card, kept)
  const solved = at(free, free.length - 1)
  const slots = card.split('')
  for (const index of free) slots[index] = DIGITS
  // The computed digit is 0 at first, where it adds nothing to the sum.
  slots[solved] = '0'
  const domain = slotDomain(slots)
  const count = BigInt(sums.length)
  const put = (text: string, digit: number): string => `${text.slice(0, solved)}${digit}${text.slice(solved + 1)}`
  return {
    size: domain.size * count,
    textAt(rank) {
      const text = domain.textAt(rank / count)
      const missing = (at(sums, Number(rank % count)) - luhnSum(text) + 10) % 10
      return put(text, luhnDigit(missing, kept.last))
    },
    rankOf(text) {
      const sum = sums.indexOf(luhnSum(text))
      const rank = isDigit(text, solved) ? domain.rankOf(put(text, 0)) : undefined
      return sum < 0 || rank === undefined ? undefined : rank * count + BigInt(sum)
    },
  }
}

/** Returns the indexes of the digits that a token does not keep. */
function freeIndexes(card: string, kept: Kept): number[] {
  const indexes: number[] = []
  for (let i = 0; i < card.length; i++) if (isDigit(card, i)) indexes.push(i)
  return indexes.slice(kept.first, indexes.length - kept.last)
}

function isDigit(text: string, index: number): boolean {
  const unit = text.charCodeAt(index)
  return unit >= 0x30 && unit <= 0x39
}

/** Returns the tweak text: the card number with `*` for every digit that is not kept. */
function contextOf(card: string, kept: Kept): string {
  const characters = card.split('')
  for (const index of freeIndexes(card, kept)) characters[index] = '*'
  return characters.join('')
}

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
