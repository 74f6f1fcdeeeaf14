/** Members of an object that have a value. */

/** Returns an object with those alone. */
export function defined<T extends object>(members: T): Partial<T> {
  const present = Object.entries(members).filter(([, value]) => value !== undefined)
  // The members are those of the argument.
  return Object.fromEntries(present) as Partial<T>
}
