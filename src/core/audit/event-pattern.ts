/** Recognizes the canonical text of most events without parsing it. What a verification needs of an event is read off the text. */
import { MAX_CHAINS } from '../limits.ts'
import type { ChainedEvent } from './event.ts'
import { ACCESS_TYPES, ACTION_TYPES, ACTOR_TYPES, AUTH_MODES, RESOURCE_TYPES } from './event-shape.ts'

/** The members of an event by which it is chained. */
export type EventLinks = Pick<ChainedEvent, 'position' | 'changeID' | 'timestamp' | 'vaultID'>

/** Longer text is parsed: a pattern needs memory for each escape and each item in it. */
const MAX_MATCHED = 1_000_000

/*
 * Parts of the pattern, which captures the links in their order. It matches only text that `writeEvent` writes of an event that `eventShape` accepts, and leaves out what is
 * rare: escapes other than of quotes and backslashes, and numbers of 15 digits and more. Such text is parsed.
 */
const PLAIN = String.raw`[\x20\x21\x23-\x5b\x5d-\x7f]*`
const TEXT = String.raw`"${PLAIN}(?:\\["\\]${PLAIN})*"`
const COUNT = String.raw`[1-9]\d{0,13}`
const CODE = String.raw`[1-5]\d\d`
const RESOURCE_TYPE = oneOf(RESOURCE_TYPES)
const ROWS = object([
  ['runs', list(String.raw`\[${COUNT},${COUNT}\]`)],
  ['table', TEXT],
])

const CONTEXT = object([
  ['accessType', oneOf(ACCESS_TYPES)],
  ['actor', TEXT],
  ['actorType', oneOf(ACTOR_TYPES)],
  ['authMode', oneOf(AUTH_MODES)],
  ['bearerTokenContextID?', TEXT],
  ['clientTraceID?', TEXT],
  ['ipAddress', TEXT],
  ['jwtID', TEXT],
  ['keyID?', TEXT],
  ['origin?', TEXT],
  ['requestID', TEXT],
  ['sessionID?', TEXT],
  ['subject?', TEXT],
  ['traceID', TEXT],
  ['userEmail?', TEXT],
])

const NESTED = object([
  ['code', CODE],
  ['content?', TEXT],
  ['contentOf?', `(?:0|${COUNT})`],
  ['items?', String.raw`(?:[2-9]|[1-9]\d{1,13})`],
  ['message', TEXT],
  ['resourceType', RESOURCE_TYPE],
  ['rows?', ROWS],
])

const EVENT = new RegExp(
  `^${object([
    ['accountID', TEXT],
    ['action', oneOf(ACTION_TYPES)],
    ['changeID', `"(${PLAIN})"`],
    ['code', CODE],
    ['content?', TEXT],
    ['context', CONTEXT],
    ['credential?', TEXT],
    ['message', TEXT],
    ['nested?', list(NESTED)],
    [
      'position',
      object([
        ['chain', String.raw`([1-9]\d{0,4})`],
        ['previous', '"((?:[0-9a-f]{64})?)"'],
        ['sequence', String.raw`([1-9]\d{0,9})`],
      ]),
    ],
    ['resourceType', RESOURCE_TYPE],
    ['rows?', list(ROWS)],
    ['table?', TEXT],
    ['tables?', list(TEXT)],
    ['timestamp', String.raw`"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z)"`],
    ['v', '1'],
    ['vaultID', `"(${PLAIN})"`],
  ])}$`,
)

/** Returns the links of the event of canonical text that `eventShape` accepts. Undefined says nothing: the text must be parsed. */
export function matchEvent(text: string): EventLinks | undefined {
  const found = text.length > MAX_MATCHED ? null : EVENT.exec(text)
  if (found === null) return undefined
  const [, changeID = '', chain, previous = '', sequence, timestamp = '', vaultID = ''] = found
  const position = { chain: Number(chain), sequence: Number(sequence), previous }
  return position.chain > MAX_CHAINS || position.sequence > 0xffff_ffff ? undefined : { position, changeID, timestamp, vaultID }
}

function oneOf(words: readonly string[]): string {
  return `"(?:${words.join('|')})"`
}

/** An object with these members, in this order. The name of an optional one ends with a question mark. The first is required. */
function object(members: readonly (readonly [name: string, pattern: string])[]): string {
  const parts = members.map(([name, pattern], index) => {
    const comma = index === 0 ? '' : ','
    return name.endsWith('?') ? `(?:${comma}"${name.slice(0, -1)}":${pattern})?` : `${comma}"${name}":${pattern}`
  })
  return String.raw`\{${parts.join('')}\}`
}

function list(item: string): string {
  return String.raw`\[(?:${item}(?:,${item})*)?\]`
}
