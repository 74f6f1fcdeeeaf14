/** Runs the conformance suite of blob stores on one adapter, one test per case. */
import { describe, it } from 'vitest'
import { type BlobsUnderTest, blobCases } from '../../../src/conformance/blobs/index.ts'

/** A store under test, and how to clean up after its case. */
export interface DisposableBlobs extends BlobsUnderTest {
  discard?(): Promise<void>
}

/** Calls `setup` for every case. No case is skipped. */
export function runBlobCases(name: string, setup: () => DisposableBlobs | Promise<DisposableBlobs>): void {
  describe(`the ${name} blob store conforms`, () => {
    for (const { name: sentence, run } of blobCases) {
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
