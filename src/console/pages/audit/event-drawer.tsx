/** One event, opened: who, what, why, from where, and its request with every value replaced. */
import type { ComponentChildren } from 'preact'
import { perform } from '../../app/api.ts'
import { Link } from '../../app/link.tsx'
import { tableOf } from '../../app/session.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure } from '../../ui/failure.tsx'
import { useLoaded } from '../../ui/loaded.ts'
import { actionWord } from './action-groups.ts'
import { type AuditEvent, actorOf, type EventList, isRefused, LEVEL_WORDS } from './audit-event.ts'

/** The most resources that are listed. */
const MOST = 100

/** Draws it beside the page. */
export function EventDrawer({
  event,
  actors,
  onClose,
}: {
  readonly event: AuditEvent
  readonly actors: EventList['actors']
  onClose(): void
}) {
  // The list has few of its resources.
  const { changeID } = event.context
  const query = { filterOps: { context: { changeID } }, limit: 1, resources: MOST }
  const [loaded, reload] = useLoaded((signal) => perform('listEvents', { query }, { signal }), [changeID])
  const { context, request, response } = loaded.value?.events[0] ?? event
  const content = response.data?.content ?? ''
  const rows: readonly (readonly [string, ComponentChildren])[] = [
    ['Time', response.timestamp],
    ['Actor', actorOf(event, actors)],
    ['Key', context.keyID],
    ['Acting for', context.subject ?? request.userEmail],
    ['Action', actionWord(request.actionType)],
    ['Shown', response.level === undefined ? undefined : LEVEL_WORDS[response.level]],
    ['Purpose', context.purpose],
    ['Seen as', request.seenAs?.roles.join(', ')],
    ['Result', isRefused(event) ? `refused ${response.code}` : `ok ${response.code}`],
    ['Reason', response.message],
    ['From', context.ipAddress],
    ['Origin', context.origin],
    ['Signed in by', actionWord(context.authMode)],
    ['Request', context.requestID],
    ['Trace', context.traceID],
    ['Client trace', context.clientTraceID],
    ['Event', changeID],
  ]
  return (
    <Dialog kind="drawer" label="Event" onClose={onClose}>
      <div class="dialog">
        <header class="drawer-head">
          <h2>{actionWord(request.actionType)}</h2>
          <button type="button" class="button quiet" autofocus onClick={onClose}>
            Close
          </button>
        </header>
        <dl class="pairs">
          {rows.map(([name, value]) =>
            value === undefined || value === '' ? null : (
              <div class="pair" key={name}>
                <dt>{name}</dt>
                <dd dir="auto">{value}</dd>
              </div>
            ),
          )}
        </dl>
        <section class="section" aria-label="On">
          <h3>On {(request.resourceCount ?? request.resources.length).toLocaleString('en')}</h3>
          <ul class="list resources">
            {request.resources.map((resource) => (
              <li key={resource}>
                <Resource of={resource} among={request.resources} />
              </li>
            ))}
          </ul>
        </section>
        {content === '' ? null : (
          <section class="section" aria-label="Request">
            <h3>Request</h3>
            <pre class="content">{printed(content)}</pre>
          </section>
        )}
        {loaded.failure === undefined ? null : <Failure error={loaded.failure} retry={reload} />}
      </div>
    </Dialog>
  )
}

/** A record opens its page where the event names one table, which the caller knows. */
function Resource({ of, among }: { readonly of: string; readonly among: readonly string[] }) {
  const tables = among.flatMap((one) => (one.startsWith('TABLE/') ? [one.slice('TABLE/'.length)] : []))
  const [type = '', id = ''] = of.split('/')
  const [table = ''] = tables
  const canOpen = type === 'RECORD' && tables.length === 1 && tableOf(table) !== undefined
  return canOpen ? (
    <Link class="mono" to={['tables', table, id]}>
      {of}
    </Link>
  ) : (
    <span class="mono">{of}</span>
  )
}

function printed(content: string): string {
  try {
    return JSON.stringify(JSON.parse(content), null, 2)
  } catch {
    return content
  }
}
