/** Jobs of a process with a clock that is set by hand, and a pass whose slices store their place with what they did. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { createCatalogFence } from '../../../src/core/catalog/catalog-fence.ts'
import { openCatalog } from '../../../src/core/catalog/open-catalog.ts'
import type { Job, MaintenancePass } from '../../../src/core/maintenance/job.ts'
import { createJobs, type JobPorts, type Jobs } from '../../../src/core/maintenance/jobs.ts'
import type { Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { TRANSIENTS } from '../../../src/core/schema/system-tables.ts'
import { SYSTEM_PORTS } from '../vaults/system-ports.ts'
import { TEST_SECRET } from '../vaults/test-vault.ts'

/** When planted time begins, in milliseconds since 1970. */
export const BEGIN = Date.UTC(2026, 0, 31)

/** Planted time, and how long timers waited. */
export interface Planted {
  readonly time: { ms: number; waits: number[] }
  readonly ports: Pick<JobPorts, 'clock' | 'stopwatch' | 'timer'>
}

/** Returns a clock that is set by hand, and timers that set it on. */
export function plantedTime(): Planted {
  const time: Planted['time'] = { ms: BEGIN, waits: [] }
  return {
    time,
    ports: {
      clock: { now: () => BigInt(Math.round(time.ms)) * 1_000_000n },
      stopwatch: { now: () => time.ms },
      timer: {
        after(milliseconds, callback) {
          time.waits.push(milliseconds)
          time.ms += milliseconds
          const immediate = setImmediate(callback)
          return () => clearImmediate(immediate)
        },
      },
    },
  }
}

/** The vault id of these jobs. */
export const VAULT_ID = 'v1'

/** Returns the jobs of one process. `change` changes its ports, such as what it knows of the catalog. */
export async function openJobs(
  storage: StorageHandle,
  { ports }: Planted,
  { name, change = (own) => own }: { readonly name: string; readonly change?: (own: JobPorts) => JobPorts },
): Promise<Jobs> {
  const catalog = await openCatalog({ ...SYSTEM_PORTS, storage, keys: localKeys({ key: TEST_SECRET }) }, VAULT_ID, {})
  const known = { barrier: catalog.barrier, catalog: createCatalogFence(catalog, { part: catalog.state.schema }) }
  return createJobs(change({ ...SYSTEM_PORTS, ...ports, ...known, storage, log: undefined, process: name }))
}

/** Returns a pass of slices of ten rows, which stores the number of each, once, and the place after it. */
export function countingPass(storage: Storage, job: Job, slices: number): MaintenancePass {
  let after = Number(job.place?.after ?? 0)
  return {
    async slice() {
      const next = after + 1
      await storage.transaction(async (inner) => {
        await job.savePlace(inner, { target: 2, after: next })
        const [done] = await inner.get(TRANSIENTS.name, [next])
        if (done === undefined) await inner.insert(TRANSIENTS.name, [{ id: next, body: new Uint8Array(1), expires_at: 1 }])
      })
      after = next
      return { rows: 10, isLast: after >= slices, table: 'people' }
    },
  }
}

/** Returns the numbers of the slices that were committed. */
export async function committedSlices(storage: Storage): Promise<readonly number[]> {
  const rows = await storage.find(TRANSIENTS.name, { kind: 'all' }, { order: 'asc', limit: 100_000, columns: [] })
  return rows.map(({ id }) => id)
}
