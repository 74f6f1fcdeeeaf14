/** Policy errors: which statement of which role, where in its text, what is wrong and what was expected. */
import { print, type Sentence, VaultError } from '../errors.ts'
import { LANGUAGE_ERROR_CODES, type LanguageError, lineAndColumn } from '../expressions/language-error.ts'
import type { StatementLocation } from './statement.ts'

/** The error of a statement; to be thrown. `at` is an offset in the location's text, in UTF-16 units. */
export function policyError(location: StatementLocation, sentence: Sentence, at = 0): VaultError {
  const member = location.member === undefined ? '' : `, ${location.member}`
  const where = `statement ${location.position} of role ${printableRole(location.role)}${member}${lineOf(location, at)}`
  return new VaultError('invalid_request', `Invalid policy: ${where}: ${print(sentence)}`)
}

/** The error for a language error in a statement's text; to be thrown. */
export function refuseText(location: StatementLocation, { kind, sentence, at }: LanguageError): VaultError {
  const { message } = policyError(location, sentence, at)
  return new VaultError(LANGUAGE_ERROR_CODES[kind], message)
}

function lineOf({ text }: StatementLocation, at: number): string {
  if (text === undefined) return ''
  const { line, column } = lineAndColumn(text, at)
  return `, line ${line}, column ${column}`
}

/** A role name for an error: quoted if it is one word, otherwise only described, because it may be a value. */
export function printableRole(role: string): string {
  return /^[A-Za-z0-9_.:@/-]{1,128}$/.test(role) ? `"${role}"` : '(not a single word)'
}
