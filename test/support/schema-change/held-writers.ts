/** A storage that measures how long its changes keep writers waiting, by the CPU of this thread: the load of the machine does not count. */
import { threadCpu } from '../../../benchmarks/measuring/event-loop-watch.ts'
import type { Storage, StorageHandle } from '../../../src/core/ports/storage.ts'

/** What writers wait for: a transaction from its first lock or change on, or, on an engine with one writer, work of the database on a whole table. */
export type Hold = 'transaction' | 'prepare' | 'drop'

/** Returns the storage. `note` is called after each hold, with its milliseconds of CPU. */
export function measuringHolds(handle: StorageHandle, note: (hold: Hold, cpuMs: number) => void): StorageHandle {
  const isSerial = handle.transactions === 'serial'
  async function held<T>(hold: Hold, isHeld: boolean, work: () => Promise<T>): Promise<T> {
    if (!isHeld) return work()
    const began = threadCpu()
    try {
      return await work()
    } finally {
      note(hold, (threadCpu() - began) / 1000)
    }
  }
  function within(inner: Storage, begin: () => void): Storage {
    const begun = <Args extends unknown[], T>(call: (...args: Args) => T): ((...args: Args) => T) => {
      return (...args) => {
        begin()
        return call(...args)
      }
    }
    return {
      ...inner,
      insert: begun(inner.insert),
      update: begun(inner.update),
      delete: begun(inner.delete),
      commit: begun(inner.commit),
      lock: begun(inner.lock),
      transaction: (work, options) => inner.transaction((nested) => work(within(nested, begin)), options),
    }
  }
  return {
    ...handle,
    prepare: (tables, options) => held('prepare', isSerial, () => handle.prepare(tables, options)),
    drop: (targets, options) => held('drop', isSerial, () => handle.drop(targets, options)),
    commit: (changes, options) => held('transaction', true, () => handle.commit(changes, options)),
    async transaction(work, options) {
      let began: number | undefined
      const begin = () => {
        began ??= threadCpu()
      }
      try {
        return await handle.transaction((inner) => {
          // The one writer of an engine holds the file from the beginning.
          if (isSerial) begin()
          return work(within(inner, begin))
        }, options)
      } finally {
        if (began !== undefined) note('transaction', (threadCpu() - began) / 1000)
      }
    },
  }
}
