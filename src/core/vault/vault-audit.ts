/** The audit trail of a vault, as an application verifies, exports and signs it. */

import {
  type AuditTrail,
  checkpointAudit,
  type ExportOptions,
  exportAudit,
  parseCheckpointOptions,
  verifyAudit,
} from '../audit-log/audit-trail.ts'
import type { Jobs } from '../maintenance/jobs.ts'
import { readInput } from '../util/boundary.ts'
import { assertOptions } from '../util/options.ts'
import type { OutsideCalls } from './outside-calls.ts'
import type { Vault } from './vault.ts'

/** What the methods of the trail need. */
interface AuditPorts {
  readonly audit: AuditTrail
  readonly outside: OutsideCalls
  readonly jobs: Jobs
}

export function createVaultAudit({
  audit,
  outside,
  jobs,
}: AuditPorts): Pick<Vault, 'verifyAudit' | 'exportAudit' | 'checkpointAudit'> {
  return {
    verifyAudit: (given) =>
      outside.watch({ verb: 'Verify', given, others: ['checkpoints'] }, (watch, { checkpoints }) => {
        const options = checkpoints === undefined ? {} : { checkpoints }
        return jobs.run({ kind: 'verifyAudit' }, watch, (job) => verifyAudit(audit, options, job))
      }),
    exportAudit: (exporting) =>
      outside.stream('Export', () => {
        readInput(() => assertOptions<ExportOptions>(exporting === undefined ? {} : exporting, ['checkpoints', 'signal']))
        return exportAudit(audit, exporting)
      }),
    checkpointAudit: (given) =>
      outside.run('Checkpoint failed.', (run) => {
        const { signer, sink } = readInput(() => parseCheckpointOptions(given))
        return checkpointAudit(audit, { signer, sink: async (signed) => run(async () => sink?.(signed)) })
      }),
  }
}
