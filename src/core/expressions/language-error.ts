/** Errors in queries, policy statements and conditions: what is wrong and at which offset. The holder of the text adds line and column. */
import { type ErrorCode, print, type Sentence } from '../errors.ts'
import { at as item } from '../util/lists.ts'

/**
 * `syntax`: does not parse. `unsupported`: SQL outside the subset. `limit`: above a limit. `name`: unknown or ambiguous. `type`: types that
 * do not match. `range`: a number out of range. `level`: the granted redaction level is too low. `rule`: breaks a rule of the language.
 */
export type LanguageErrorKind = 'syntax' | 'unsupported' | 'limit' | 'name' | 'type' | 'range' | 'level' | 'rule'

/** The error code of each kind. Source: docs/sql.md. */
export const LANGUAGE_ERROR_CODES: Readonly<Record<LanguageErrorKind, ErrorCode>> = {
  syntax: 'invalid_request',
  name: 'invalid_request',
  unsupported: 'unsupported',
  limit: 'limit_exceeded',
  range: 'out_of_range',
  type: 'unprocessable',
  rule: 'unprocessable',
  level: 'forbidden',
}

/** An error at an offset of a text. Its sentence repeats names of the text, and never a literal: a literal may be a value. */
export class LanguageError extends Error {
  readonly kind: LanguageErrorKind
  /** The message, with its names marked for the audit trail. */
  readonly sentence: Sentence
  /** Offset in UTF-16 units, from 0. */
  readonly at: number

  constructor(kind: LanguageErrorKind, sentence: Sentence, at: number) {
    super(print(sentence))
    this.kind = kind
    this.sentence = sentence
    this.at = at
  }
}

/** Line and column of an offset. Both count from 1; columns count UTF-16 units. */
export function lineAndColumn(text: string, at: number): { readonly line: number; readonly column: number } {
  const lines = text.slice(0, at).split(/\r\n|\r|\n/)
  return { line: lines.length, column: item(lines, lines.length - 1).length + 1 }
}
