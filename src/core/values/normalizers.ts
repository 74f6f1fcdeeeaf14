/** Normalizers: they make texts that mean the same equal, for uniqueness and lookup. */

/** Names of normalizers, as a column lists them. */
export type Normalizer = 'trim' | 'lowercase' | 'digits'

/**
 * Every normalizer by name. None depends on a locale. `trim` removes white space at both ends. `lowercase` lowers each code
 * point by itself, so that a capital sigma always becomes the same small one. `digits` keeps only 0 to 9.
 */
export const normalizers: Readonly<Record<Normalizer, (text: string) => string>> = {
  trim: (text) => text.trim(),
  lowercase: lowerCodePoints,
  digits: (text) => text.replaceAll(/[^0-9]/g, ''),
}

/** Returns the text after the named normalizers were applied, in order. */
export function normalize(names: readonly Normalizer[], text: string): string {
  let normal = text
  for (const name of names) normal = normalizers[name](normal)
  return normal
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: The first ASCII characters are control characters.
const ASCII = /^[\x00-\x7f]*$/

function lowerCodePoints(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  let lowered = ''
  for (const point of text) lowered += point.toLowerCase()
  return lowered
}
