/** The filters of the trail: the time, the action, and whatever an event says of its request. What is compared is sent in a body. */
import { useId } from 'preact/hooks'
import { announce } from '../../app/announce.ts'
import { actionWord, GROUPS } from './action-groups.ts'
import type { TimeRange } from './time-line.tsx'

/** A filter as the page has it; an empty text filters nothing. */
export interface Filter {
  readonly action: string
  readonly actor: string
  readonly purpose: string
  readonly resource: string
  readonly request: string
  readonly address: string
}

export const NO_FILTER: Filter = { action: '', actor: '', purpose: '', resource: '', request: '', address: '' }

/** Returns it as the vault takes it. A name of a key stands for its id. */
export function filterOps(filter: Filter, actors: Readonly<Record<string, string>>): object {
  const named = Object.entries(actors).find(([, name]) => name === filter.actor)?.[0]
  const context = { actor: named ?? filter.actor, purpose: filter.purpose, requestID: filter.request, ipAddress: filter.address }
  return { context, actionType: filter.action, resourceIDs: filter.resource }
}

const HOUR = 3_600_000
const SPANS: readonly (readonly [name: string, ms: number])[] = [
  ['Last hour', HOUR],
  ['Last 24 hours', 24 * HOUR],
  ['Last 7 days', 7 * 24 * HOUR],
  ['Last 30 days', 30 * 24 * HOUR],
]

/** Returns the range up to now. */
export function rangeUpToNow(span = 24 * HOUR): TimeRange {
  const to = Date.now() + 1
  return { from: to - span, to }
}

/** What the bar is made of. */
export interface FilterBarProps {
  readonly range: TimeRange
  readonly filter: Filter
  readonly actors: Readonly<Record<string, string>>
  onRange(range: TimeRange): void
  onFilter(filter: Filter): void
}

/** Draws the bar. A text filters once it is whole: after Enter, or when the field is left. */
export function FilterBar({ range, filter, actors, onRange, onFilter }: FilterBarProps) {
  const names = useId()
  const text = (member: keyof Filter, label: string, list?: string) => (
    <label class="field" key={member}>
      <span>{label}</span>
      <input
        class="input"
        list={list}
        autocomplete="off"
        spellcheck={false}
        value={filter[member]}
        onChange={({ currentTarget }) => onFilter({ ...filter, [member]: currentTarget.value.trim() })}
      />
    </label>
  )
  const time = (member: keyof TimeRange, label: string) => (
    <label class="field" key={member}>
      <span>{label}</span>
      <input
        class="input"
        type="datetime-local"
        step={1}
        value={toLocal(range[member])}
        onChange={({ currentTarget }) => {
          const chosen = { ...range, [member]: Date.parse(currentTarget.value) }
          if (chosen.from < chosen.to) return onRange(chosen)
          // The field says what is filtered by.
          currentTarget.value = toLocal(range[member])
          announce('The time has to begin before it ends')
        }}
      />
    </label>
  )
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label class="field">
        <span>Time</span>
        <select
          class="input"
          value=""
          onChange={({ currentTarget }) => {
            if (currentTarget.value !== '') onRange(rangeUpToNow(Number(currentTarget.value)))
          }}
        >
          <option value="">Chosen</option>
          {SPANS.map(([name, ms]) => (
            <option value={ms} key={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {time('from', 'From')}
      {time('to', 'To')}
      <label class="field">
        <span>Action</span>
        <select
          class="input"
          value={filter.action}
          onChange={({ currentTarget }) => onFilter({ ...filter, action: currentTarget.value })}
        >
          <option value="">Every action</option>
          {GROUPS.map(({ name, actions }) => (
            <optgroup label={name} key={name}>
              {actions.map((action) => (
                <option value={action} key={action}>
                  {actionWord(action)}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      {text('actor', 'Actor', names)}
      {text('purpose', 'Purpose')}
      <details class="more-filters">
        <summary>More filters</summary>
        <div class="filters">
          {text('resource', 'On, such as RECORD/…')}
          {text('request', 'Request id')}
          {text('address', 'From address')}
        </div>
      </details>
      <datalist id={names}>
        {Object.entries(actors).map(([key, name]) => (
          <option value={name} key={key} />
        ))}
      </datalist>
    </form>
  )
}

/** Returns a time as the field of the browser has it, in its zone. */
function toLocal(ms: number): string {
  const at = new Date(ms)
  return new Date(ms - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
