/** Several changes as one: each prepares what it stores before the transaction begins, and all store in it. Source: docs/inside/commits.md. */
import type { Pace } from '../pace/pace.ts'
import type { Storage } from '../ports/storage.ts'
import { mergeBatches } from './gather.ts'
import type { Batch, UnitOfWork } from './unit-of-work.ts'

/** A part of a change: it reads, seals and then changes the unit that it is given, once. */
export type ChangePart<T> = (unit: UnitOfWork) => Promise<T>

/** What changes together need of the unit that they change. */
export type ChangingUnit = Pick<UnitOfWork, 'storage' | 'change' | 'changeAfter'>

/**
 * Thrown if a part wants to store again, because what it prepared cannot be stored any more, or if it stores nothing, because of what it read.
 * Nothing is stored then: the whole is to run again, in a transaction.
 */
export const PREPARED_TOO_EARLY = new Error('what was prepared before the transaction cannot be stored in it')

/** How changes together run. */
export interface ChangingTogether {
  /** Gives the event loop its turns while parts go on. */
  readonly pace: Pick<Pace, 'worked'>
  /**
   * Inserts the rows that parts begin with, before any part changes something. The change can run again. Default: each part inserts its own, in order.
   * Not called in a part of several changes: the rows are then inserted with those of the others.
   */
  insert?(unit: UnitOfWork<Storage>, batches: readonly Batch[]): Promise<void>
  /** Runs at the end of the change, which can run again. */
  end(): void
}

/**
 * Prepares the parts one after the other, stores what they prepared in one change of the unit, in order, and returns their results. When all is
 * stored, the parts go on, one after the other. Throws the error of a part, with nothing stored.
 */
export async function changeTogether<T>(
  unit: ChangingUnit,
  parts: readonly ChangePart<T>[],
  { pace, insert, end }: ChangingTogether,
): Promise<T[]> {
  const prepared: PreparedPart<T>[] = []
  try {
    for (const part of parts) {
      const next = new PreparedPart(unit, part)
      prepared.push(next)
      await next.isPrepared
      // What it read would not be compared with what the others store.
      if (!next.isWaiting) throw PREPARED_TOO_EARLY
    }
    const storeAll = async (inner: UnitOfWork<Storage>): Promise<void> => {
      for (const part of prepared) {
        if (insert === undefined) await part.insert(inner)
        await part.store(inner)
      }
      end()
    }
    const inserts = insert === undefined ? [] : mergeBatches(prepared.map((part) => ({ batches: part.inserts })))
    if (unit.changeAfter !== undefined) await unit.changeAfter(inserts, storeAll)
    else {
      await unit.change(async (inner) => {
        await insert?.(inner, inserts)
        await storeAll(inner)
      })
    }
  } catch (error) {
    const failed = prepared.find((part) => part.failure?.error === error)
    for (const part of prepared) part.end(part === failed ? error : PREPARED_TOO_EARLY)
    // The part says what its error means.
    if (failed !== undefined) await failed.result
    throw error
  }
  const results: T[] = []
  for (const part of prepared) {
    await pace.worked()
    part.goOn()
    results.push(await part.result)
  }
  return results
}

/** What a part stores, and the functions that end its wait. */
interface Waiting {
  /** The rows that it begins with. */
  readonly inserts: readonly Batch[]
  store(unit: UnitOfWork<Storage>): Promise<void>
  goOn(): void
  end(error: unknown): void
}

/** A part that prepares itself, or that waits until the others have. */
class PreparedPart<T> {
  readonly result: Promise<T>
  /** Resolves when the part waits or has ended. Rejects with its error. */
  readonly isPrepared: Promise<unknown>
  failure: { readonly error: unknown } | undefined
  #waiting: Waiting | undefined
  #isOver = false

  constructor(unit: ChangingUnit, part: ChangePart<T>) {
    let waits: () => void = ignore
    const isWaiting = new Promise<void>((resolve) => {
      waits = resolve
    })
    const changeAfter = <R>(inserts: readonly Batch[], work: (inner: UnitOfWork<Storage>) => Promise<R>): Promise<R> => {
      if (this.#isOver || this.#waiting !== undefined) return Promise.reject(PREPARED_TOO_EARLY)
      return new Promise<R>((resolve, reject) => {
        let stored: { readonly value: R } | undefined
        this.#waiting = {
          inserts,
          async store(inner) {
            stored = { value: await work(inner) }
          },
          goOn() {
            if (stored !== undefined) resolve(stored.value)
          },
          end: reject,
        }
        waits()
      })
    }
    this.result = part({
      storage: unit.storage,
      insert: (inserts) => changeAfter(inserts, async () => {}),
      change: (work) => changeAfter([], work),
      changeAfter,
      changeInTurn: (_, { alone }) => alone(),
    })
    this.isPrepared = Promise.race([isWaiting, this.result])
  }

  /** True if it has something to store, and waits for that. */
  get isWaiting(): boolean {
    return this.#waiting !== undefined
  }

  /** The rows that it begins with. */
  get inserts(): readonly Batch[] {
    return this.#waiting?.inserts ?? []
  }

  /** Inserts the rows that it begins with. */
  insert(unit: UnitOfWork<Storage>): Promise<void> {
    return this.#attempt(() => unit.insert(this.inserts))
  }

  /** Stores the rest of what was prepared. */
  store(unit: UnitOfWork<Storage>): Promise<void> {
    return this.#attempt(async () => this.#waiting?.store(unit))
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    this.failure = undefined
    try {
      await work()
    } catch (error) {
      this.failure = { error }
      throw error
    }
  }

  /** Lets the part go on when all is stored. */
  goOn(): void {
    this.#isOver = true
    this.#waiting?.goOn()
  }

  /** Ends the wait of the part with an error. */
  end(error: unknown): void {
    this.#isOver = true
    this.#waiting?.end(error)
  }
}

function ignore(): void {}
