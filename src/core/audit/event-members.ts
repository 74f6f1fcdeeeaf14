/** The members of an event, once: what writes an event, reads it, recognizes its text and checks its shape goes through this list. */
import { MAX_CHAINS } from '../limits.ts'
import { MAX_ROW_ID } from '../ports/storage.ts'
import { REDACTION_LEVELS } from '../redaction.ts'
import { toUtf8 } from '../util/bytes.ts'
import * as shapes from '../util/options.ts'
import {
  ACCESS_TYPES,
  ACTION_TYPES,
  ACTOR_TYPES,
  AUTH_MODES,
  type ChainedEvent,
  type EventContext,
  type EventDraft,
  type EventPlace,
  type EventPosition,
  type EventRows,
  type NestedOutcome,
  RESOURCE_TYPES,
  type SeenAs,
} from './event.ts'

/** An event as it is written. `at` is its time in nanoseconds since 1970. */
export interface WrittenEvent extends EventDraft, Omit<EventPlace, 'v'> {
  readonly at: bigint
}

/** A kind of value. All have the same members, so that loops over them see one hidden class; `op` says which are used. */
interface KindOf<Op extends string> {
  readonly op: Op
  /** The shape of a value as JSON. */
  readonly shape: shapes.Shape<unknown>
  /** Matches the canonical text of most values, and of no others. */
  readonly pattern: string
  readonly words: readonly string[]
  readonly min: number
  readonly max: number
  /** The member that a verification compares. */
  readonly link: 'chain' | 'sequence' | undefined
  readonly item: Kind | undefined
  /** Members that most objects share with the one before, and all others, in canonical order. */
  readonly shared: readonly Member[]
  readonly own: readonly Member[]
  /** The flags of those that can be absent. */
  readonly flags: number
}

/** `text`: any text. `account` and `vault`: texts that are mostly the same. `time`: text, and nanoseconds. `runs`: pairs of numbers. */
export type Kind =
  | KindOf<'text' | 'account' | 'vault' | 'version' | 'word' | 'number' | 'digest' | 'time' | 'runs'>
  | ListKind
  | ObjectKind
export type ListKind = KindOf<'list'> & { readonly item: Kind }
export type ObjectKind = KindOf<'object'>

/** A kind for values of one type. */
type Typed<T> = Kind & { readonly value?: T }

/** A member of an object. */
export interface Member {
  readonly name: string
  readonly kind: Kind
  /** Its flag, if it can be absent; 0 for one that cannot. */
  readonly flag: number
  /** The text in front of it. */
  readonly before: Uint8Array
  /** Returns the value of an object. One function for each member: an engine remembers where it found the value. */
  get(object: unknown): unknown
}

function kind<const Op extends string, Own extends Partial<KindOf<Op>>>(
  op: Op,
  shape: shapes.Shape<unknown>,
  pattern: string,
  own?: Own,
) {
  const unused = { words: [], min: 0, max: 0, link: undefined, item: undefined, shared: [], own: [], flags: 0 }
  return { op, shape, pattern, ...unused, ...own }
}

/** Text of printed ASCII without escapes, and with those of quotes and backslashes. Text that has other ones is parsed. */
const PLAIN = String.raw`[\x20\x21\x23-\x5b\x5d-\x7f]*`
const PLAIN_TEXT = String.raw`"${PLAIN}(?:\\["\\]${PLAIN})*"`
/** Numbers of up to 14 digits. */
const COUNT = String.raw`[1-9]\d{0,13}`

/** A time as `toTimestamp` writes it. */
export const timestampShape = shapes.matching(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z$/)

const TEXT: Typed<string> = kind('text', shapes.text, PLAIN_TEXT)
const ACCOUNT: Typed<string> = kind('account', shapes.text, PLAIN_TEXT)
const VAULT: Typed<{ readonly accountID: string; readonly vaultID: string }> = kind('vault', shapes.text, `"(${PLAIN})"`)
const VERSION: Typed<1> = kind('version', shapes.oneOf([1]), '1')
const CODE = number(100, 599, String.raw`[1-5]\d\d`)
const DIGEST: Typed<string | Uint8Array> = kind('digest', shapes.matching(/^([0-9a-f]{64})?$/), '"((?:[0-9a-f]{64})?)"')
const TIME: Typed<{ readonly timestamp: string; readonly at: bigint }> = kind(
  'time',
  timestampShape,
  String.raw`"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z)"`,
)
const RUNS: Typed<EventRows['runs']> = kind(
  'runs',
  shapes.listOf(shapes.pairOf(shapes.integer(1))),
  listPattern(String.raw`\[${COUNT},${COUNT}\]`),
)

function word<Word extends string>(words: readonly Word[]): Typed<Word> {
  return kind('word', shapes.oneOf(words), `"(?:${words.join('|')})"`, { words })
}

/** An integer. `link` is captured by the pattern. */
function number(min: number, max: number, pattern: string, link?: 'chain' | 'sequence'): Typed<number> {
  return kind('number', shapes.integer(min, max), link === undefined ? pattern : `(${pattern})`, { min, max, link })
}

function list<T>(item: Typed<T>): Typed<readonly T[]> {
  return { ...kind('list', shapes.listOf(item.shape), listPattern(item.pattern)), item }
}

function listPattern(item: string): string {
  return String.raw`\[(?:${item}(?:,${item})*)?\]`
}

/** A member that all objects have, and one that can be absent. `Source` is the type of the object that is written. */
interface Needed<Source> {
  readonly isOptional: false
  readonly kind: Kind
  get(object: Source): unknown
}
interface Optional<Source> extends Omit<Needed<Source>, 'isOptional'> {
  readonly isOptional: true
}

