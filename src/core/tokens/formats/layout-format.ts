/** Formats that read a layout off the value: which of its characters are exchanged within their class, and which stay in clear. */
import { LONGEST_TOKEN } from '../../limits.ts'
import { type DeterministicFormat, LEAST_POSSIBILITIES, TokenFault, type TokenFormat } from '../token-format.ts'
import { apartFrom, type Slot, slotSpace, type TextSpace } from './text-space.ts'

export const DIGITS = '0123456789'
/** The first digit of a number that does not begin with zero. */
export const LEADING_DIGITS = '123456789'
export const LOWER = 'abcdefghijklmnopqrstuvwxyz'
export const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** The texts that share a layout, and the layout itself as text: characters that stay, and marks for the classes of the others. */
export interface Layout {
  readonly space: TextSpace
  readonly context: string
}

/** Reads the layout off a text; throws `TokenFault` where it has none. Every text of the space has the same layout. */
export type LayoutReader = (text: string) => Layout

/** A format whose tokens have the layout of their value, both ways. */
export function layoutFormat(read: LayoutReader): TokenFormat {
  return {
    capacity: LEAST_POSSIBILITIES,
    shapeOf: (value) => apartFrom(readShort(read, value).space, value),
    deterministic: deterministicLayout(read),
  }
}

/** Values and tokens of one layout, mapped onto each other. */
export function deterministicLayout(read: LayoutReader): DeterministicFormat {
  return {
    capacity: LEAST_POSSIBILITIES,
    rankOf(value) {
      const { space, context } = readShort(read, value)
      return { value: rankIn(space, value), domain: space.domain, context, tokenAt: (rank) => space.textAt(rank) }
    },
    rankOfToken(token) {
      const layout = layoutOrNone(read, token)
      if (layout === undefined) return undefined
      const { space, context } = layout
      return { value: rankIn(space, token), domain: space.domain, context, valueAt: (rank) => space.textAt(rank) }
    },
  }
}

/** The layout of these slots; `tooFew` is the clause for a text with fewer possibilities than a token needs. */
export function slotLayout(slots: readonly Slot[], tooFew: string): Layout {
  const space = slotSpace(slots)
  if (space.domain < LEAST_POSSIBILITIES) throw new TokenFault(tooFew)
  // A mark begins with NUL, which no slot holds, and goes on with the first character of its class.
  return { space, context: slots.map((slot) => (slot.length === 1 ? slot : `\0${slot.charAt(0)}`)).join('') }
}

/** The class a letter or digit is exchanged in; undefined for every other character. */
export function classOf(character: string): Slot | undefined {
  if (character >= '0' && character <= '9') return DIGITS
  if (character >= 'a' && character <= 'z') return LOWER
  return character >= 'A' && character <= 'Z' ? UPPER : undefined
}

/** Refuses a value whose token would be longer than a token may be, before anything is computed. */
function readShort(read: LayoutReader, value: string): Layout {
  if (value.length > LONGEST_TOKEN)
    throw new TokenFault(`must have at most ${LONGEST_TOKEN} characters to have a token of this kind`)
  return read(value)
}

function layoutOrNone(read: LayoutReader, token: string): Layout | undefined {
  try {
    return readShort(read, token)
  } catch (error) {
    // A text without a layout is no token: an answer, not a failure.
    if (error instanceof TokenFault) return undefined
    throw error
  }
}

function rankIn(space: TextSpace, text: string): bigint {
  const rank = space.rankOf(text)
  if (rank === undefined) throw new Error('a text is outside the layout that was read off it')
  return rank
}
