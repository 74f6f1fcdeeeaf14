/** Formats with a template read from the value: some characters are replaced within their class, the others are kept. */
import { MAX_TOKEN_LENGTH } from '../../limits.ts'
import { type DeterministicFormat, MIN_DOMAIN, type TokenFormat, TokenFormatError } from '../token-format.ts'
import { excluding, type Slot, slotDomain, type TokenDomain } from './token-domain.ts'

export const DIGITS = '0123456789'
/** Digits that a number without leading zeros can begin with. */
export const LEADING_DIGITS = '123456789'
export const LOWER = 'abcdefghijklmnopqrstuvwxyz'
export const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** The texts that share a template, and the template itself as tweak text: kept characters, and a sign for the class of each replaced one. */
export interface TextTemplate {
  readonly tokens: TokenDomain
  readonly tweakText: string
}

/** Returns the template of a text. Throws `TokenFormatError` if it has none. Every text of the domain has the same template. */
type TemplateReader = (text: string) => TextTemplate

/** Returns a format, with a deterministic form, whose tokens have the template of their value. All of them match the pattern. */
export function templateFormat(pattern: string, read: TemplateReader): TokenFormat {
  return {
    pattern,
    capacity: MIN_DOMAIN,
    rangeOf: (value) => excluding(readShort(read, value).tokens, value),
    deterministic: deterministicTemplate(read),
  }
}

/** Returns a deterministic format: values and tokens of one template map one-to-one. */
export function deterministicTemplate(read: TemplateReader): DeterministicFormat {
  return {
    capacity: MIN_DOMAIN,
    rankOf(value) {
      const { tokens, tweakText } = readShort(read, value)
      return { value: rankIn(tokens, value), domain: tokens.size, tweakText, tokenAt: (rank) => tokens.textAt(rank) }
    },
    rankOfToken(token) {
      const layout = layoutOrNone(read, token)
      if (layout === undefined) return undefined
      const { tokens, tweakText } = layout
      return { value: rankIn(tokens, token), domain: tokens.size, tweakText, valueAt: (rank) => tokens.textAt(rank) }
    },
  }
}

/** Returns the template of these slots. Throws `TokenFormatError` with the clause `tooFew` if there are fewer possible tokens than required. */
export function slotTemplate(slots: readonly Slot[], tooFew: string): TextTemplate {
  const tokens = slotDomain(slots)
  if (tokens.size < MIN_DOMAIN) throw new TokenFormatError(tooFew)
  // The sign of a class is NUL, which no slot holds, and the first character of the class.
  return { tokens, tweakText: slots.map((slot) => (slot.length === 1 ? slot : `\0${slot.charAt(0)}`)).join('') }
}

/** Returns the class within which a letter or digit is replaced; undefined for other characters. */
export function classOf(character: string): Slot | undefined {
  if (character >= '0' && character <= '9') return DIGITS
  if (character >= 'a' && character <= 'z') return LOWER
  return character >= 'A' && character <= 'Z' ? UPPER : undefined
}

/** Throws `TokenFormatError` for a value longer than a token can be, before anything is computed. */
function readShort(read: TemplateReader, value: string): TextTemplate {
  if (value.length > MAX_TOKEN_LENGTH)
    throw new TokenFormatError(`must have at most ${MAX_TOKEN_LENGTH} characters to have a token of this kind`)
  return read(value)
}

function layoutOrNone(read: TemplateReader, token: string): TextTemplate | undefined {
  try {
    return readShort(read, token)
  } catch (error) {
    // Text without a template is not a token of this format.
    if (error instanceof TokenFormatError) return undefined
    throw error
  }
}

function rankIn(domain: TokenDomain, text: string): bigint {
  const rank = domain.rankOf(text)
  if (rank === undefined) throw new Error('a text is outside the domain of its own template')
  return rank
}
