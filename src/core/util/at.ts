/** List access where the index must exist: a list that is too short is a defect, and must never seal or store as row 0. */
import { VaultError } from '../errors.ts'

/** The item at an index, from 0. Throws `internal` if there is none. */
export function at<T>(list: { readonly length: number; readonly [index: number]: T | undefined }, index: number): T {
  const item = list[index]
  if (item === undefined) throw missing(index, list.length)
  return item
}

/**
 * A value that must exist. Throws `internal` if it does not; `what` names it in the error. Loops over many rows use it instead of
 * `at`, as `required(list[index])`: the engine then specializes the access for the one type of that list.
 */
export function required<T>(value: T | undefined, what = 'An item of a list'): T {
  if (value === undefined) throw new VaultError('internal', `${what} is missing. This is a defect; please report it.`)
  return value
}

function missing(index: number, length: number): VaultError {
  return new VaultError('internal', `Index ${index} of a list of ${length} was read. This is a defect; please report it.`)
}
