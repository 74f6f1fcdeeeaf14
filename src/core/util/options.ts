/** The one check of the options of all functions, what it says of unknown names, and strict shapes of JSON for what loads no schema library. */
import { type Fault, fault, printableName, type Sentence, say, words } from '../errors.ts'
import { readInput } from './boundary.ts'

/**
 * The shape of an option in the definition of a column, made with the schema library. Types that applications see do not name that library:
 * it is inside the package, and its types are not.
 */
export interface OptionShape {
  readonly _zod: object
}

/** Which options are checked, for the error. */
export interface OptionsPlace {
  /** The function that they are passed to, such as `localKeys`. Absent in operations, which put their verb in front. */
  readonly of?: string
  /** The option that they are members of, such as `limits`. */
  readonly member?: string
  /** A sentence for a frequent mistake. */
  readonly note?: string
}

/** Throws `invalid_request` if the options are not an object, and for the first that is unknown or null. Runs their getters. */
export function assertOptions<T extends object>(
  options: unknown,
  known: readonly (keyof T & string)[],
  place: OptionsPlace = {},
): asserts options is T {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) throw notAnObject(place)
  const supported: readonly string[] = known
  for (const [name, value] of Object.entries(options)) {
    if (!supported.includes(name)) throw unknown('option', { name, supported }, place)
    if (value === null) throw nullOption(name, place)
  }
}

/** Throws `invalid_request` for the first unknown member of a request. What is no object passes, and so does null: other checks name what is wrong. */
export function assertMembers(given: unknown, supported: readonly string[], place: OptionsPlace = {}): void {
  if (typeof given !== 'object' || given === null) return
  for (const name in given) {
    // An inherited one is no member.
    if (!supported.includes(name) && Object.hasOwn(given, name)) throw unknown('member', { name, supported }, place)
  }
}

/** The same for each item of a list, which errors call `list`. */
export function assertItems(items: readonly unknown[], supported: readonly string[], list: string): void {
  for (let index = 0; index < items.length; index++) {
    const item = items[index]
    if (typeof item !== 'object' || item === null) continue
    for (const name in item) {
      if (!supported.includes(name) && Object.hasOwn(item, name))
        throw unknown('member', { name, supported }, { member: `${list}[${index}]` })
    }
  }
}

/** Returns a copy of the checked options, so that each getter runs once. Throws `invalid_request` also if one of them throws. */
export function readOptions<T extends object>(options: T, known: readonly (keyof T & string)[], place: OptionsPlace): T {
  return readInput(() => {
    assertOptions<T>(options, known, place)
    return { ...options }
  })
}

function notAnObject({ of, member, note }: OptionsPlace): Fault {
  const options = member ?? (of === undefined ? 'The options' : 'the options')
  return fault('invalid_request')`${beginOf(of)}${words(options)} must be an object.${noted(note)}`
}

function nullOption(name: string, { of, member }: OptionsPlace): Fault {
  const option = say`Option ${printableName(name)}${within(member)}`
  return fault('invalid_request')`${beginOf(of)}${option} must not be null. Give it a value, or leave it out.`
}

/** A name, and those that there are. */
interface UnknownName {
  readonly name: string
  readonly supported: readonly string[]
}

function unknown(what: 'option' | 'member', { name, supported }: UnknownName, { of, member, note }: OptionsPlace): Fault {
  const named = say`Unknown ${words(what)} ${printableName(name)}${within(member)}.${noted(note)}`
  return fault('invalid_request')`${beginOf(of)}${named} ${words(supportedNames(name, supported))}`
}

function beginOf(of: string | undefined): Sentence {
  return words(of === undefined ? '' : `${of}: `)
}

function within(member: string | undefined): Sentence {
  return words(member === undefined ? '' : ` of ${member}`)
}

function noted(note: string | undefined): Sentence {
  return words(note === undefined ? '' : ` ${note}`)
}

/** Share of the letters of a name that may differ. */
const MAX_DIFFERENCE = 0.45
/** Letters of the shortest part by which a name is recognized, and how near it is. */
const MIN_PART = 3
const PART_DIFFERENCE = 0.3

/** Returns sentences with the nearest name, if one is near, and all of them. They do not repeat the given name, which can be any text. */
export function supportedNames(given: string, supported: readonly string[]): string {
  if (supported.length === 0) return 'There are none.'
  const near = nearest(given.slice(0, 64), supported)
  return `${near === undefined ? '' : `Did you mean "${near}"? `}Supported: ${supported.join(', ')}.`
}

/** Returns the name with the fewest letters to change; undefined if none is near. */
function nearest(given: string, names: readonly string[]): string | undefined {
  const measured = names.map((name) => ({ name, difference: differenceOf(lettersOf(given), lettersOf(name)) }))
  const [best] = measured.sort((left, right) => left.difference - right.difference)
  return best !== undefined && best.difference <= MAX_DIFFERENCE ? best.name : undefined
}

/** Case, and what joins words, are no difference. */
function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '')
}

/** Returns the share of letters that differ. A name that is a part of the other one is near to it. */
function differenceOf(from: string, to: string): number {
  const [part, whole] = from.length < to.length ? [from, to] : [to, from]
  const difference = distance(from, to) / whole.length
  return part.length >= MIN_PART && whole.includes(part) ? Math.min(difference, PART_DIFFERENCE) : difference
}

/** Returns how many letters must be added, removed or replaced to make one name of another. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let line = 1; line <= from.length; line++) {
    const next = [line]
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (from[line - 1] === to[column - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

/** Called in a loop over names, V8 needs no look-up for this: with `Object.hasOwn` the loop takes four times as long. */
const isOwn = Object.prototype.hasOwnProperty

/** True if these are the names of the own members of an object, in order. */
export function hasOwnNames(item: object, names: readonly string[]): boolean {
  let count = 0
  for (const name in item) {
    // An inherited member is not counted.
    if (name !== names[count] || !isOwn.call(item, name)) return hasKeys(item, names)
    count++
  }
  return count === names.length || hasKeys(item, names)
}

function hasKeys(item: object, names: readonly string[]): boolean {
  const others = Object.keys(item)
  if (others.length !== names.length) return false
  for (let i = 0; i < others.length; i++) if (others[i] !== names[i]) return false
  return true
}

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
