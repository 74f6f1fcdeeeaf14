/** The journal inside a transaction: events stand and fall with it, and those that must not are told again outside. */
import type { EventDraft } from '../audit/event.ts'
import { uncertain, undone } from '../audit/outcome.ts'
import type { Storage } from '../ports/storage.ts'
import { insertInOrder } from './commit.ts'
import type { EventStore } from './event-store.ts'
import type { Journal } from './journal.ts'

/** What was told inside a transaction that may still be undone. */
export class ToldInside {
  /** Whether each event tells of a change. One that is told again, in another lane, is the same event. */
  readonly #events = new Map<EventDraft, boolean>()

  add(event: EventDraft, isChange: boolean): void {
    this.#events.set(event, isChange)
  }

  /** The same events once the transaction has failed: what was read was read, what was refused was refused, what was changed is not, or nobody knows. */
  afterFailure(isUndone: boolean): EventDraft[] {
    const changed = isUndone ? undone : uncertain
    return [...this.#events].map(([event, isChange]) => (isChange ? changed(event) : event))
  }
}

/** Where events of one transaction go. */
export interface InnerPorts {
  readonly storage: Storage
  readonly events: EventStore | undefined
  /** Appends to the transaction's lane. */
  append(storage: Storage, drafts: readonly EventDraft[]): Promise<void>
  readonly told: ToldInside
}

/** Every call runs in a savepoint: a change that fails and is caught undoes itself alone, and appends never interleave. */
export function innerJournal({ storage, events, append, told }: InnerPorts): Journal {
  async function tell(inner: Storage, event: EventDraft): Promise<void> {
    if (events !== undefined) await append(inner, [event])
  }
  return {
    async insert(batches, event) {
      await storage.transaction(async (inner) => {
        await insertInOrder(inner, batches)
        await tell(inner, event)
      })
      told.add(event, true)
    },
    async change(work, describe) {
      const [answer, event] = await storage.transaction(async (inner) => {
        const found = await work(inner)
        const described = describe(found)
        await tell(inner, described)
        return [found, described] as const
      })
      told.add(event, true)
      return answer
    },
    async note(event) {
      told.add(event, false)
      if (events !== undefined) await storage.transaction((inner) => tell(inner, event))
    },
  }
}
