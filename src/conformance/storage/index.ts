/** Entry point "strongroom/storage-conformance": the conformance suite of storage adapters, for any test runner. */

export type { StorageCase, StorageUnderTest } from './storage-case.ts'
export { storageCases } from './storage-cases.ts'
