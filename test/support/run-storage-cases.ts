/** Runs the storage exam on one adapter, one test per case. */

import { describe, test } from 'vitest'
import { type StorageUnderTest, storageCases } from '../../src/adapters/conformance/index.ts'

/** An adapter on trial that may have something to clear away when its case is over. */
export interface DisposableStorage extends StorageUnderTest {
  discard?(): Promise<void>
}

/** `setup` is called afresh for every case; none is skipped. */
export function runStorageCases(name: string, setup: () => DisposableStorage | Promise<DisposableStorage>): void {
  describe(`${name} passes the storage exam`, () => {
    for (const { name: sentence, run } of storageCases) {
      test(sentence, async () => {
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
