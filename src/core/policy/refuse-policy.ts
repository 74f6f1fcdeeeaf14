/** How a policy is refused: which statement of which role, where in its text, what is wrong, what was expected. */
import { VaultError } from '../errors.ts'
import { lineAndColumn } from '../expressions/text-fault.ts'
import type { Place } from './statement.ts'

/** The error; to be thrown. `at` is an offset in the place's text, where it has one. */
export function refusePolicy(place: Place, sentence: string, at = 0): VaultError {
  const member = place.member === undefined ? '' : `, ${place.member}`
  return new VaultError(
    'invalid_request',
    `Policy refused. Statement ${place.position} of role ${roleForError(place.role)}${member}${lineOf(place, at)}: ${sentence}`,
  )
}

function lineOf({ text }: Place, at: number): string {
  if (text === undefined) return ''
  const { line, column } = lineAndColumn(text, at)
  return `, line ${line}, column ${column}`
}

/** A role's name as an error repeats it: as it is where it is one word, else only described. */
export function roleForError(role: string): string {
  return /^[A-Za-z0-9_.:@/-]{1,128}$/.test(role) ? role : '(a name that is not one word)'
}
