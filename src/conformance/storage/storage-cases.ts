/** The conformance suite: every clause of the storage port as a list of named cases. */

import { bytesCases } from './cases/bytes-cases.ts'
import { cellCases } from './cases/cell-cases.ts'
import { changeCases } from './cases/change-cases.ts'
import { columnCases } from './cases/column-cases.ts'
import { commitCases } from './cases/commit-cases.ts'
import { dropCases } from './cases/drop-cases.ts'
import { erasureCases } from './cases/erasure-cases.ts'
import { findCases } from './cases/find-cases.ts'
import { isolationCases } from './cases/isolation-cases.ts'
import { snapshotCases } from './cases/snapshot-cases.ts'
import { tableCases } from './cases/table-cases.ts'
import { transactionCases } from './cases/transaction-cases.ts'
import type { StorageCase } from './storage-case.ts'

/** Every case; none is optional. Source: docs/storage-port.md explains the letters. */
export const storageCases: readonly StorageCase[] = [
  ...tableCases,
  ...dropCases,
  ...findCases,
  ...transactionCases,
  ...isolationCases,
  ...bytesCases,
  ...cellCases,
  ...changeCases,
  ...commitCases,
  ...columnCases,
  ...snapshotCases,
  ...erasureCases,
]
