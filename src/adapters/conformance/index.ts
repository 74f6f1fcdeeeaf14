/** Door "strongroom/adapter-contract": the exam every storage adapter passes, for any test runner. */

export type { StorageCase, StorageUnderTest } from './storage-case.ts'
export { storageCases } from './storage-cases.ts'