/** All members of `T`: the compiler refuses a list without one of them. */
type MembersOf<T, Source> = {
  readonly [Name in keyof Required<T>]: Record<never, never> extends Pick<T, Name> ? Optional<Source> : Needed<Source>
}

function needed<Source, T>(kind: Typed<T>, get: (object: Source) => T): Needed<Source> {
  return { kind, get, isOptional: false }
}

function optional<Source, T>(kind: Typed<T>, get: (object: Source) => T | undefined): Optional<Source> {
  return { kind, get, isOptional: true }
}

/** An object with these members, in canonical order. Those up to `lastShared` are mostly those of the object written before. The first is needed. */
function object<T, Source = T>(members: MembersOf<T, Source>, lastShared?: keyof T & string): ObjectKind & Typed<Source> {
  let flag = 1
  const all = Object.entries<Needed<Source> | Optional<Source>>(members).map(
    ([name, { kind, get, isOptional }], index): Member => {
      const own = isOptional ? flag : 0
      if (isOptional) flag *= 2
      // The cast is safe: an object of this kind is written with values of its type.
      return { name, kind, flag: own, before: toUtf8(`${index === 0 ? '{' : ','}"${name}":`), get: get as Member['get'] }
    },
  )
  const shared = all.findIndex(({ name }) => name === lastShared) + 1
  const shapesOf = (isOptional: boolean) =>
    Object.fromEntries(all.filter((one) => one.flag > 0 === isOptional).map(({ name, kind }) => [name, kind.shape]))
  const patterns = all.map(({ name, kind, flag }, index) => {
    const text = `${index === 0 ? '' : ','}"${name}":${kind.pattern}`
    return flag > 0 ? `(?:${text})?` : text
  })
  return kind('object', shapes.objectOf(shapesOf(false), shapesOf(true)), String.raw`\{${patterns.join('')}\}`, {
    shared: all.slice(0, shared),
    own: all.slice(shared),
    flags: flag - 1,
  })
}

const CONTEXT = object<EventContext>(
  {
    accessType: needed(word(ACCESS_TYPES), (context) => context.accessType),
    actor: needed(TEXT, (context) => context.actor),
    actorType: needed(word(ACTOR_TYPES), (context) => context.actorType),
    authMode: needed(word(AUTH_MODES), (context) => context.authMode),
    bearerTokenContextID: optional(TEXT, (context) => context.bearerTokenContextID),
    clientTraceID: optional(TEXT, (context) => context.clientTraceID),
    ipAddress: needed(TEXT, (context) => context.ipAddress),
    jwtID: needed(TEXT, (context) => context.jwtID),
    keyID: optional(TEXT, (context) => context.keyID),
    origin: optional(TEXT, (context) => context.origin),
    purpose: optional(TEXT, (context) => context.purpose),
    requestID: needed(TEXT, (context) => context.requestID),
    sessionID: optional(TEXT, (context) => context.sessionID),
    subject: optional(TEXT, (context) => context.subject),
    traceID: needed(TEXT, (context) => context.traceID),
    userEmail: optional(TEXT, (context) => context.userEmail),
  },
  'purpose',
)

const ROWS = object<EventRows>({
  runs: needed(RUNS, (rows) => rows.runs),
  table: needed(TEXT, (rows) => rows.table),
})

const SEEN_AS = object<SeenAs>({
  context: needed(TEXT, (seen) => seen.context),
  roles: needed(list(TEXT), (seen) => seen.roles),
})

const NESTED = object<NestedOutcome>({
  code: needed(CODE, (outcome) => outcome.code),
  content: optional(TEXT, (outcome) => outcome.content),
  contentOf: optional(number(0, Number.MAX_SAFE_INTEGER, `(?:0|${COUNT})`), (outcome) => outcome.contentOf),
  items: optional(number(2, MAX_ROW_ID, String.raw`(?:[2-9]|[1-9]\d{1,13})`), (outcome) => outcome.items),
  message: needed(TEXT, (outcome) => outcome.message),
  resourceType: needed(word(RESOURCE_TYPES), (outcome) => outcome.resourceType),
  rows: optional(ROWS, (outcome) => outcome.rows),
})

const POSITION = object<EventPosition>({
  chain: needed(number(1, MAX_CHAINS, String.raw`[1-9]\d{0,4}`, 'chain'), (position) => position.chain),
  previous: needed(DIGEST, (position) => position.previous),
  sequence: needed(number(1, 0xffff_ffff, String.raw`[1-9]\d{0,9}`, 'sequence'), (position) => position.sequence),
})

/** An event: its members in the order of the canonical text, which is that of the bytes. */
export const EVENT = object<ChainedEvent, WrittenEvent>({
  accountID: needed(ACCOUNT, (event) => event.accountID),
  action: needed(word(ACTION_TYPES), (event) => event.action),
  changeID: needed(TEXT, (event) => event.changeID),
  code: needed(CODE, (event) => event.code),
  content: optional(TEXT, (event) => event.content),
  context: needed(CONTEXT, (event) => event.context),
  credential: optional(TEXT, (event) => event.credential),
  level: optional(word(REDACTION_LEVELS), (event) => event.level),
  message: needed(TEXT, (event) => event.message),
  nested: optional(list(NESTED), (event) => event.nested),
  position: needed(POSITION, (event) => event.position),
  resourceType: needed(word(RESOURCE_TYPES), (event) => event.resourceType),
  rows: optional(list(ROWS), (event) => event.rows),
  seenAs: optional(SEEN_AS, (event) => event.seenAs),
  table: optional(TEXT, (event) => event.table),
  tables: optional(list(TEXT), (event) => event.tables),
  timestamp: needed(TIME, (event) => event),
  v: needed(VERSION, () => 1),
  vaultID: needed(VAULT, (event) => event),
})
