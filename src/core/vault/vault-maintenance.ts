/** The work of a vault that no caller asks for: probes, removal of what expired, scans of files, verification of records. */
import { type Barrier, retryingBarrier } from '../barrier/barrier.ts'
import { expiredCredentialsPass } from '../credentials/entry-rows.ts'
import { requireTable } from '../execution/check-input.ts'
import { removalPass } from '../file-store/remove-files.ts'
import type { Jobs } from '../maintenance/jobs.ts'
import type { StorageHandle } from '../ports/storage.ts'
import type { Clock } from '../ports/time.ts'
import { purgePass } from '../records/token-store.ts'
import type { Layout } from '../schema/layout.ts'
import { CATALOG } from '../schema/system-tables.ts'
import { unusedKeysPass } from '../subject-keys/unused-keys.ts'
import { nowMs } from '../util/time.ts'
import { type Verifying, verifyRecords } from '../verification/verify-records.ts'
import type { OutsideCalls } from './outside-calls.ts'
import type { Vault } from './vault.ts'
import type { VaultFiles } from './vault-files.ts'

/** What maintenance needs. */
interface MaintenancePorts extends Verifying {
  readonly storage: StorageHandle
  /** The same, with the rows of forgotten people. */
  readonly whole: StorageHandle
  readonly clock: Clock
  readonly barrier: Barrier
  readonly layout: Layout
  readonly files: VaultFiles
  readonly outside: OutsideCalls
  readonly jobs: Jobs
}

export function createVaultMaintenance({
  files,
  outside,
  jobs,
  whole,
  ...shared
}: MaintenancePorts): Pick<Vault, 'ping' | 'maintenance' | 'purgeExpired' | 'scanFiles' | 'verifyRecords'> {
  const { storage, clock, barrier, layout } = shared
  return {
    ping: () =>
      outside.run('Ping failed.', async () => {
        await storage.find(CATALOG.name, { kind: 'all' }, { order: 'asc', limit: 1, columns: [] })
        return { ok: true }
      }),
    maintenance: () => outside.run('The list of jobs failed.', () => jobs.list()),
    purgeExpired: (given) =>
      outside.watch({ verb: 'Purge', given }, async (watch) => {
        await jobs.sweep()
        return jobs.run({ kind: 'purgeExpired' }, watch, async (job) => {
          await job.pass(unusedKeysPass(storage, { layout, nowMs: nowMs({ clock }) }))
          return {
            deleted: await job.pass(purgePass(storage, { clock, layout })),
            files: await job.pass(removalPass(files.outer)),
            credentials: await job.pass(expiredCredentialsPass(storage, { clock })),
          }
        })
      }),
    scanFiles: (given) =>
      outside.watch({ verb: 'Scan', given }, async (watch) => ({ scanned: (await files.scans?.scanDue(watch)) ?? 0 })),
    verifyRecords: (given) =>
      outside.watch({ verb: 'Verify', given, others: ['table'] }, (watch, { table }) => {
        const tables = table === undefined ? [...layout.tables.values()] : [requireTable({ layout }, table)]
        const context = { ...shared, storage: whole, barrier: retryingBarrier(barrier) }
        return jobs.run({ kind: 'verifyRecords' }, watch, (job) => verifyRecords(context, tables, job))
      }),
  }
}
