/** The one rule for options that are null: they are refused by name. An absent option has its default, and null would be a second way to say so. */
import { fault, type Sentence, say, words } from '../errors.ts'

/** Throws `invalid_request` for an option that is null. `where` begins the message, such as the name of a function. */
export function assertNotNull(name: string, value: unknown, where: Sentence = words('')): void {
  if (value === null) throw fault('invalid_request')`${where}Option ${name} must not be null. Leave it out for its default.`
}

/** Throws `invalid_request` for the first member of some options that is null. Options that are not an object pass: they are refused elsewhere. */
export function assertNoNulls(options: unknown, where?: string): void {
  if (typeof options !== 'object' || options === null) return
  const begin = where === undefined ? words('') : say`${words(where)}: `
  for (const [name, value] of Object.entries(options)) assertNotNull(name, value, begin)
}
