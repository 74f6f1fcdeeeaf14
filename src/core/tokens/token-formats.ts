/** The registry of token formats: their definitions as plain JSON, and the function that compiles them. */
import * as z from 'zod'
import { unreachable } from '../util/causes.ts'
import { type CardOptions, cardFormat } from './formats/card-format.ts'
import { digitsFormat, lettersFormat } from './formats/character-format.ts'
import { dateFormat } from './formats/date-format.ts'
import { type EmailOptions, emailFormat } from './formats/email-format.ts'
import { ibanFormat } from './formats/iban-format.ts'
import { patternFormat } from './formats/pattern-format.ts'
import { type PhoneOptions, phoneFormat } from './formats/phone-format.ts'
import { ssnFormat } from './formats/ssn-format.ts'
import type { TokenFormat } from './token-format.ts'

/** Names of all presets. */
export const TOKEN_PRESETS = ['digits', 'letters', 'phone', 'email', 'ssn', 'card', 'iban', 'date'] as const

/** The name of a preset. Used alone, it means the preset with its defaults. */
export type TokenPreset = (typeof TOKEN_PRESETS)[number]

/** A preset with its options. */
export type PresetDefinition =
  | { readonly preset: 'digits' | 'letters' | 'ssn' | 'iban' | 'date' }
  | ({ readonly preset: 'card' } & CardOptions)
  | ({ readonly preset: 'email' } & EmailOptions)
  | ({ readonly preset: 'phone' } & PhoneOptions)

/** A token format as a schema defines it. */
export type TokenFormatDefinition = TokenPreset | PresetDefinition | { readonly pattern: string }

const keptDigits = z.int().min(0).max(19)

/** The shape of a definition. `compileFormat` checks that it has enough possible tokens. */
export const tokenFormatShape = z.union(
  [
    z.enum(TOKEN_PRESETS),
    z.strictObject({ preset: z.enum(['digits', 'letters', 'ssn', 'iban', 'date']) }),
    z.strictObject({
      preset: z.literal('card'),
      keepFirst: keptDigits.optional(),
      keepLast: keptDigits.optional(),
      luhn: z.enum(['invalid', 'valid']).optional(),
    }),
    z.strictObject({ preset: z.literal('email'), keepDomain: z.boolean().optional() }),
    z.strictObject({ preset: z.literal('phone'), keepCountry: z.boolean().optional() }),
    z.strictObject({ pattern: z.string().min(1).max(1000) }),
  ],
  `must be ${TOKEN_PRESETS.join(', ')}, or an object with a preset or a pattern, such as { pattern: '[0-9]{8}' }`,
)

/** The shape of what becomes of values that a format refuses. */
export const whenRefusedShape = z.enum(['fail', 'noToken']).optional()

/** Returns the format of a definition. Throws `TokenFormatError` for a definition that is invalid or has too few possible tokens. */
export function compileFormat(definition: TokenFormatDefinition): TokenFormat {
  if (typeof definition === 'string') return compilePreset({ preset: definition })
  return 'pattern' in definition ? patternFormat(definition.pattern) : compilePreset(definition)
}

function compilePreset(definition: PresetDefinition): TokenFormat {
  switch (definition.preset) {
    case 'digits':
      return digitsFormat
    case 'letters':
      return lettersFormat
    case 'phone':
      return phoneFormat(definition)
    case 'email':
      return emailFormat(definition)
    case 'ssn':
      return ssnFormat
    case 'card':
      return cardFormat(definition)
    case 'iban':
      return ibanFormat
    case 'date':
      return dateFormat
    default:
      return unreachable(definition)
  }
}
