/** Marks of text, for the compiler only: what a read may have lowered is no value to write. */

/** The key of the marks below. No text has it at run time. */
declare const maskedOrRedacted: unique symbol

/** The mark of text that a read may have masked or redacted, for the compiler only. */
export interface MayBeLowered {
  readonly [maskedOrRedacted]?: true
}

/** The mark of text to write, for the compiler only: text with the other mark does not have it. */
export interface NotLowered {
  readonly [maskedOrRedacted]?: never
}

/**
 * Text as a read shows it: it may be masked or redacted. It is a `string` to whatever prints, compares or sends it, but no value to write to
 * a record. A read with `onLowered: 'throw'` returns values.
 */
export type ShownText = string & MayBeLowered

/** Text to write to a record: any `string` but `ShownText`. */
export type PlainText = string & NotLowered
