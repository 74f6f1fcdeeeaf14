/** A storage in which others are quicker: before one of its calls, inside a transaction too, something else is done first. */
import type { Storage, StorageHandle } from '../../../src/core/ports/storage.ts'

/** A moment that something can be done before: a transaction begins, or rows of a table are about to be changed. */
export interface Moment {
  readonly method: 'begin' | 'update' | 'delete'
  /** The table, where there is one. */
  readonly table: string | undefined
}

/** What is done, once. */
export interface Interposed {
  isDue(moment: Moment): boolean
  work(): Promise<void>
}

/** A storage, and how to get before its calls. */
export interface InterposedStorage {
  readonly storage: StorageHandle
  /** Does this once, before the first call that it is due before; answers whether that has come. */
  interpose(interposed: Interposed): () => boolean
}

/** Wraps a storage. */
export function interposedStorage(sound: StorageHandle): InterposedStorage {
  let waiting: Interposed | undefined

  async function before(method: Moment['method'], table?: string): Promise<void> {
    const due = waiting
    if (due?.isDue({ method, table }) !== true) return
    waiting = undefined
    await due.work()
  }

  function wrap(inner: Storage): Storage {
    return {
      ...inner,
      async update(table, patches) {
        await before('update', table)
        return inner.update(table, patches)
      },
      async delete(table, doomed) {
        await before('delete', table)
        return inner.delete(table, doomed)
      },
      async transaction(work) {
        await before('begin')
        return inner.transaction((within) => work(wrap(within)))
      },
    }
  }

  return {
    storage: { ...sound, ...wrap(sound) },
    interpose(interposed) {
      waiting = interposed
      return () => waiting !== interposed
    },
  }
}
