/** Ways to make texts that mean the same equal before they are compared for uniqueness and look-up. */

/** Names a column may list, applied in its order. */
export type Normaliser = 'trim' | 'lowercase' | 'digits'

/**
 * What each does. None knows a locale. `trim` takes white space off both ends; `lowercase` lowers each code point by itself,
 * so a capital sigma always becomes the same small one; `digits` keeps 0 to 9 and drops the rest.
 */
export const normalisers: Readonly<Record<Normaliser, (text: string) => string>> = {
  trim: (text) => text.trim(),
  lowercase: lowerCodePoints,
  digits: (text) => text.replaceAll(/[^0-9]/g, ''),
}

/** The text after the named normalisers, in order. */
export function normalise(names: readonly Normaliser[], text: string): string {
  let normal = text
  for (const name of names) normal = normalisers[name](normal)
  return normal
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII begins with the control characters.
const ASCII = /^[\x00-\x7f]*$/

function lowerCodePoints(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  let lowered = ''
  for (const point of text) lowered += point.toLowerCase()
  return lowered
}
