/** The revealed values: each in one Map of this tab, for 60 seconds. Nothing else keeps one. */
import { createStore } from '../app/store.ts'

/** A value that was revealed. */
export interface RevealedValue {
  readonly value: unknown
  /** Milliseconds since 1970. */
  readonly until: number
}

/** Time for which a value is shown, in milliseconds. */
export const REVEALED_MS = 60_000
/** Time after which a hidden tab forgets, in milliseconds. */
const HIDDEN_MS = 5 * 60_000

const values = new Map<string, RevealedValue>()

/** Counts the changes of the Map: what draws revealed values watches it. */
export const revealedChanges = createStore(0)

/** Returns the revealed value of a cell; undefined if it is not revealed now. */
export function revealedOf(table: string, id: string, column: string): RevealedValue | undefined {
  const found = values.get(keyOf(table, id, column))
  return found !== undefined && found.until > Date.now() ? found : undefined
}

/** The number of cells that are revealed now. */
export function revealedCount(): number {
  return values.size
}

/** Shows a value for 60 seconds. */
export function keepRevealed({ table, id, column }: { table: string; id: string; column: string }, value: unknown): void {
  const key = keyOf(table, id, column)
  const until = Date.now() + REVEALED_MS
  values.set(key, { value, until })
  changed()
  // It can have been revealed again meanwhile. The timer keeps no copy of the value.
  setTimeout(() => {
    if (values.get(key)?.until === until) remove(key)
  }, REVEALED_MS)
}

/** Hides the value of one cell. */
export function hideRevealed(table: string, id: string, column: string): void {
  remove(keyOf(table, id, column))
}

/** Hides all. */
export function forgetRevealed(): void {
  if (values.size === 0) return
  values.clear()
  changed()
}

function remove(key: string): void {
  if (values.delete(key)) changed()
}

function changed(): void {
  revealedChanges.set(revealedChanges.get() + 1)
}

function keyOf(...parts: readonly string[]): string {
  return JSON.stringify(parts)
}

let hiddenTimer: ReturnType<typeof setTimeout> | undefined
let hiddenSince = 0

document.addEventListener('visibilitychange', () => {
  clearTimeout(hiddenTimer)
  if (document.hidden) {
    hiddenSince = Date.now()
    hiddenTimer = setTimeout(forgetRevealed, HIDDEN_MS)
    return
  }
  // Browsers delay the timers of a hidden tab.
  if (Date.now() - hiddenSince >= HIDDEN_MS) forgetRevealed()
  for (const [key, { until }] of values) if (until <= Date.now()) remove(key)
})
// The page can be kept for the back button.
addEventListener('pagehide', forgetRevealed)
