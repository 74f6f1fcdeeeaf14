/** The conformance suite of blob stores: every clause of the blob port as a list of named cases. */

import type { BlobCase } from './blob-case.ts'
import { deleteCases } from './cases/delete-cases.ts'
import { handleCases } from './cases/handle-cases.ts'
import { readCases } from './cases/read-cases.ts'
import { writeCases } from './cases/write-cases.ts'

/** Every case; none is optional. Source: docs/how-to/blob-store.md explains the letters. */
export const blobCases: readonly BlobCase[] = [...writeCases, ...readCases, ...deleteCases, ...handleCases]
