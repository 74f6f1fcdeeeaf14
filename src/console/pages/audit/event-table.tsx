/** The events that the filter and the time leave, the newest first. */
import { actionWord, groupOf } from './action-groups.ts'
import { type AuditEvent, actorOf, type EventList, isRefused, LEVEL_WORDS, targetOf, timeOf } from './audit-event.ts'

/** What the table is made of. */
export interface EventTableProps {
  readonly events: readonly AuditEvent[]
  readonly actors: EventList['actors']
  onOpen(event: AuditEvent): void
}

/** Draws it. */
export function EventTable({ events, actors, onOpen }: EventTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keys.
    <section class="scrolls" aria-label="Events" tabIndex={0}>
      <table class="plain-table events">
        <thead>
          <tr>
            <th>time</th>
            <th>actor</th>
            <th>action</th>
            <th>on</th>
            <th>purpose</th>
            <th>from</th>
            <th class="end">result</th>
          </tr>
        </thead>
        <tbody>
          {events.map((event) => {
            const { context, request, response } = event
            return (
              <tr key={context.changeID}>
                <td>
                  <button type="button" class="time" onClick={() => onOpen(event)}>
                    {timeOf(response.timestamp)}
                  </button>
                </td>
                <td dir="auto">{actorOf(event, actors)}</td>
                <td>
                  <i class={`swatch ${groupOf(request.actionType).color.slice(2)}`} aria-hidden="true" />
                  {actionWord(request.actionType)}
                </td>
                <td class="mono faint">{targetOf(event)}</td>
                <td dir="auto">{context.purpose}</td>
                <td class="faint">{context.ipAddress}</td>
                <td class="end">
                  {isRefused(event) ? (
                    <span class="chip bad">refused {response.code}</span>
                  ) : (
                    <span class="faint">{response.level === undefined ? 'ok' : LEVEL_WORDS[response.level]}</span>
                  )}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}
