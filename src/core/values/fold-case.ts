/** Folds case as ILIKE does: code point by code point, and without a language. */

/** Lower case of a code point. The one whose lower case has several, U+0130, folds to the first of them, as in PostgreSQL. */
export function foldCase(codePoint: number): number {
  if (codePoint < 0x80) return codePoint >= 0x41 && codePoint <= 0x5a ? codePoint + 0x20 : codePoint
  return String.fromCodePoint(codePoint).toLowerCase().codePointAt(0) ?? codePoint
}
