/** The preset `card`: a card number in its own punctuation that keeps chosen digits and, unless asked, can never be charged. */
import { counted, type DeterministicFormat, LEAST_POSSIBILITIES, TokenFault, type TokenFormat } from '../token-format.ts'
import { DIGITS } from './layout-format.ts'
import { luhnDigit, luhnSum } from './luhn.ts'
import { apartFrom, slotSpace, type TextSpace } from './text-space.ts'

/** Options of a card format. */
export interface CardOptions {
  /** Digits that stay in clear. Default 0 and 4. */
  readonly keepFirst?: number | undefined
  readonly keepLast?: number | undefined
  /** Whether tokens pass the Luhn check. Default invalid. */
  readonly luhn?: 'invalid' | 'valid' | undefined
}

const CARD = /^[0-9]+(?:[ -][0-9]+)*$/
/** Digits of a card number. Source: ISO/IEC 7812-1, section 4. */
const FEWEST_DIGITS = 12
const MOST_DIGITS = 19
/** Most cards have so many: a format that has no room for their tokens is refused. */
const USUAL_DIGITS = 16

/** Luhn sums of a deterministic token. All tokens that fail the check share one sum, for there must be as many as cards that pass. */
const FAILING_SUM = 5

/** A format for card numbers. Throws `TokenFault` when so many digits are kept that cards of 16 digits have too few tokens. */
export function cardFormat({ keepFirst = 0, keepLast = 4, luhn = 'invalid' }: CardOptions = {}): TokenFormat {
  const kept = { first: keepFirst, last: keepLast }
  const sums = luhn === 'valid' ? [0] : [1, 2, 3, 4, 5, 6, 7, 8, 9]
  const perCard = (digits: number): bigint => possibilities(digits - keepFirst - keepLast, sums.length)
  if (perCard(USUAL_DIGITS) < LEAST_POSSIBILITIES) {
    throw new TokenFault(
      `has a token format with ${counted(perCard(USUAL_DIGITS))} possibilities for a card of ${USUAL_DIGITS} digits; ` +
        `keep fewer digits, so that there are at least ${counted(LEAST_POSSIBILITIES)}`,
    )
  }
  const lengths = Array.from({ length: MOST_DIGITS - FEWEST_DIGITS + 1 }, (_, i) => FEWEST_DIGITS + i)
  const fewest = lengths.find((digits) => possibilities(digits - keepFirst - keepLast, 1) >= LEAST_POSSIBILITIES) ?? USUAL_DIGITS
  const assertCard = (value: string): void => {
    if (!isCard(value, fewest)) {
      throw new TokenFault(`must be a card number of ${fewest} to ${MOST_DIGITS} digits to have a token of this kind`)
    }
  }
  return {
    capacity: perCard(fewest),
    shapeOf(value) {
      assertCard(value)
      return apartFrom(cardSpace(value, kept, sums), value)
    },
    deterministic: deterministicCard(kept, luhn === 'valid' ? 0 : FAILING_SUM, fewest, assertCard),
  }
}

/** Digits that stay, at either end. */
interface Kept {
  readonly first: number
  readonly last: number
}

/** Between cards that pass the check and tokens of one other sum (or, by choice, cards that pass) that keep the same digits. */
function deterministicCard(kept: Kept, sum: number, fewest: number, assertCard: (value: string) => void): DeterministicFormat {
  return {
    capacity: possibilities(fewest - kept.first - kept.last, 1),
    rankOf(value) {
      assertCard(value)
      const place = cardSpace(value, kept, [0]).rankOf(value)
      if (place === undefined)
        throw new TokenFault('must be a card number with a correct check digit to have a token of this kind')
      const tokens = cardSpace(value, kept, [sum])
      return { value: place, domain: tokens.domain, context: contextOf(value, kept), tokenAt: (rank) => tokens.textAt(rank) }
    },
    rankOfToken(token) {
      const tokens = isCard(token, fewest) ? cardSpace(token, kept, [sum]) : undefined
      const place = tokens?.rankOf(token)
      if (tokens === undefined || place === undefined) return undefined
      const values = cardSpace(token, kept, [0])
      return { value: place, domain: values.domain, context: contextOf(token, kept), valueAt: (rank) => values.textAt(rank) }
    },
  }
}

function possibilities(freeDigits: number, sums: number): bigint {
  return freeDigits < 1 ? 0n : BigInt(sums) * 10n ** BigInt(freeDigits - 1)
}

function isCard(text: string, fewest: number): boolean {
  if (text.length > 2 * MOST_DIGITS || !CARD.test(text)) return false
  const digits = text.replaceAll(/[ -]/g, '').length
  return digits >= fewest && digits <= MOST_DIGITS
}

/**
 * Numbers with the digits that this one keeps, and its punctuation, whose Luhn sum is one of these: all free digits but the last may be
 * any, and the last one is what the sum asks for.
 */
export function cardSpace(card: string, kept: Kept, sums: readonly number[]): TextSpace {
  const free = freePlaces(card, kept)
  const solved = free.at(-1) ?? 0
  const slots = card.split('')
  for (const at of free) slots[at] = DIGITS
  // The solved digit stands at 0, where it adds nothing, until it is known.
  slots[solved] = '0'
  const space = slotSpace(slots)
  const count = BigInt(sums.length)
  const put = (text: string, digit: number): string => `${text.slice(0, solved)}${digit}${text.slice(solved + 1)}`
  return {
    domain: space.domain * count,
    textAt(rank) {
      const text = space.textAt(rank / count)
      const missing = ((sums[Number(rank % count)] ?? 0) - luhnSum(text) + 10) % 10
      return put(text, luhnDigit(missing, kept.last))
    },
    rankOf(text) {
      const sum = sums.indexOf(luhnSum(text))
      const place = isDigit(text, solved) ? space.rankOf(put(text, 0)) : undefined
      return sum < 0 || place === undefined ? undefined : place * count + BigInt(sum)
    },
  }
}

/** Where the digits that may change stand in the text. */
function freePlaces(card: string, kept: Kept): number[] {
  const places: number[] = []
  for (let at = 0; at < card.length; at++) if (isDigit(card, at)) places.push(at)
  return places.slice(kept.first, places.length - kept.last)
}

function isDigit(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= 0x30 && unit <= 0x39
}

/** What stays in clear, with a mark in the place of every other digit. */
function contextOf(card: string, kept: Kept): string {
  const marks = card.split('')
  for (const at of freePlaces(card, kept)) marks[at] = '*'
  return marks.join('')
}
