/** What a vault holds, as an operator looks at it. */

import type { LiveSchema } from '../catalog/live-schema.ts'
import { openFileRows } from '../file-store/file-rows.ts'
import { countMatches, eachPage } from '../pace/pace.ts'
import type { Filter, StorageHandle } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import { AUDIT_CHAINS, AUDIT_EVENTS, FILES, TRANSIENTS } from '../schema/system-tables.ts'
import { nowMs } from '../util/time.ts'
import type { OutsideCalls } from './outside-calls.ts'
import type { VaultFiles } from './vault-files.ts'

/** How much a vault holds. */
export interface VaultContents {
  /** Records by table. */
  readonly records: Readonly<Record<string, number>>
  /** Transient values, also expired ones that were not purged yet. */
  readonly transients: number
  /** Files of records, and of their scans: those that are due, those that run, and those that failed and are repeated later. Without a scanner every file is due. */
  readonly files: { readonly stored: number; readonly due: number; readonly scanning: number; readonly failed: number }
  /** Stored events, and the chains that they are in. */
  readonly audit: { readonly events: number; readonly chains: number }
}

/** The methods for an operator who looks at a vault. */
export interface VaultOverview {
  /** Counts what is stored: records by table, files and their scans, audit events. Needs no caller and records no event, for operators. */
  contents(): Promise<VaultContents>
}

/** The dependencies of these methods. */
interface OverviewPorts {
  readonly storage: StorageHandle
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly live: LiveSchema
  readonly files: VaultFiles
  readonly outside: OutsideCalls
}

export function createVaultOverview(ports: OverviewPorts): VaultOverview {
  const { storage, live, outside } = ports
  return {
    contents: () =>
      outside.run('Counting failed.', async () => {
        const records: Record<string, number> = {}
        for (const { name, physical } of live.layout.tables.values()) records[name] = await countMatches(storage, physical.name)
        return {
          records,
          transients: await countMatches(storage, TRANSIENTS.name),
          files: await countFiles(ports),
          audit: {
            events: await countMatches(storage, AUDIT_EVENTS.name),
            chains: await countMatches(storage, AUDIT_CHAINS.name),
          },
        }
      }),
  }
}

/** Files that wait for another time are few: those whose scan runs, or failed. Only their rows are opened. */
async function countFiles({ storage, files, scheduler, ...ports }: OverviewPorts): Promise<VaultContents['files']> {
  const now = nowMs(ports)
  const isOfRecord: Filter = { kind: 'not', filter: { kind: 'isNull', column: 'row_id' } }
  const later: Filter = { kind: 'compare', column: 'scan_at', operator: '>', value: now }
  let scanning = 0
  let failed = 0
  for await (const rows of eachPage(storage, FILES.name, { filter: { kind: 'and', filters: [isOfRecord, later] }, scheduler })) {
    for (const file of await openFileRows(files.outer, rows)) file?.entry.state === 'error' ? failed++ : scanning++
  }
  const due: Filter = { kind: 'compare', column: 'scan_at', operator: '<', value: now + 1 }
  return {
    stored: await countMatches(storage, FILES.name, isOfRecord),
    due: await countMatches(storage, FILES.name, { kind: 'and', filters: [isOfRecord, due] }),
    scanning,
    failed,
  }
}
