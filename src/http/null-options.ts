/** The rule for options that are null, as the vault has it: they are refused by name. */
import { VaultError } from '../index.ts'
import { readGiven, shownName } from './read-given.ts'

/** Throws `invalid_request` for the first option that is null. Options that are not an object pass: they are refused elsewhere. */
export function assertNoNulls(options: object | undefined): void {
  for (const [name, value] of readGiven(() => Object.entries(options ?? {})))
    if (value === null)
      throw new VaultError('invalid_request', `Option "${shownName(name)}" must not be null. Give it a value, or leave it out.`)
}
