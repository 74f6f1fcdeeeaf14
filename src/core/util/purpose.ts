/** The purpose of a caller: its form, in the vault and in a header. */

/** A text that is not blank, without line breaks and other controls, which would forge lines where events are printed. */
const PURPOSE = /^(?!\s*$)[^\p{Cc}\p{Zl}\p{Zp}\p{Cs}]{1,128}$/u
/** Printable ASCII. A purpose of 128 characters has at most 1,536. */
const ENCODED = /^[\x20-\x7e]{1,1536}$/

/** True for a text of 1 to 128 characters, not all of them white space, without control characters. */
export function isPurpose(given: unknown): given is string {
  return typeof given === 'string' && PURPOSE.test(given)
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
