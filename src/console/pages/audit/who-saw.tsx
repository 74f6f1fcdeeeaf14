/** Who saw a record: its events, in which neighbors of one actor, act and purpose are one line. */
import './who-saw.css'
import { perform } from '../../app/api.ts'
import { currentSession } from '../../app/session.ts'
import { Failure } from '../../ui/failure.tsx'
import { useLoaded } from '../../ui/loaded.ts'
import { type AuditEvent, actorOf, type EventList, isRefused, LEVEL_WORDS, timeOf } from './audit-event.ts'

/** Events that are looked at. */
const MOST = 100

/** What an actor did with the record, and how often in a row. */
interface Visit {
  readonly event: AuditEvent
  readonly actor: string
  readonly act: string
  readonly times: number
}

const ACTS: Readonly<Record<string, string>> = {
  INSERT: 'inserted',
  UPDATE: 'changed',
  DELETE: 'deleted',
  EXPIRE: 'expired',
  BATCH: 'in a batch',
  QUERY: 'queried',
  TOKENIZE: 'tokenized',
  GET_BY_TOKENS: 'read by token',
  UPLOAD_FILE: 'file uploaded',
  OPEN_FILE: 'file opened',
  DELETE_FILE: 'file deleted',
  FORGET: 'forgotten',
}

/** Returns what an event did with the record. A page of records is listed; a single one is opened. */
function actOf(event: AuditEvent): string {
  const { actionType, resourceType, resources, resourceCount = resources.length, seenAs } = event.request
  const { level } = event.response
  const shown = level === undefined ? '' : ` ${LEVEL_WORDS[level]}`
  if (isRefused(event)) return 'refused'
  if (actionType === 'DETOKENIZE') return resourceType === 'RECORD' ? 'revealed' : `detokenized${shown}`
  // Its table is a resource too.
  if (actionType === 'GET') return `${seenAs !== undefined ? 'previewed' : resourceCount > 2 ? 'listed' : 'opened'}${shown}`
  return `${ACTS[actionType] ?? actionType.toLowerCase().replaceAll('_', ' ')}${shown}`
}

function visitsOf({ events, actors }: EventList): Visit[] {
  const visits: Visit[] = []
  for (const event of events) {
    const [actor, act] = [actorOf(event, actors), actOf(event)]
    const last = visits.at(-1)
    const isSame = last?.actor === actor && last.act === act && last.event.context.purpose === event.context.purpose
    if (isSame) visits[visits.length - 1] = { ...last, times: last.times + 1 }
    else visits.push({ event, actor, act, times: 1 })
  }
  return visits
}

/** Draws it, for callers who may read the trail; nothing for others. */
export function WhoSaw({ id }: { readonly id: string }) {
  return currentSession().caller.can.audit ? <Visits id={id} /> : null
}

function Visits({ id }: { readonly id: string }) {
  const query = { filterOps: { resourceIDs: [`RECORD/${id}`] }, limit: MOST, resources: 1 }
  const [loaded, reload] = useLoaded((signal) => perform('listEvents', { query }, { signal }), [id])
  const visits = loaded.value === undefined ? [] : visitsOf(loaded.value)
  return (
    <section class="section who-saw" aria-label="Who saw this record" aria-busy={loaded.isLoading}>
      <h2>Who saw this record</h2>
      {loaded.failure === undefined ? null : <Failure error={loaded.failure} retry={reload} />}
      <ol>
        {visits.map(({ event, actor, act, times }) => (
          <li key={event.context.changeID}>
            <p>
              <b dir="auto">{actor}</b>, {act}
              {times === 1 ? '' : ` ${times} times`}
            </p>
            <p class="faint">
              <time dateTime={event.response.timestamp}>{timeOf(event.response.timestamp)}</time>
              {event.context.purpose === undefined ? null : <span dir="auto"> · {event.context.purpose}</span>}
            </p>
          </li>
        ))}
      </ol>
      {loaded.value !== undefined && visits.length === 0 ? <p class="faint">No event names it.</p> : null}
    </section>
  )
}
