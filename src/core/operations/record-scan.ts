/** Record scan: stores the result of a scan. Not an operation of callers: the vault performs it for itself, so that it leaves an event. */
import { fault, type VaultError } from '../errors.ts'
import type { Operation } from '../execution/operation.ts'
import { type OpenedFile, patchOf, readFiles } from '../file-store/file-rows.ts'
import { REMOVAL_LEASE_MS } from '../file-store/remove-files.ts'
import { SCAN_STATES, type ScanState } from '../files/scan-state.ts'
import { FILES } from '../schema/system-tables.ts'
import { nowMs } from '../util/time.ts'

/** The result of a scan. */
export interface ScanResult {
  readonly file: OpenedFile
  /** Version that the row must still have: no one else has changed, replaced or deleted the file since it was claimed. */
  readonly version: number
  readonly state: ScanState
}

/** Stores the result. Throws `not_found` if the file was replaced or deleted meanwhile; nothing is changed then. */
export const recordScan: Operation<ScanResult, ScanResult, { readonly version: number }> = {
  action: 'SCAN_FILE',
  resourceType: 'FILE',
  verb: 'Scan',
  members: ['file', 'version', 'state'],
  recorded: { file: 'omitted', version: 'omitted', state: SCAN_STATES },
  // The input is the vault's own.
  parse: (given, { layout, event }) => {
    const result = given as ScanResult
    const table = [...layout.tables.values()].find(({ objectId }) => objectId === result.file.tableId)
    if (table !== undefined) event.setTable(table)
    return result
  },
  async execute({ unit, barrier, layout, clock, event }, { file, version, state }) {
    await unit.change(async ({ storage }) => {
      const [current] = await readFiles(storage, barrier, [file.id])
      if (current === undefined || current.version !== version || current.removeAt !== null || current.rowId === null)
        throw gone()
      // Content to destroy stays due until it is: a process that ends before leaves that to another one.
      const scanAt = state === 'deleted' ? nowMs({ clock }) + REMOVAL_LEASE_MS : null
      const patch = patchOf(barrier, current, { ...current.entry, state, failures: 0 }, { scan_at: scanAt })
      const [isStored] = await storage.update(FILES.name, [patch])
      if (isStored !== true) throw gone()
      const table = [...layout.tables.values()].find(({ objectId }) => objectId === current.tableId)
      if (table !== undefined) event.setWrittenRows(table, [current.rowId])
    })
    return { version: version + 1 }
  },
}

function gone() {
  return fault('not_found')`The file was replaced or deleted while it was scanned. The result is dropped.`
}

/** Returns the operation that throws this error, so that its event has the code and the message of the error. */
export function refusedBy(refusal: VaultError): Operation<Record<never, never>, undefined, never> {
  return {
    action: 'REQUEST',
    resourceType: 'VAULT',
    verb: 'Request',
    members: [],
    recorded: {},
    parse: () => undefined,
    async execute() {
      throw refusal
    },
  }
}
