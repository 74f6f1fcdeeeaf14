/** The purpose of a caller: its form, in the vault and in a header. */

/** A text without line breaks and other controls, which would forge lines where events are printed, also by turning the order of their letters. */
const PURPOSE = /^[^\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202a-\u202e\u2066-\u2069]{1,128}$/u
/** What is drawn as nothing, besides white space. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u2800]/gu
/** Printable ASCII. A purpose of 128 characters has at most 1,536. */
const ENCODED = /^[\x20-\x7e]{1,1536}$/

/** True for a text of 1 to 128 characters, one of them visible, without control characters. */
export function isPurpose(given: unknown): given is string {
  return typeof given === 'string' && PURPOSE.test(given) && visibleLength(given) > 0
}

/** Returns the number of characters that a reader sees, without white space around them. */
export function visibleLength(purpose: string): number {
  return [...purpose.replace(INVISIBLE, '').trim()].length
}

/** Returns the purpose of a header; undefined if it is malformed. */
export function decodePurpose(header: string): string | undefined {
  try {
    const purpose = ENCODED.test(header) ? decodeURIComponent(header) : undefined
    return isPurpose(purpose) ? purpose : undefined
  } catch {
    return undefined
  }
}
