/** Says why what was given as a pool cannot serve as one, in a sentence for each of the usual mistakes. */

const GIVE_ANOTHER = 'Give new Pool(…) of the package pg, or a connectionString.'

/** A thing that is no pool, what it is recognized by, and the sentence. The first that fits is said. */
const MISTAKES: readonly (readonly [isIt: (given: Given) => boolean, sentence: string])[] = [
  [({ type }) => type === 'string', 'The option pool is a text. Give an address as connectionString.'],
  [({ has }) => has('then'), 'The option pool is a promise. Await it, and give what it resolves to.'],
  [({ has }) => has('unsafe', 'begin'), `The option pool is postgres.js, whose connections are not those of pg. ${GIVE_ANOTHER}`],
  [
    ({ type, has }) => type === 'function' && has('query', 'transaction'),
    'The option pool is the HTTP client of Neon, which has no transactions. Give a Pool of @neondatabase/serverless, or a connectionString.',
  ],
  [
    ({ has }) => has('execProtocolRaw'),
    'The option pool is a PGlite, which is one session. Give a pool around it, as docs/postgres.md shows.',
  ],
  [({ type }) => type === 'function', `The option pool is a function or a class. ${GIVE_ANOTHER}`],
  [({ has }) => has('connect', 'escapeIdentifier'), `The option pool is a single client. ${GIVE_ANOTHER}`],
  [({ has }) => !has('connect'), `The option pool has no method connect, so it is no pool of pg. ${GIVE_ANOTHER}`],
]

/** What was given, as it can be recognized. */
interface Given {
  readonly type: string
  /** True if all of these are members. */
  has(...names: readonly string[]): boolean
}

/** Returns why this is no pool; undefined if it may be one. */
export function poolMistake(given: unknown): string | undefined {
  const type = typeof given
  const members = type === 'function' || (type === 'object' && given !== null) ? Object(given) : {}
  const has = (...names: readonly string[]) => names.every((name) => typeof memberOf(members, name) === 'function')
  return MISTAKES.find(([isIt]) => isIt({ type, has }))?.[1]
}

/** A getter or a proxy can throw, with any text. */
function memberOf(members: object, name: string): unknown {
  try {
    return Reflect.get(members, name)
  } catch {
    return undefined
  }
}
