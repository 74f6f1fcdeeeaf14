/** Normalizers: they make texts that mean the same equal, for uniqueness and lookup, and never texts that mean different things. */
import { IBAN, splitEmail } from '../util/text.ts'
import { foldDomain } from './fold-domain.ts'
import { lowerCodePoints, withAsciiDigits } from './spelling.ts'

/** Names of normalizers, as a column lists them. */
export type Normalizer = 'trim' | 'lowercase' | 'digits' | 'phone' | 'email' | 'iban'

/** Returns the normal form of a text; undefined if nothing is left of a text that was not empty. Of its own result it returns the same. */
type Normalize = (text: string) => string | undefined

/**
 * Every normalizer by name. None depends on a locale. `trim` removes white space at both ends. `lowercase` lowers each code
 * point by itself, so that a capital sigma always becomes the same small one. `digits` keeps the decimal digits of every script, as
 * 0 to 9. `phone` reads telephone numbers as E.164, `email` addresses with any spelling
 * of the domain, and `iban` account numbers in any case, with or without spaces.
 */
export const normalizers: Readonly<Record<Normalizer, Normalize>> = {
  trim: (text) => text.trim(),
  lowercase: lowerCodePoints,
  digits: (text) => withAsciiDigits(text).replaceAll(/[^0-9]/g, '') || undefined,
  phone: phoneNumber,
  email: emailAddress,
  iban: accountNumber,
}

/** Normalizers that can leave nothing of a text, and what the text must be so that they leave something. A column has at most one of them. */
export const SELECTIVE: Readonly<Partial<Record<Normalizer, string>>> = {
  digits: 'must hold a digit, because its column compares digits only',
  phone: 'must be a telephone number of at most 15 digits, without letters and without an extension',
  email: 'must be an email address',
  iban: 'must have the form of an IBAN',
}

/** Returns the text after the named normalizers were applied, in order; undefined if one of them leaves nothing of it: then it has no key. */
export function normalize(names: readonly Normalizer[], text: string): string | undefined {
  let normal = text
  for (const name of names) {
    if (normal === '') return normal
    const next = normalizers[name](normal)
    if (next === undefined) return undefined
    normal = next
  }
  return normal
}

/** What is written between the digits of a telephone number, and invisible signs that are copied with it. */
const PUNCTUATION = /[\s\p{Cf}\p{Pd}\u2212()[\]./]/gu
/** International with a country code, which never begins with zero, or national. Source: ITU-T E.164, section 6. */
const NUMBER = /^(?:\+[1-9][0-9]{0,14}|[0-9]{1,15})$/

function phoneNumber(text: string): string | undefined {
  const number = withAsciiDigits(text).replaceAll(PUNCTUATION, '').replace(/^00/, '+')
  return NUMBER.test(number) ? number : undefined
}

/** The local part is left as it is: only its own server knows which spellings of it are one. The sign behind it is also written wide or small. */
function emailAddress(text: string): string | undefined {
  const at = Math.max(text.lastIndexOf('@'), text.lastIndexOf('\uff20'), text.lastIndexOf('\ufe6b'))
  if (at < 0) return undefined
  const domain = text
    .slice(at + 1)
    .normalize('NFKC')
    .replaceAll('\u3002', '.')
  const address = splitEmail(`${text.slice(0, at)}@${domain}`)
  return address && `${address.local}@${foldDomain(address.domain)}`
}

/** What is written between the characters of an account number, and invisible signs that are copied with it. */
const GAPS = /[\s\p{Cf}]/gu

function accountNumber(text: string): string | undefined {
  const number = withAsciiDigits(text).replaceAll(GAPS, '')
  return IBAN.test(number) ? number.toUpperCase() : undefined
}
