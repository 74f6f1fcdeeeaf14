/** Formats with a template read from the value: some characters are replaced within their class, the others are kept. */
import { LONGEST_TOKEN } from '../../limits.ts'
import { type DeterministicFormat, LEAST_POSSIBILITIES, TokenFault, type TokenFormat } from '../token-format.ts'
import { apartFrom, type Slot, slotSpace, type TextSpace } from './text-space.ts'

export const DIGITS = '0123456789'
/** Digits that a number without leading zeros can begin with. */
export const LEADING_DIGITS = '123456789'
export const LOWER = 'abcdefghijklmnopqrstuvwxyz'
export const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** The texts that share a template, and the template itself as tweak text: kept characters, and a sign for the class of each replaced one. */
export interface Layout {
  readonly space: TextSpace
  readonly context: string
}

/** Returns the template of a text. Throws `TokenFormatError` if it has none. Every text of the domain has the same template. */
export type LayoutReader = (text: string) => Layout

/** Returns a format, with a deterministic form, whose tokens have the template of their value. */
export function layoutFormat(read: LayoutReader): TokenFormat {
  return {
    capacity: LEAST_POSSIBILITIES,
    shapeOf: (value) => apartFrom(readShort(read, value).space, value),
    deterministic: deterministicLayout(read),
  }
}

/** Returns a deterministic format: values and tokens of one template map one-to-one. */
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

/** Returns the template of these slots. Throws `TokenFormatError` with the clause `tooFew` if there are fewer possible tokens than required. */
export function slotLayout(slots: readonly Slot[], tooFew: string): Layout {
  const space = slotSpace(slots)
  if (space.domain < LEAST_POSSIBILITIES) throw new TokenFault(tooFew)
  // The sign of a class is NUL, which no slot holds, and the first character of the class.
  return { space, context: slots.map((slot) => (slot.length === 1 ? slot : `\0${slot.charAt(0)}`)).join('') }
}

/** Returns the class within which a letter or digit is replaced; undefined for other characters. */
export function classOf(character: string): Slot | undefined {
  if (character >= '0' && character <= '9') return DIGITS
  if (character >= 'a' && character <= 'z') return LOWER
  return character >= 'A' && character <= 'Z' ? UPPER : undefined
}

/** Throws `TokenFormatError` for a value longer than a token can be, before anything is computed. */
function readShort(read: LayoutReader, value: string): Layout {
  if (value.length > LONGEST_TOKEN)
    throw new TokenFault(`must have at most ${LONGEST_TOKEN} characters to have a token of this kind`)
  return read(value)
}

function layoutOrNone(read: LayoutReader, token: string): Layout | undefined {
  try {
    return readShort(read, token)
  } catch (error) {
    // Text without a template is not a token of this format.
    if (error instanceof TokenFault) return undefined
    throw error
  }
}

function rankIn(space: TextSpace, text: string): bigint {
  const rank = space.rankOf(text)
  if (rank === undefined) throw new Error('a text is outside the domain of its own template')
  return rank
}
