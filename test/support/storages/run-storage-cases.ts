/** Runs the storage conformance suite on one adapter, one test per case. */
import { describe, it } from 'vitest'
import { type StorageUnderTest, storageCases } from '../../../src/conformance/storage/index.ts'

/** An adapter under test, and how to clean up after its case. */
export interface DisposableStorage extends StorageUnderTest {
  discard?(): Promise<void>
}

/** Calls `setup` for every case. No case is skipped. */
export function runStorageCases(name: string, setup: () => DisposableStorage | Promise<DisposableStorage>): void {
  describe(`the ${name} storage conforms`, () => {
    for (const { name: sentence, run } of storageCases) {
      it(sentence, async () => {
        const underTest = await setup()
        try {
          await run(underTest)
        } finally {
          await underTest.discard?.()
        }
      })
    }
  })
}
