/** A storage that runs other work before one of its calls, inside transactions too, as a faster concurrent caller would. */
import type { Storage, StorageHandle } from '../../../src/core/ports/storage.ts'

/** A call that other work can precede: the begin of a transaction, changes in one call, a look-up, an insert or a change of rows. */
export interface Moment {
  readonly method: 'begin' | 'commit' | 'find' | 'insert' | 'update' | 'delete'
  /** The table of the call; undefined if it has none. */
  readonly table: string | undefined
}

/** Work that is done once. */
export interface Interposed {
  isDue(moment: Moment): boolean
  work(): Promise<void>
}

/** A storage, and a way to run work before its calls. */
export interface InterposedStorage {
  readonly storage: StorageHandle
  /** Does the work once, before the first call for which it is due. Returns a function that says whether it was done. */
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
      async find(table, filter, page) {
        await before('find', table)
        return inner.find(table, filter, page)
      },
      async insert(table, rows) {
        await before('insert', table)
        return inner.insert(table, rows)
      },
      async update(table, patches) {
        await before('update', table)
        return inner.update(table, patches)
      },
      async delete(table, target) {
        await before('delete', table)
        return inner.delete(table, target)
      },
      async commit(changes, options) {
        await before('commit')
        return inner.commit(changes, options)
      },
      async transaction(work, options) {
        await before('begin')
        return inner.transaction((within) => work(wrap(within)), options)
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
