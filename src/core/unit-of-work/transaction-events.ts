/** The events recorded inside a transaction that may still be rolled back, in order, so that they can be recorded again outside. */
import type { EventDraft } from '../audit/event.ts'
import { OUTCOME_UNKNOWN, type Outcome, ROLLED_BACK } from '../audit/outcome.ts'
import type { BuildEvent } from './unit-of-work.ts'

/** Keeps events in order; one that is recorded again, in another chain, counts once. */
export class TransactionEvents {
  readonly #recorded = new Map<EventDraft | BuildEvent, (ending: Outcome) => EventDraft>()

  /** Keeps the event of a read, a refusal or a failure: a rollback does not change it. */
  addEvent(event: EventDraft): void {
    this.#recorded.set(event, () => event)
  }

  /** Keeps the event of a change: a rollback changes its outcome. */
  addChange(build: BuildEvent): void {
    this.#recorded.set(build, build)
  }

  /** The same events after the transaction failed. Changes are rolled back or, where the storage was lost during COMMIT, of unknown outcome. */
  afterFailure(isRolledBack: boolean): EventDraft[] {
    return [...this.#recorded.values()].map((build) => build(isRolledBack ? ROLLED_BACK : OUTCOME_UNKNOWN))
  }
}
