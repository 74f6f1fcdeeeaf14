/** Every law, in the order in which the soak begins them: those with the smallest share of the time first, so that time they leave is used. */
import { auditTampering } from './audit-tampering.ts'
import { auditWriters } from './audit-writers.ts'
import { batchedDigests } from './batched-digests.ts'
import { batchedSealing } from './batched-sealing.ts'
import { batches } from './batches.ts'
import { columnTypesLaw } from './column-types.ts'
import { concurrentUpdates } from './concurrent-updates.ts'
import { concurrentUpserts } from './concurrent-upserts.ts'
import { connectionCuts } from './connection-cuts.ts'
import { contention } from './contention.ts'
import { encryptedRanks } from './encrypted-ranks.ts'
import { exportTampering } from './export-tampering.ts'
import { failingCalls } from './failing-calls.ts'
import { fileAborts } from './file-aborts.ts'
import { fileKills } from './file-kills.ts'
import { fileLeaks } from './file-leaks.ts'
import { fileMemory } from './file-memory.ts'
import { fileTampering } from './file-tampering.ts'
import { files } from './files.ts'
import { hostileInput } from './hostile-input.ts'
import { httpAborts } from './http-aborts.ts'
import { httpEqualsSession } from './http-equals-session.ts'
import { httpStatuses } from './http-statuses.ts'
import { innocentCallers } from './innocent-callers.ts'
import { keptTokens } from './kept-tokens.ts'
import { keyRotation } from './key-rotation.ts'
import { kills } from './kills.ts'
import type { Law } from './law.ts'
import { loopHolds } from './loop-holds.ts'
import { mergeKills } from './merge-kills.ts'
import { noLeak } from './no-leak.ts'
import { nonInterference } from './non-interference.ts'
import { powerLoss } from './power-loss.ts'
import { publishedVectors } from './published-vectors.ts'
import { queryForms } from './query-forms.ts'
import { readChange } from './read-change.ts'
import { recordTampering } from './record-tampering.ts'
import { sealedIndexes } from './sealed-indexes.ts'
import { seenAsLaw } from './seen-as.ts'
import { sqlDifferential } from './sql-differential.ts'
import { sqlParser } from './sql-parser.ts'
import { sqlPartition } from './sql-partition.ts'
import { steadyMemory } from './steady-memory.ts'
import { storagesAgree } from './storages-agree.ts'
import { tamper } from './tamper.ts'
import { tokenFormatsLaw } from './token-formats.ts'
import { tokenKindsLaw } from './token-kinds.ts'
import { writeBackLaw } from './write-back.ts'

export const ALL_LAWS: readonly Law[] = [
  publishedVectors,
  columnTypesLaw,
  tokenFormatsLaw,
  tokenKindsLaw,
  keptTokens,
  writeBackLaw,
  seenAsLaw,
  hostileInput,
  recordTampering,
  auditWriters,
  failingCalls,
  fileAborts,
  httpAborts,
  fileTampering,
  fileLeaks,
  exportTampering,
  auditTampering,
  batchedDigests,
  batchedSealing,
  encryptedRanks,
  tamper,
  batches,
  innocentCallers,
  loopHolds,
  concurrentUpserts,
  concurrentUpdates,
  sealedIndexes,
  readChange,
  queryForms,
  sqlParser,
  sqlPartition,
  httpStatuses,
  httpEqualsSession,
  connectionCuts,
  powerLoss,
  contention,
  keyRotation,
  kills,
  mergeKills,
  fileKills,
  files,
  storagesAgree,
  sqlDifferential,
  noLeak,
  nonInterference,
  steadyMemory,
  fileMemory,
]
