/** A storage whose calls fail when a test says so, and that counts them; inside transactions too. */
import type { PhysicalTable, Row, Storage, StorageHandle } from '../../../src/core/ports/storage.ts'

/** What a call was about: the port's method, or the moment a transaction begins or is about to be committed. */
export interface Call {
  readonly method: Exclude<keyof Storage, 'transaction'> | 'begin' | 'commit' | 'committed'
  /** The table, where there is one. */
  readonly table: string | undefined
}

/** What to throw in place of making a call; undefined lets it through. A fault of `committed` comes after the commit. */
export type FaultOf = (call: Call) => Error | undefined

/** A storage on trial. */
export interface FaultyStorage {
  readonly storage: StorageHandle
  /** Sets the faults from now on; nothing fails until then. */
  fail(faultOf: FaultOf): void
  /** Lets every call through again. */
  mend(): void
  /** Every row of every table that was prepared, read past the faults. */
  dump(): Promise<Map<string, readonly Row[]>>
}

/** Wraps a storage. */
export function faultyStorage(sound: StorageHandle): FaultyStorage {
  let faultOf: FaultOf = () => undefined
  const tables = new Set<string>()

  function assertSound(method: Call['method'], table?: string): void {
    const fault = faultOf({ method, table })
    if (fault !== undefined) throw fault
  }

  function wrap(inner: Storage): Storage {
    return {
      async prepare(definitions: readonly PhysicalTable[]) {
        assertSound('prepare')
        await inner.prepare(definitions)
        for (const { name } of definitions) tables.add(name)
      },
      async reserveIds(table, count) {
        assertSound('reserveIds', table)
        return inner.reserveIds(table, count)
      },
      async insert(table, rows) {
        assertSound('insert', table)
        return inner.insert(table, rows)
      },
      async get(table, ids) {
        assertSound('get', table)
        return inner.get(table, ids)
      },
      async find(table, filter, page) {
        assertSound('find', table)
        return inner.find(table, filter, page)
      },
      async update(table, patches) {
        assertSound('update', table)
        return inner.update(table, patches)
      },
      async delete(table, doomed) {
        assertSound('delete', table)
        return inner.delete(table, doomed)
      },
      async measure(table, filter, measures) {
        assertSound('measure', table)
        return inner.measure(table, filter, measures)
      },
      async transaction(work) {
        assertSound('begin')
        const answer = await inner.transaction(async (within) => {
          const found = await work(wrap(within))
          assertSound('commit')
          return found
        })
        assertSound('committed')
        return answer
      },
    }
  }

  const handle = {
    ...wrap(sound),
    transactions: sound.transactions,
    joinTransaction: (hostTransaction: unknown) => wrap(sound.joinTransaction(hostTransaction)),
    close: () => sound.close(),
  }
  return {
    storage: handle,
    fail(faults) {
      faultOf = faults
    },
    mend() {
      faultOf = () => undefined
    },
    async dump() {
      const found = new Map<string, readonly Row[]>()
      for (const table of [...tables].sort()) {
        found.set(table, await sound.find(table, { kind: 'every' }, { order: 'up', limit: 100_000 }))
      }
      return found
    },
  }
}
