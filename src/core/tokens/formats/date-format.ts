/** The preset `date`: any day of the calendar from year 0001 to 9999, as YYYY-MM-DD. */
import { TokenFault, type TokenFormat } from '../token-format.ts'
import { deterministicLayout, type Layout } from './layout-format.ts'
import { apartFrom, type TextSpace } from './text-space.ts'

const DATE = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/
const DAY_MILLIS = 86_400_000
const FIRST_DAY = dayOf('0001-01-01') ?? 0
const LAST_DAY = dayOf('9999-12-31') ?? 0

/** Nothing short of the whole calendar has a million days. */
const days: TextSpace = {
  domain: BigInt(LAST_DAY - FIRST_DAY + 1),
  textAt: (rank) => textOf(FIRST_DAY + Number(rank)),
  rankOf(text) {
    const day = dayOf(text)
    return day === undefined ? undefined : BigInt(day - FIRST_DAY)
  },
}

/** A format for dates; nothing of the date stays. */
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

/** Days since 1970-01-01, or undefined where the calendar has no such day: a day that is none is not written back as it was read. */
function dayOf(text: string): number | undefined {
  if (!DATE.test(text) || text.startsWith('0000')) return undefined
  const day = Date.parse(`${text}T00:00:00Z`) / DAY_MILLIS
  return Number.isInteger(day) && textOf(day) === text ? day : undefined
}
