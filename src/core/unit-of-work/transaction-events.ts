/** The events recorded inside an open transaction, so that they can be recorded again outside if it fails. */
import { type EventDraft, OUTCOME_UNKNOWN, type Outcome, ROLLED_BACK } from '../audit/event.ts'
import type { BuildEvent } from './unit-of-work.ts'

/** A list of events in order. An event that is recorded again in another chain counts once. */
export class TransactionEvents {
  readonly #recorded = new Map<EventDraft | BuildEvent, (outcome: Outcome) => EventDraft>()

  /** Adds the event of a read, a refusal or a failure. A rollback does not change it. */
  addEvent(event: EventDraft): void {
    this.#recorded.set(event, () => event)
  }

  /** Adds the event of a change. A rollback changes its outcome. */
  addChange(build: BuildEvent): void {
    this.#recorded.set(build, build)
  }

  /** Returns the events after the transaction failed. Changes are rolled back or, if storage was lost during COMMIT, of unknown outcome. */
  afterFailure(isRolledBack: boolean): EventDraft[] {
    return [...this.#recorded.values()].map((build) => build(isRolledBack ? ROLLED_BACK : OUTCOME_UNKNOWN))
  }
}
