/** Reads the options of a constructor, such as `localKeys`. The platform's own errors quote what they were given: a key, or the password of a database. */
import { fault, words } from '../errors.ts'
import { readInput } from './boundary.ts'

/** Returns a copy of the options of the constructor `name`. Throws `invalid_request` if they are not an object, or if one of their getters throws. */
export function readOptions<T extends object>(name: string, options: T): T {
  if (typeof options === 'object' && options !== null) return readInput(() => ({ ...options }))
  throw fault('invalid_request')`${words(name)}: the options must be an object.`
}
