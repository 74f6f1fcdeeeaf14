/** The audit trail of a vault, as an application verifies, exports and signs it. */

import {
  checkpointAudit,
  type ExportOptions,
  exportAudit,
  parseCheckpointOptions,
  verifyAudit,
} from '../audit-log/audit-trail.ts'
import type { LiveSchema } from '../catalog/live-schema.ts'
import type { Jobs } from '../maintenance/jobs.ts'
import type { ShowingContext } from '../operations/list-events.ts'
import type { Timer } from '../ports/time.ts'
import { readInput } from '../util/boundary.ts'
import { assertOptions } from '../util/options.ts'
import { followAudit, parseFollowing } from './follow-audit.ts'
import type { OutsideCalls } from './outside-calls.ts'
import type { Vault } from './vault.ts'

/** What the methods of the trail need. */
interface AuditPorts extends Omit<ShowingContext, 'layout'> {
  readonly live: LiveSchema
  readonly timer: Timer
  readonly outside: OutsideCalls
  readonly jobs: Jobs
}

export function createVaultAudit(
  ports: AuditPorts,
): Pick<Vault, 'verifyAudit' | 'exportAudit' | 'followAudit' | 'checkpointAudit'> {
  const { audit, outside, jobs } = ports
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
    followAudit: (following) =>
      outside.stream('Follow', () =>
        followAudit({ ...ports, layout: ports.live.layout }, parseFollowing(following, audit.vaultID)),
      ),
    checkpointAudit: (given) =>
      outside.run('Checkpoint failed.', (run) => {
        const { signer, sink } = readInput(() => parseCheckpointOptions(given))
        return checkpointAudit(audit, { signer, sink: async (signed) => run(async () => sink?.(signed)) })
      }),
  }
}
