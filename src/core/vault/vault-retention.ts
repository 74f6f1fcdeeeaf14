/** The sweep of a vault: everything whose time has passed is removed, slice by slice. */
import { type Barrier, OUTDATED, retryingBarrier } from '../barrier/barrier.ts'
import type { LiveSchema } from '../catalog/live-schema.ts'
import { expiredCredentialsPass } from '../credentials/entry-rows.ts'
import type { SessionContext } from '../execution/context.ts'
import { perform } from '../execution/perform.ts'
import { removalPass } from '../file-store/remove-files.ts'
import type { MaintenancePass } from '../maintenance/job.ts'
import type { Jobs } from '../maintenance/jobs.ts'
import { expiredSince, expireRecords } from '../operations/expire-records.ts'
import { type Caller, VAULT_CALLER } from '../policy/caller.ts'
import type { Filter, StorageHandle } from '../ports/storage.ts'
import type { Clock } from '../ports/time.ts'
import { purgePass } from '../records/token-store.ts'
import { unusedKeysPass } from '../records/unused-keys.ts'
import { findHeld } from '../retention/holds.ts'
import type { KeptTime, Table } from '../schema/layout.ts'
import { attempt } from '../util/attempt.ts'
import { nowMs } from '../util/time.ts'
import type { MergeWorker } from './merge-worker.ts'
import type { OutsideCalls, WatchOptions } from './outside-calls.ts'
import type { VaultFiles } from './vault-files.ts'
import { createVaultHolds, type HoldPorts, type VaultHolds } from './vault-holds.ts'

/** What a sweep has removed. */
export interface Swept {
  /** By the name of each rule of retention: records deleted, or values emptied. */
  readonly expired: Readonly<Record<string, number>>
  /** Records and values whose time has passed, and that a legal hold keeps. */
  readonly held: number
  /** Expired transient values. */
  readonly transients: number
  /** Contents of files that no record names. */
  readonly files: number
  /** Credentials, revocations, assertions that have served and idempotency keys, an hour after they expired. */
  readonly credentials: number
}

/** The methods for what is kept for a time. */
export interface VaultRetention {
  /**
   * Removes what its time has passed: records and values by the rules of retention, except for those under legal hold; expired transient values, which
   * reads never return in any case; contents of files that no record names; credentials, an hour after they expired; and from sealed indexes the keys of what
   * was forgotten or has expired. Goes slice by slice, beside
   * writers and other sweeps: what was removed before an abort or a kill stays removed, and the next call goes on. Each slice of records is one
   * transaction with an event `EXPIRE`. `onProgress` counts all of it. Throws `cancelled`. Source: docs/retention.md.
   */
  sweep(options?: WatchOptions): Promise<Swept>
  readonly holds: VaultHolds
}

/** The dependencies of a sweep. */
interface RetentionPorts extends HoldPorts {
  readonly storage: StorageHandle
  /** The storage of the keys of subjects, if they have one: writes that failed leave keys there. */
  readonly subjectKeys?: StorageHandle
  readonly live: LiveSchema
  readonly barrier: Barrier
  readonly clock: Clock
  readonly files: VaultFiles
  readonly outside: OutsideCalls
  readonly jobs: Jobs
  readonly merges: Pick<MergeWorker, 'purge'>
  contextOf(caller: Caller): SessionContext
}

export function createVaultRetention(ports: RetentionPorts): VaultRetention {
  const { storage, clock, live, files, catalog, outside, jobs } = ports
  return {
    holds: createVaultHolds(ports),
    sweep: (given) =>
      outside.watch({ verb: 'Sweep', given }, async (watch) => {
        await jobs.sweep()
        await catalog.reload(storage)
        const swept = await jobs.run({ kind: 'sweep' }, watch, async (job): Promise<Swept> => {
          const counts = { expired: {} as Record<string, number>, held: 0 }
          const { layout } = live
          if (ports.subjectKeys !== undefined) await job.pass(unusedKeysPass(storage, { layout, nowMs: nowMs({ clock }) }))
          for (const table of layout.tables.values()) {
            for (const kept of table.kept.filter(({ isFilling }) => !isFilling))
              await job.pass(expirePass(ports, table, kept, counts))
          }
          return {
            ...counts,
            transients: await job.pass(purgePass(storage, { clock, layout })),
            files: await job.pass(removalPass(files.outer)),
            credentials: await job.pass(expiredCredentialsPass(storage, { clock })),
          }
        })
        await ports.merges.purge(watch)
        return swept
      }),
  }
}

/** Rows of one slice, and the times that it looks for at most: a table can have few rows of each. */
const SLICE = 200

/** Returns the pass of one rule. It passes over what is held. */
function expirePass(
  ports: RetentionPorts,
  table: Table,
  kept: KeptTime,
  counts: { readonly expired: Record<string, number>; held: number },
): MaintenancePass {
  const { storage, contextOf, catalog, live } = ports
  const context = contextOf(VAULT_CALLER)
  const barrier = retryingBarrier(ports.barrier)
  const nextRows = expiredRows(storage, table, kept.cell, expiredSince(ports, kept))
  return {
    async slice() {
      counts.expired[kept.rule] ??= 0
      const { rows: found, isLast } = await nextRows()
      const held = await attempt([{ ...OUTDATED, between: () => catalog.reload(storage) }], () =>
        findHeld(storage, { ...context, layout: live.layout, barrier }, { table, rows: found }),
      )
      counts.held += held.size
      const rows = found.filter((row) => !held.has(row))
      if (rows.length === 0) return { rows: found.length, done: 0, isLast }
      const slice = { table: table.name, ...(kept.column !== undefined && { column: kept.column.name }), count: rows.length }
      const done = await perform(context, expireRecords({ table, kept, rows }), slice)
      counts.expired[kept.rule] = (counts.expired[kept.rule] ?? 0) + done
      return { rows: found.length, done, table: table.name, isLast }
    },
  }
}

/**
 * Returns a function for the next rows whose time is at most `since`: one time after the other, which are full hours, and the rows of each. Each of its reads is
 * by the index: in the order of ids alone, an engine would read the whole table.
 */
function expiredRows(
  storage: StorageHandle,
  { physical: { name } }: Table,
  cell: string,
  since: number,
): () => Promise<{ readonly rows: readonly number[]; readonly isLast: boolean }> {
  const is = (operator: '=' | '<' | '>', value: number): Filter => ({ kind: 'compare', column: cell, operator, value })
  let from = Number.MIN_SAFE_INTEGER
  let after = 0
  let time: number | undefined
  return async () => {
    const rows: number[] = []
    for (let times = 0; times < SLICE && rows.length < SLICE; ) {
      if (time === undefined) {
        const later: Filter = { kind: 'and', filters: [is('>', from), is('<', since + 1)] }
        const [next = null] = await storage.aggregate(name, later, [{ kind: 'min', column: cell }])
        if (next === null) return { rows, isLast: true }
        time = Number(next)
        times++
      }
      const limit = SLICE - rows.length
      const page = await storage.find(name, is('=', time), { order: 'asc', after, limit, columns: [] })
      for (const { id } of page) rows.push(id)
      after = page.length < limit ? 0 : (page.at(-1)?.id ?? after)
      if (page.length < limit) {
        from = time
        time = undefined
      }
    }
    return { rows, isLast: false }
  }
}
