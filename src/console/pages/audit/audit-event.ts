/** Events as the page shows them: whose they are, what they were about, and how much was shown. */
import type { OperationResult } from '../../../index.ts'
import type { Level } from '../../app/contract.ts'

/** A page of events. */
export type EventList = OperationResult<'listEvents'>

/** An event. */
export type AuditEvent = EventList['events'][number]

/** The lowest status of an event that did not succeed. */
const FIRST_FAILURE = 400

/** True for an event that did not succeed. */
export function isRefused({ response }: AuditEvent): boolean {
  return response.code >= FIRST_FAILURE
}

/** Returns who it was: the name of their key, or the actor. */
export function actorOf({ context }: AuditEvent, actors: EventList['actors'] = {}): string {
  const { keyID, actor } = context
  return (keyID !== undefined && Object.hasOwn(actors, keyID) ? actors[keyID] : undefined) ?? actor
}

/** How levels are called. */
export const LEVEL_WORDS: Readonly<Record<Level, string>> = {
  PLAIN_TEXT: 'in plain text',
  MASKED: 'masked',
  REDACTED: 'redacted',
}

/** Letters of an id: enough to recognize it. */
const ID_LETTERS = 8

/** Returns what an event was about, in short: a table, a record, and how many more. */
export function targetOf({ request: { resources, resourceCount = resources.length } }: AuditEvent): string {
  const names = resources.map((resource) => {
    const [type = '', id = ''] = resource.split('/')
    if (type === 'TABLE') return id
    return type === 'VAULT' ? 'vault' : id.slice(0, ID_LETTERS)
  })
  const more = resourceCount - names.length
  return more > 0 ? `${names.join(' · ')} and ${more.toLocaleString('en')} more` : names.join(' · ')
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** Returns the time of an event in the zone of this browser; with its day, unless that is today. */
export function timeOf(timestamp: string, now = new Date()): string {
  const at = new Date(timestamp)
  const isToday = at.toDateString() === now.toDateString()
  return isToday ? clock.format(at) : `${day.format(at)} ${clock.format(at)}`
}
