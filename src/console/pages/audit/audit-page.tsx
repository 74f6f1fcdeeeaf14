/** The page audit: events over time, filtered, one of them opened, and the check of the chain. */
import './audit.css'
import { useRef, useState } from 'preact/hooks'
import { perform } from '../../app/api.ts'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { useLoaded } from '../../ui/loaded.ts'
import { Page } from '../../ui/page.tsx'
import type { AuditEvent, EventList } from './audit-event.ts'
import { CheckChain } from './check-chain.tsx'
import { EventDrawer } from './event-drawer.tsx'
import { EventTable } from './event-table.tsx'
import { FilterBar, filterOps, NO_FILTER, rangeUpToNow } from './filters.tsx'
import { TimeLine, type TimeRange } from './time-line.tsx'

const BINS = 96
const PAGE = 50
/** Resources that the table shows of each event. */
const RESOURCES = 2

/** Draws the page. */
export function AuditPage() {
  const [range, setRange] = useState<TimeRange>(rangeUpToNow)
  const [filter, setFilter] = useState(NO_FILTER)
  const [actors, setActors] = useState<Readonly<Record<string, string>>>({})
  const [opened, setOpened] = useState<AuditEvent | undefined>()
  const [older, setOlder] = useState<EventList | undefined>()
  const ops = filterOps(filter, actors)
  const from = new Date(range.from).toISOString()
  const to = new Date(range.to).toISOString()
  const list = async (signal?: AbortSignal, afterOps?: EventList['nextOps']): Promise<EventList> => {
    const query = {
      filterOps: { ...ops, startTime: from, endTime: to },
      limit: PAGE,
      resources: RESOURCES,
      ...(afterOps === undefined ? {} : { afterOps }),
    }
    const found = await perform('listEvents', { query }, { signal })
    setActors((known) => ({ ...known, ...found.actors }))
    return found
  }
  const dependencies = [range, filter]
  const [counted, countAgain] = useLoaded(
    (signal) => perform('countEvents', { from, to, bins: BINS, filter: ops }, { signal }),
    dependencies,
  )
  // Of the list that is shown: an older page of an earlier one comes too late.
  const reading = useRef<AbortSignal | undefined>(undefined)
  const [listed, listAgain] = useLoaded(async (signal) => {
    setOlder(undefined)
    reading.current = signal
    return list(signal)
  }, dependencies)
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const events = [...(listed.value?.events ?? []), ...(older?.events ?? [])]
  const next = older === undefined ? listed.value?.nextOps : older.nextOps
  const showOlder = async (): Promise<void> => {
    const signal = reading.current
    setFailure(undefined)
    setBusy(true)
    try {
      const found = await list(signal, next)
      setOlder({ ...found, events: [...(older?.events ?? []), ...found.events] })
    } catch (error) {
      if (signal?.aborted !== true) setFailure(error)
    }
    setBusy(false)
  }
  const failed = counted.failure ?? listed.failure ?? failure
  return (
    <Page
      title="Audit"
      head={
        <>
          <span class="spacer" />
          <CheckChain />
        </>
      }
      keys={[['↵', 'open event']]}
    >
      {counted.value === undefined ? (
        <div class="time-line skeleton" />
      ) : (
        <TimeLine bins={counted.value.bins} onChoose={setRange} />
      )}
      <FilterBar range={range} filter={filter} actors={actors} onRange={setRange} onFilter={setFilter} />
      {failed === undefined ? null : (
        <Failure
          error={failed}
          retry={() => {
            setFailure(undefined)
            countAgain()
            listAgain()
          }}
        />
      )}
      {events.length === 0 && !listed.isLoading && failed === undefined ? (
        <Empty title="No event matches.">
          <p>In this time nothing was recorded that the filters leave.</p>
        </Empty>
      ) : (
        <EventTable events={events} actors={actors} onOpen={setOpened} />
      )}
      {next === undefined ? null : (
        <button type="button" class="button older" disabled={isBusy} onClick={() => void showOlder()}>
          Show {PAGE} older
        </button>
      )}
      {opened === undefined ? null : <EventDrawer event={opened} actors={actors} onClose={() => setOpened(undefined)} />}
    </Page>
  )
}
