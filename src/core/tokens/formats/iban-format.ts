/** The preset `iban`: a token keeps the country and the spaces of an account number, and has the structure and the check digits that its country demands. */
import { required } from '../../util/lists.ts'
import { type TokenFormat, TokenFormatError } from '../token-format.ts'
import { DIGITS, slotTemplate, templateFormat, UPPER } from './template-format.ts'
import { fitsSlots, type Slot } from './token-domain.ts'

const CLASSES: ReadonlyMap<string, Slot> = new Map([
  ['n', DIGITS],
  ['a', UPPER],
  ['c', DIGITS + UPPER],
])

/**
 * What follows the check digits, by country: how many digits (n), capital letters (a), and digits or capital letters (c).
 * Source: SWIFT, IBAN Registry, release 99.
 */
const STRUCTURES: ReadonlyMap<string, readonly Slot[]> = new Map(
  `AD8n12c AE19n AL8n16c AT16n AZ4a20c BA16n BE12n BG4a6n8c BH4a14c BI23n BR23n1a1c BY4c4n16c CH5n12c CR18n CY8n16c CZ20n DE18n DJ23n
  DK14n DO4c20n EE16n EG25n ES20n FI14n FK2a12n FO14n FR10n11c2n GB4a14n GE2a16n GI4a15c GL14n GR7n16c GT24c HN4a20n HR17n HU24n IE4a14n
  IL19n IQ4a15n IS22n IT1a10n12c JO4a4n18c KW4a22c KZ3n13c LB4n20c LC4a24c LI5n12c LT16n LU3n13c LV4a13c LY21n MC10n11c2n MD20c ME18n
  MK3n10c2n MN16n MR23n MT4a5n18c MU4a19n3a NI4a20n NL4a10n NO11n OM3n16c PK4a16c PL24n PS4a21c PT21n QA4a21c RO4a16c RS18n RU14n15c
  SA2n18c SC4a20n3a SD14n SE20n SI15n SK20n SM1a10n12c SO19n ST21n SV4a20n TL19n TN20n TR6n16c UA6n19c VA18n VG4a16n XK16n YE4a4n18c`
    .split(/\s+/)
    .map((entry) => [entry.slice(0, 2), slotsOf(entry.slice(2))]),
)

function slotsOf(structure: string): Slot[] {
  return [...structure.matchAll(/(\d+)([nac])/g)].flatMap(([, count, name = '']) =>
    new Array<Slot>(Number(count)).fill(required(CLASSES.get(name), 'A class of an IBAN')),
  )
}

/** The country and the check digits, and the rest with at most one space before a character. */
const IBAN = /^[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9])+$/
/** Length of the longest with these spaces. */
const MAX_LENGTH = 64
/** Length of the country and the check digits. */
const HEAD = 4

/**
 * The format of international bank account numbers, in capitals. Values are those of a known country, with its length, its structure and correct check
 * digits; so are tokens. Check digits that a country has within the rest are replaced like the rest.
 */
export const ibanFormat: TokenFormat = {
  ...templateFormat('[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]){11,30}', (text) => {
    const country = text.slice(0, 2)
    const structure = STRUCTURES.get(country)
    const isWritten = text.length <= MAX_LENGTH && IBAN.test(text)
    if (structure === undefined || !isWritten || !fitsSlots(structure, text.slice(HEAD).replaceAll(' ', '')))
      throw new TokenFormatError(PROBLEM)
    let next = 0
    const slots = Array.from(text.slice(HEAD), (character) => (character === ' ' ? ' ' : required(structure[next++])))
    const { tokens: rests, tweakText } = slotTemplate(slots, PROBLEM)
    const checked = (rest: string): string => country + checkDigits(country, rest) + rest
    if (checked(text.slice(HEAD)) !== text) throw new TokenFormatError(PROBLEM)
    return {
      tokens: {
        size: rests.size,
        textAt: (rank) => checked(rests.textAt(rank)),
        rankOf(other) {
          const rest = other.slice(HEAD)
          const rank = rests.rankOf(rest)
          return rank !== undefined && checked(rest) === other ? rank : undefined
        },
      },
      tweakText: country + tweakText,
    }
  }),
  // Of Norway, whose numbers are the shortest.
  capacity: 10n ** 11n,
}

const PROBLEM =
  'must be an IBAN in capitals, with the length, structure and check digits of its country, to have a token of this kind'

/** Returns the check digits of what follows them. Source: ISO/IEC 7064, MOD 97-10; ISO 13616-1. */
function checkDigits(country: string, rest: string): string {
  let remainder = 0
  for (const character of `${rest}${country}00`) {
    if (character === ' ') continue
    const value = Number.parseInt(character, 36)
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
  }
  return String(98 - remainder).padStart(2, '0')
}
