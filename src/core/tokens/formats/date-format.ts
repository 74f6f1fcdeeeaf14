/** The preset `date`: any day of the calendar from year 0001 to 9999, as YYYY-MM-DD. */
import { required } from '../../util/lists.ts'
import { type TokenFormat, TokenFormatError } from '../token-format.ts'
import { deterministicTemplate, type TextTemplate } from './template-format.ts'
import { excluding, type TokenDomain } from './token-domain.ts'

const DATE = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/
const DAY_MILLIS = 86_400_000
const FIRST_DAY = required(dayOf('0001-01-01'), 'The first day')
const LAST_DAY = required(dayOf('9999-12-31'), 'The last day')

/** All days of the calendar. A smaller set of days would have fewer than a million possible tokens. */
const days: TokenDomain = {
  size: BigInt(LAST_DAY - FIRST_DAY + 1),
  textAt: (rank) => textOf(FIRST_DAY + Number(rank)),
  rankOf(text) {
    const day = dayOf(text)
    return day === undefined ? undefined : BigInt(day - FIRST_DAY)
  },
}

/** A format for dates. A token keeps no part of the date. */
export const dateFormat: TokenFormat = {
  pattern: '[0-9]{4}-[0-9]{2}-[0-9]{2}',
  capacity: days.size,
  rangeOf: (value) => excluding(readTemplate(value).tokens, value),
  deterministic: { ...deterministicTemplate(readTemplate), capacity: days.size },
}

function readTemplate(text: string): TextTemplate {
  if (days.rankOf(text) === undefined) {
    throw new TokenFormatError('must be a day of the calendar as YYYY-MM-DD, years 0001 to 9999, to have a token of this kind')
  }
  return { tokens: days, tweakText: '' }
}

function textOf(day: number): string {
  return new Date(day * DAY_MILLIS).toISOString().slice(0, 10)
}

/** Returns days since 1970-01-01, or undefined if the calendar has no such day: `Date` then writes another text than it read. */
function dayOf(text: string): number | undefined {
  if (!DATE.test(text) || text.startsWith('0000')) return undefined
  const day = Date.parse(`${text}T00:00:00Z`) / DAY_MILLIS
  return Number.isInteger(day) && textOf(day) === text ? day : undefined
}
