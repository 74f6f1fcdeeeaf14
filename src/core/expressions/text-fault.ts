/** What is wrong with a text of the vault's small languages, and where; whoever holds the text prints it. */

/** `syntax` does not parse, `unsupported` is outside the subset, `limit` is too much of something, `name` is unknown or ambiguous, `type` cannot be compared, `range` is a number out of range, `level` is not shown highly enough, `rule` breaks a rule of the language. */
export type TextFaultKind = 'syntax' | 'unsupported' | 'limit' | 'name' | 'type' | 'range' | 'level' | 'rule'

/** A fault at a place of a text. `message` is a sentence that quotes nothing of the text but names that are fit for it. */
export class TextFault extends Error {
  readonly kind: TextFaultKind
  /** Offset in UTF-16 units. */
  readonly at: number

  constructor(kind: TextFaultKind, message: string, at: number) {
    super(message)
    this.kind = kind
    this.at = at
  }
}

/** Line and column of an offset, both from 1; columns count UTF-16 units. */
export function lineAndColumn(text: string, at: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, at).split(/\r\n|\r|\n/)
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}
