/** The conformance suite: every clause of the storage port as a list of named cases. */

import { absenceCases } from './cases/absence-cases.ts'
import { aggregateCases } from './cases/aggregate-cases.ts'
import { bytesCases } from './cases/bytes-cases.ts'
import { columnCases } from './cases/column-cases.ts'
import { commitCases } from './cases/commit-cases.ts'
import { conflictCases } from './cases/conflict-cases.ts'
import { filterCases } from './cases/filter-cases.ts'
import { getAndCommitCases } from './cases/get-and-commit-cases.ts'
import { isolationCases } from './cases/isolation-cases.ts'
import { lengthCases } from './cases/length-cases.ts'
import { numberCases } from './cases/number-cases.ts'
import { orderCases } from './cases/order-cases.ts'
import { patchCases } from './cases/patch-cases.ts'
import { prepareCases } from './cases/prepare-cases.ts'
import { raceCases } from './cases/race-cases.ts'
import { textCases } from './cases/text-cases.ts'
import { transactionCases } from './cases/transaction-cases.ts'
import type { StorageCase } from './storage-case.ts'

/** Every case; none is optional. Source: docs/storage-port.md explains the letters. */
export const storageCases: readonly StorageCase[] = [
  ...orderCases,
  ...absenceCases,
  ...conflictCases,
  ...transactionCases,
  ...isolationCases,
  ...bytesCases,
  ...textCases,
  ...lengthCases,
  ...raceCases,
  ...patchCases,
  ...commitCases,
  ...getAndCommitCases,
  ...numberCases,
  ...filterCases,
  ...columnCases,
  ...aggregateCases,
  ...prepareCases,
]
