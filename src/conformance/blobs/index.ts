/** Entry point "strongroom/blob-conformance": the conformance suite of blob stores, for any test runner. */

export type { BlobCase, BlobsUnderTest } from './blob-case.ts'
export { blobCases } from './blob-cases.ts'
