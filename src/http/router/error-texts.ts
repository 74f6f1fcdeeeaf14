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
const COMMON: Readonly<Record<string, string>> = { orderBy: 'order_by', downloadTickets: 'downloadURL' }

/** What a vault says in words that the wire does not have: of look-ups, and of the items of a batch. */
const SENTENCES: readonly (readonly [RegExp, string])[] = [
  [/^where must be an object with one column, .*/, 'column_name and column_values must be given together.'],
  [/ cannot be combined with where\./, ' cannot be combined with column_name.'],
  [/(?<=same table, )where(?= and )/, 'column_name, column_values'],
  [/\bvalues of where\b|\bwhere\.\w+/, 'column_values'],
  [/An item must have one of insert, update, get and delete, .*/, 'method must be POST, PUT, GET or DELETE.'],
  [/\b(?:insert|update|get|delete) must be the name of a table\./, 'tableName must be text.'],
  [/(?<= cannot be combined with )insert\./, 'method POST.'],
  [/(?<= cannot be combined with )update\./, 'method PUT.'],
  [/(?<= cannot be combined with )get\./, 'method GET.'],
  [/(?<= cannot be combined with )delete\./, 'method DELETE.'],
  [/\bid refers to an item that deletes its record\./, 'ID refers to a DELETE item, which leaves no record.'],
  [/\bid refers to /, 'ID refers to '],
  [/Unknown member batchID of an item\..*/, 'batchID must be a string.'],
]

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
  const reworded = SENTENCES.reduce((text, [words, wire]) => text.replace(words, wire), sentence)
  const members = rename(reworded, MEMBER, COMMON)
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

/** A member of the request itself: `sortOps.orderBy` is another one than `orderBy`. */
const MEMBER = /(?<![.\w])[A-Za-z]\w*/g

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
