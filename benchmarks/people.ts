/** Plausible people from a seed: the same records for us and for every floor. */

/** Six text columns. */
export interface Person {
  readonly name: string
  readonly email: string
  readonly phone: string
  readonly address: string
  readonly ssn: string
  readonly city: string
}

/** Records as a caller would hand them in. */
export type Batch = readonly { readonly fields: Person }[]

/** A person with sums: the same one twice, so that one column can be sealed and the other kept plain. */
export interface Customer extends Person {
  readonly balance: number
  readonly spent: number
}

export interface PeopleSource {
  /** The next people, values repeating after a while. */
  next(count: number): Batch
  /** The next people, each with an e-mail address nobody had before, in no order. */
  nextUnique(count: number): Batch
  /** The next people, each with an e-mail address nobody had before and a sum below `MOST_SPENT`. */
  nextCustomers(count: number): Customer[]
  /** A number from 0 up to, but without, `end`. */
  below(end: number): number
}

/** The columns in the order every table has them. */
export const COLUMNS = ['name', 'email', 'phone', 'address', 'ssn', 'city'] as const satisfies readonly (keyof Person)[]

/** The columns that have tokens; the last one has none. */
export const TOKENIZED = ['name', 'email', 'phone', 'address', 'ssn'] as const

const FIRST = 'Ann Bo Carla Dmitri Elena Femi Grace Hiro Ines Jürgen Kofi Lucía Mehmet Nadia Oskar Priya Quentin Rosa Søren Tamar'
const LAST =
  'Abara Bergström Castellanos Dąbrowski Eriksen Fitzgerald Gutiérrez Haddad Ivanova Jensen Kowalczyk Lindqvist Montgomery Nakamura Okonkwo Papadopoulos Rasmussen Svensson Tremblay Vandenberg'
const STREETS = 'Maple Avenue,Station Road,Harbour Street,Mill Lane,Church Road,Victoria Terrace,Orchard Close,Königsallee'
const CITIES = 'Gothenburg,Lagos,San Antonio,Osaka,Valparaíso,Leeds,Kraków,Wellington,Montréal,Nairobi'
const MAIL_HOSTS = 'mail.example,post.example,inbox.example,acme.example'

/** People drawn beforehand; a bench goes round them. */
const POOL = 20_000
const HANDLE_LENGTH = 12
/** Sums stay below. */
export const MOST_SPENT = 100_000

export function createPeople(seed: number): PeopleSource {
  const below = createLuck(seed)
  const lists = { first: FIRST.split(' '), last: LAST.split(' '), streets: STREETS.split(','), cities: CITIES.split(',') }
  const hosts = MAIL_HOSTS.split(',')
  const pick = (list: readonly string[]): string => list[below(list.length)] ?? ''
  const digits = (count: number): string => String(below(10 ** count)).padStart(count, '0')
  const handle = (): string => Array.from({ length: HANDLE_LENGTH }, () => below(36).toString(36)).join('')
  const person = (): Person => {
    const [first, last] = [pick(lists.first), pick(lists.last)]
    return {
      name: `${first} ${last}`,
      email: `${first}.${last}${below(1000)}@${pick(hosts)}`.toLowerCase(),
      phone: `+1 ${digits(3)} ${digits(3)} ${digits(4)}`,
      address: `${1 + below(400)} ${pick(lists.streets)}, ${digits(5)}`,
      ssn: `${digits(3)}-${digits(2)}-${digits(4)}`,
      city: pick(lists.cities),
    }
  }
  // Through JSON, as requests come: texts put together in place would be flattened inside the timed part.
  const pool = fromJson(Array.from({ length: POOL }, person))
  let at = 0
  const nextPerson = (): Person => pool[at++ % POOL] ?? person()
  const nextFresh = (count: number): Person[] =>
    fromJson(Array.from({ length: count }, () => ({ ...nextPerson(), email: `${handle()}@${pick(hosts)}` })))
  return {
    below,
    next: (count) => Array.from({ length: count }, () => ({ fields: { ...nextPerson() } })),
    nextUnique: (count) => nextFresh(count).map((fields) => ({ fields })),
    nextCustomers: (count) =>
      nextFresh(count).map((fields) => {
        const spent = below(MOST_SPENT)
        return { ...fields, balance: spent, spent }
      }),
  }
}

function fromJson(people: readonly Person[]): Person[] {
  return JSON.parse(JSON.stringify(people))
}

/** A small generator of luck (mulberry32): fast, seeded, good enough for names. */
function createLuck(seed: number): (end: number) => number {
  let state = seed >>> 0
  return (end) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000) * end)
  }
}
