/** The preset `ssn`: tokens look like US social security numbers that were never assigned and never will be. */
import { at } from '../../util/lists.ts'
import { type TokenFormat, TokenFormatError } from '../token-format.ts'
import { DIGITS } from './template-format.ts'
import { excluding, slotDomain, type TokenDomain } from './token-domain.ts'

const SSN = /^[0-9]{3}([- ]?)[0-9]{2}\1[0-9]{4}$/

/**
 * Area and group, the first five digits, of all tokens. None of these areas is ever assigned: 000 and 666 with every group, and
 * 900 to 999 with the groups that no taxpayer number (ITIN 50 to 65, 70 to 88, 90 to 92, 94 to 99; ATIN 93) has.
 * Source: Social Security Administration, POMS RM 10201.035; Internal Revenue Service, Publication 1915.
 */
const BEGINNINGS: readonly string[] = [
  ...['000', '666'].flatMap((area) => range(0, 99).map((group) => area + twoDigits(group))),
  ...range(900, 999).flatMap((area) => [...range(0, 49), ...range(66, 69), 89].map((group) => area + twoDigits(group))),
]
const INDEXES: ReadonlyMap<string, number> = new Map(BEGINNINGS.map((beginning, index) => [beginning, index]))
const SERIALS = slotDomain([DIGITS, DIGITS, DIGITS, DIGITS])
const POSSIBILITIES = BigInt(BEGINNINGS.length) * SERIALS.size

/**
 * A format for social security numbers, with hyphens, with spaces or without. There are fewer numbers that cannot be assigned
 * than numbers that can. So values cannot map one-to-one to tokens, and there is no deterministic form.
 */
export const ssnFormat: TokenFormat = {
  pattern: '[0-9]{3}(?:-[0-9]{2}-| [0-9]{2} |[0-9]{2})[0-9]{4}',
  capacity: POSSIBILITIES,
  rangeOf(value) {
    const found = SSN.exec(value)
    if (found === null)
      throw new TokenFormatError('must be a number of nine digits, such as 123-45-6789, to have a token of this kind')
    return excluding(ssnSpace(at(found, 1)), value)
  },
}

function ssnSpace(separator: string): TokenDomain {
  return {
    size: POSSIBILITIES,
    textAt(rank) {
      const beginning = at(BEGINNINGS, Number(rank / SERIALS.size))
      return [beginning.slice(0, 3), beginning.slice(3), SERIALS.textAt(rank % SERIALS.size)].join(separator)
    },
    rankOf(text) {
      const digits = text.replaceAll(/[- ]/g, '')
      const index = INDEXES.get(digits.slice(0, 5))
      const serial = SERIALS.rankOf(digits.slice(5))
      return index === undefined || serial === undefined ? undefined : BigInt(index) * SERIALS.size + serial
    },
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i)
}

function twoDigits(number: number): string {
  return number.toString().padStart(2, '0')
}
