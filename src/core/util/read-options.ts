/** The one check of the options of all functions. An option that no code reads is usually misspelled. One that is null would be a second way to say absent. */
import { type Fault, fault, printableName, type Sentence, say, words } from '../errors.ts'
import { readInput } from './boundary.ts'
import { supportedNames } from './supported-names.ts'

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
