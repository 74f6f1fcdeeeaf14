/** The work of a vault that no caller asks for: probes, scans of files, verification of records. */
import { type Barrier, retryingBarrier } from '../barrier/barrier.ts'
import { requireTable } from '../execution/check-input.ts'
import type { Jobs } from '../maintenance/jobs.ts'
import type { StorageHandle } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'
import { CATALOG } from '../schema/system-tables.ts'
import { refreshSchema, type Verifying } from '../verification/check-records.ts'
import { verifyRecords } from '../verification/verify-records.ts'
import type { MergeWorker } from './merge-worker.ts'
import type { OutsideCalls } from './outside-calls.ts'
import type { Vault } from './vault.ts'
import type { VaultFiles } from './vault-files.ts'

/** What maintenance needs. */
interface MaintenancePorts extends Verifying {
  readonly storage: StorageHandle
  /** The same, with the rows of forgotten people. */
  readonly whole: StorageHandle
  readonly barrier: Barrier
  readonly files: VaultFiles
  readonly outside: OutsideCalls
  readonly jobs: Jobs
  readonly merges: MergeWorker
}

export function createVaultMaintenance({
  files,
  outside,
  jobs,
  merges,
  whole,
  ...shared
}: MaintenancePorts): Pick<Vault, 'ping' | 'maintenance' | 'scanFiles' | 'verifyRecords' | 'compact'> {
  const { storage, barrier, live } = shared
  /** Returns the table of a name, or all. */
  const tablesOf = (name: string | undefined): readonly Table[] =>
    name === undefined ? [...live.layout.tables.values()] : [requireTable(live, name)]
  return {
    ping: () =>
      outside.run('Ping failed.', async () => {
        await storage.find(CATALOG.name, { kind: 'all' }, { order: 'asc', limit: 1, columns: [] })
        return { ok: true }
      }),
    maintenance: () => outside.run('The list of jobs failed.', () => jobs.list()),
    scanFiles: (given) =>
      outside.watch({ verb: 'Scan', given }, async (watch) => ({ scanned: (await files.scans?.scanDue(watch)) ?? 0 })),
    compact: (given) =>
      outside.watch({ verb: 'Compaction', given, others: ['table'] }, (watch, { table }) =>
        merges.compact(watch, tablesOf(table)),
      ),
    verifyRecords: (given) =>
      outside.watch({ verb: 'Verify', given, others: ['table'] }, async (watch, { table }) => {
        // With a schema that another process has changed, sound records would have findings, and a table that is gone would be read.
        await refreshSchema(shared)
        const tables = tablesOf(table)
        const context = { ...shared, storage: whole, barrier: retryingBarrier(barrier) }
        return jobs.run({ kind: 'verifyRecords' }, watch, (job) => verifyRecords(context, tables, job))
      }),
  }
}
