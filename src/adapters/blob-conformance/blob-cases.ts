/** The conformance suite of blob stores: every clause of the blob port as a list of named cases. */

import type { BlobCase } from './blob-case.ts'
import { bytesCases } from './cases/bytes-cases.ts'
import { closeCases } from './cases/close-cases.ts'
import { concurrencyCases } from './cases/concurrency-cases.ts'
import { deleteCases } from './cases/delete-cases.ts'
import { failureCases } from './cases/failure-cases.ts'
import { keyCases } from './cases/key-cases.ts'
import { rangeCases } from './cases/range-cases.ts'
import { streamCases } from './cases/stream-cases.ts'
import { wholeCases } from './cases/whole-cases.ts'

/** Every case; none is optional. Source: docs/how-to/blob-store.md explains the letters. */
export const blobCases: readonly BlobCase[] = [
  ...wholeCases,
  ...rangeCases,
  ...bytesCases,
  ...failureCases,
  ...deleteCases,
  ...concurrencyCases,
  ...streamCases,
  ...keyCases,
  ...closeCases,
]
