/** What was told inside a transaction that may still be undone, to be told again outside, in its order. */
import type { EventDraft } from '../audit/event.ts'
import { type Outcome, UNCERTAIN, UNDONE } from '../audit/outcome.ts'
import type { Tell } from './unit-of-work.ts'

export class ToldInside {
  /** By what was told: one that is told again, in another lane, is the same. */
  readonly #told = new Map<EventDraft | Tell, (ending: Outcome) => EventDraft>()

  /** An event of what was read, refused or failed. */
  note(event: EventDraft): void {
    this.#told.set(event, () => event)
  }

  changed(tell: Tell): void {
    this.#told.set(tell, (ending) => tell(ending, ending))
  }

  /** The same events once the transaction has failed: what was read was read, what was refused was refused, what was changed is not, or nobody knows. */
  afterFailure(isUndone: boolean): EventDraft[] {
    return [...this.#told.values()].map((retell) => retell(isUndone ? UNDONE : UNCERTAIN))
  }
}
