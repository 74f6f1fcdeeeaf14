/** The one rule for options that are null: they are refused by name. An absent option has its default, and null would be a second way to say so. */
import { fault, type Sentence, words } from '../errors.ts'

/** Throws `invalid_request` for an option that is null. `begin` begins the message, such as the name of a function. */
export function assertNotNull(name: string, value: unknown, begin: Sentence = words('')): void {
  if (value === null) throw fault('invalid_request')`${begin}Option ${name} must not be null. Give it a value, or leave it out.`
}

/** Throws `invalid_request` for the first member of some options that is null. Options that are not an object pass: they are refused elsewhere. */
export function assertNoNulls(options: unknown, begin = ''): void {
  if (typeof options !== 'object' || options === null) return
  for (const [name, value] of Object.entries(options)) assertNotNull(name, value, words(begin))
}
