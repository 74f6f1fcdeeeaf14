/** Reads the options of a constructor, such as `localKeys`. The platform's own errors quote what they were given: a key, or the password of a database. */
import { fault, words } from '../errors.ts'
import { readInput } from './boundary.ts'
import { assertNoNulls } from './null-options.ts'

/** Returns a copy of the options of the constructor `name`. Throws `invalid_request` if they are not an object, if one of their getters throws, or if an option is null. */
export function readOptions<T extends object>(name: string, options: T): T {
  if (typeof options === 'object' && options !== null) {
    const given = readInput(() => ({ ...options }))
    assertNoNulls(given, `${name}: `)
    return given
  }
  throw fault('invalid_request')`${words(name)}: the options must be an object.`
}
