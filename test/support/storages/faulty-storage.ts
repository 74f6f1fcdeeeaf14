/** A storage whose calls fail on demand, inside transactions too. */
import type {
  Changes,
  LockTarget,
  PhysicalTable,
  Row,
  ScanShape,
  Storage,
  StorageHandle,
} from '../../../src/core/ports/storage.ts'

/** One call: the method of the port, or the begin or commit of a transaction. The method `commit` counts as a transaction and what is in it, after the read that it has. */
export interface Call {
  readonly method:
    | Exclude<keyof Storage, 'transaction' | 'transactions' | 'scan' | 'lock'>
    | `scan ${ScanShape}`
    | `lock ${LockTarget['kind']}`
    | 'begin'
    | 'committed'
  /** The table of the call; undefined if it has none. */
  readonly table: string | undefined
}

/** Returns the error to throw instead of making the call; undefined makes the call. The error of `committed` comes after the commit. */
export type FaultOf = (call: Call) => Error | undefined

/** A storage and its faults. */
export interface FaultyStorage {
  readonly storage: StorageHandle
  /** Sets the faults from now on. Initially nothing fails. */
  fail(faultOf: FaultOf): void
  /** Removes the faults. */
  mend(): void
  /** Every row of every prepared table, read without faults. */
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
      transactions: inner.transactions,
      async prepare(definitions: readonly PhysicalTable[], options) {
        assertSound('prepare')
        await inner.prepare(definitions, options)
        for (const { name } of definitions) tables.add(name)
      },
      async drop(targets, options) {
        assertSound('drop')
        await inner.drop(targets, options)
        for (const target of targets) if (target.kind === 'tables') for (const table of target.tables) tables.delete(table)
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
      async scan(table, filter, page) {
        assertSound(`scan ${page.shape}`, table)
        return inner.scan(table, filter, page)
      },
      async update(table, patches) {
        assertSound('update', table)
        return inner.update(table, patches)
      },
      async delete(table, target) {
        assertSound('delete', table)
        return inner.delete(table, target)
      },
      async aggregate(table, filter, aggregates) {
        assertSound('aggregate', table)
        return inner.aggregate(table, filter, aggregates)
      },
      async commit(changes, options) {
        if (options?.read !== undefined) assertSound('get', options.read.table)
        assertSoundCommit(changes)
        const stored = await inner.commit(changes, options)
        if (stored !== undefined && stored !== false) assertSound('committed')
        return stored
      },
      async lock(target) {
        assertSound(`lock ${target.kind}`, target.kind === 'tables' ? target.tables[0] : target.table)
        return inner.lock(target)
      },
      async transaction(work, options) {
        assertSound('begin')
        const answer = await inner.transaction(async (within) => {
          const found = await work(wrap(within))
          assertSound('commit')
          return found
        }, options)
        assertSound('committed')
        return answer
      },
    }
  }

  function assertSoundCommit({ updates, inserts }: Changes): void {
    assertSound('begin')
    for (const { table } of updates) assertSound('update', table)
    for (const { table } of inserts) assertSound('insert', table)
    assertSound('commit')
  }

  const handle = {
    ...wrap(sound),
    isInsideTransaction: () => sound.isInsideTransaction(),
    snapshot: sound.snapshot,
    raiseIds: sound.raiseIds,
    purgeDisk: sound.purgeDisk,
    mayTurn: () => sound.mayTurn(),
    closeMs: sound.closeMs,
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
        found.set(table, await sound.find(table, { kind: 'all' }, { order: 'asc', limit: 100_000 }))
      }
      return found
    },
  }
}
