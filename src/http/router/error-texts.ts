/** The texts of errors as existing clients know them: with the names of the wire, and the sentence about a record id. */
import type { VaultError } from '../../index.ts'
import type { Names } from '../names.ts'

/** How the texts of a route's errors name things. */
export interface Wording {
  /** The word that its errors begin with. */
  readonly verb: string
  /** Members of the operation's input under their names on the wire. */
  readonly wireNames?: Readonly<Record<string, string>>
}

/** Members whose names on the wire are the same for every route. */
const COMMON: Readonly<Record<string, string>> = { columnName: 'column_name', columnValues: 'column_values', orderBy: 'order_by' }

/** The verb with which an operation of a vault begins its errors. It is not always that of the route. */
const OPERATION = /^[A-Z][a-z]+(?: [A-Za-z]+)* failed\. /

/** Returns the message of an error for the wire. Text in double quotes is a name of the schema or of the request, and stays. */
export function wireMessage(error: VaultError, { verb, wireNames = {} }: Wording, names: Names): string {
  const prefix = `${verb} failed. `
  const sentence = error.message.replace(OPERATION, '')
  // What a route itself refuses has the names of the wire.
  if (sentence === error.message) return `${prefix}${sentence}`
  const unknown = unknownRecord(error, names)
  if (unknown !== undefined) return `${prefix}${unknown}`
  const members = rename(sentence, /[A-Za-z]\w*/g, COMMON)
  return `${prefix}${rename(members, LIST, { ids: names.ids, ...wireNames })}`
}

/** Returns the sentence that existing clients read for an id without a record; undefined for another error. */
function unknownRecord({ code, details, message }: VaultError, { id: name, ids }: Names): string | undefined {
  if (code !== 'not_found' || (!message.includes(' has the id at ') && !message.includes(' has this id'))) return undefined
  const [first] = details
  const place = first?.id ?? (message.includes(' has this id') ? 'This' : `${ids}[${first?.index ?? 0}]`)
  return invalidId(place, name)
}

/** Returns the sentence about an id without a record. */
export function invalidId(place: string, name: string): string {
  return `${place} isn't a valid ${name} ID. Specify a valid ${name}.`
}

/** A word that the sentence speaks of as a member, and not as the thing. */
const LIST = /(?<=array of )[a-z]+|\b[a-z]+(?=\[| must\b| cannot\b)/g

/** Returns a sentence with members renamed outside of double quotes. */
function rename(sentence: string, member: RegExp, renamed: Readonly<Record<string, string>>): string {
  return sentence
    .split(/("[^"]*")/)
    .map((part, index) => (index % 2 === 1 ? part : part.replace(member, (word) => wordOf(renamed, word))))
    .join('')
}

function wordOf(renamed: Readonly<Record<string, string>>, word: string): string {
  return Object.hasOwn(renamed, word) ? (renamed[word] ?? word) : word
}
