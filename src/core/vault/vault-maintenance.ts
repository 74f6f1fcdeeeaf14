/** The work of a vault that no caller asks for: probes, removal of what expired, scans of files, verification of records. */
import { type Barrier, retryingBarrier } from '../barrier/barrier.ts'
import { expiredCredentialsPass } from '../credentials/entry-rows.ts'
import { requireTable } from '../execution/check-input.ts'
import { removalPass } from '../file-store/remove-files.ts'
import { type MaintenancePass, runPass } from '../pace/pass.ts'
import type { StorageHandle } from '../ports/storage.ts'
import type { Clock } from '../ports/time.ts'
import { purgePass } from '../records/token-store.ts'
import type { Layout } from '../schema/layout.ts'
import { CATALOG } from '../schema/system-tables.ts'
import { type Verifying, verifyRecords } from '../verification/verify-records.ts'
import type { OutsideCalls } from './outside-calls.ts'
import type { Vault } from './vault.ts'
import type { VaultFiles } from './vault-files.ts'

/** What maintenance needs. */
interface MaintenancePorts extends Verifying {
  readonly storage: StorageHandle
  readonly clock: Clock
  readonly barrier: Barrier
  readonly layout: Layout
  readonly files: VaultFiles
  readonly outside: OutsideCalls
}

export function createVaultMaintenance({
  files,
  outside,
  ...shared
}: MaintenancePorts): Pick<Vault, 'ping' | 'purgeExpired' | 'scanFiles' | 'verifyRecords'> {
  const { storage, clock, scheduler, barrier, layout } = shared
  return {
    ping: () =>
      outside.run('Ping failed.', async () => {
        await storage.find(CATALOG.name, { kind: 'all' }, { order: 'asc', limit: 1, columns: [] })
        return { ok: true }
      }),
    purgeExpired: (given) =>
      outside.watch({ verb: 'Purge', given }, async ({ signal, report }) => {
        let before = 0
        const run = async (pass: MaintenancePass): Promise<number> => {
          const rows = await runPass(pass, { scheduler, signal, onProgress: (done) => report?.({ done: before + done }) })
          before += rows
          return rows
        }
        return {
          deleted: await run(purgePass(storage, { clock, layout })),
          files: await run(removalPass(files.outer)),
          credentials: await run(expiredCredentialsPass(storage, { clock })),
        }
      }),
    scanFiles: (given) =>
      outside.watch({ verb: 'Scan', given }, async (watch) => ({ scanned: (await files.scans?.scanDue(watch)) ?? 0 })),
    verifyRecords: (given) =>
      outside.watch({ verb: 'Verify', given, others: ['table'] }, (watch, { table }) => {
        const tables = table === undefined ? [...layout.tables.values()] : [requireTable({ layout }, table)]
        return verifyRecords({ ...shared, barrier: retryingBarrier(barrier) }, tables, watch)
      }),
  }
}
