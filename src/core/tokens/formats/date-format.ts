/** The preset `date`: any day of the calendar from year 0001 to 9999, as YYYY-MM-DD. */
import { required } from '../../util/at.ts'
import { TokenFault, type TokenFormat } from '../token-format.ts'
import { deterministicLayout, type Layout } from './layout-format.ts'
import { apartFrom, type TextSpace } from './text-space.ts'

const DATE = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/
const DAY_MILLIS = 86_400_000
const FIRST_DAY = required(dayOf('0001-01-01'), 'The first day')
const LAST_DAY = required(dayOf('9999-12-31'), 'The last day')

/** All days of the calendar. A smaller set of days would have fewer than a million possible tokens. */
const days: TextSpace = {
  domain: BigInt(LAST_DAY - FIRST_DAY + 1),
  textAt: (rank) => textOf(FIRST_DAY + Number(rank)),
  rankOf(text) {
    const day = dayOf(text)
    return day === undefined ? undefined : BigInt(day - FIRST_DAY)
  },
}

/** A format for dates. A token keeps no part of the date. */
export const dateFormat: TokenFormat = {
  capacity: days.domain,
  shapeOf: (value) => apartFrom(readLayout(value).space, value),
  deterministic: { ...deterministicLayout(readLayout), capacity: days.domain },
}

function readLayout(text: string): Layout {
  if (days.rankOf(text) === undefined) {
    throw new TokenFault('must be a day of the calendar as YYYY-MM-DD, years 0001 to 9999, to have a token of this kind')
  }
  return { space: days, context: '' }
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
