/** Strict shapes of JSON data, for what the offline verifier reads: it loads no schema library. */

/** Returns a copy of a value that has the shape; undefined for any other value. JSON has no undefined, so it is never a result. */
export type Shape<T> = (value: unknown) => T | undefined

/** The members of an object by name. */
type Members = Readonly<Record<string, Shape<unknown>>>
type Whole<M extends Members> = { readonly [K in keyof M]: Exclude<ReturnType<M[K]>, undefined> }
type ObjectOf<Needed extends Members, Absent extends Members> = Whole<Needed> & Partial<Whole<Absent>>

/** Any text. */
export const text: Shape<string> = (value) => (typeof value === 'string' ? value : undefined)

/** Text that a pattern matches. */
export function matching(pattern: RegExp): Shape<string> {
  return (value) => (typeof value === 'string' && pattern.test(value) ? value : undefined)
}

/** An integer from `min` to `max`. */
export function integer(min: number, max = Number.MAX_SAFE_INTEGER): Shape<number> {
  return (value) => (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max ? value : undefined)
}

/** One of these texts, numbers or booleans. */
export function oneOf<const T extends string | number | boolean>(values: readonly T[]): Shape<T> {
  return (value) => values.find((known) => known === value)
}

/** A list of at least `min` items of one shape. */
export function listOf<T>(item: Shape<T>, min = 0): Shape<readonly T[]> {
  return (value) => {
    if (!Array.isArray(value) || value.length < min) return undefined
    const items: T[] = []
    for (const one of value) {
      const copy = item(one)
      if (copy === undefined) return undefined
      items.push(copy)
    }
    return items
  }
}

/** A list of exactly two items of one shape. */
export function pairOf<T>(item: Shape<T>): Shape<readonly [T, T]> {
  const items = listOf(item, 2)
  return (value) => {
    const [first, second, ...more] = items(value) ?? []
    return first === undefined || second === undefined || more.length > 0 ? undefined : [first, second]
  }
}

/** An object with all members of `needed` and any of `absent`, and no others. A member that is undefined is one too many. */
export function objectOf<Needed extends Members, Absent extends Members = Record<never, never>>(
  needed: Needed,
  absent?: Absent,
): Shape<ObjectOf<Needed, Absent>> {
  const shapes = new Map(Object.entries<Shape<unknown>>({ ...needed, ...absent }))
  const names = Object.keys(needed)
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    if (!names.every((name) => Object.hasOwn(value, name))) return undefined
    const copy: [string, unknown][] = []
    for (const [name, member] of Object.entries(value)) {
      const checked = shapes.get(name)?.(member)
      if (checked === undefined) return undefined
      copy.push([name, checked])
    }
    // Every member was checked above, and all that are needed are there.
    return Object.fromEntries(copy) as ObjectOf<Needed, Absent>
  }
}
