/** A conformance case of a blob store: what it is called, and how it gets the stores it works with. */
import type { BlobStore } from '../../core/ports/blobs.ts'

/** The blob store under test. */
export interface BlobsUnderTest {
  /** A handle on a new, empty place for blobs. */
  open(): Promise<BlobStore>
  /** One more handle on the place opened last. */
  reopen(): Promise<BlobStore>
  /**
   * Looks below the store, at the place opened last: how many bytes of this key there are, of a whole blob or of an unfinished write;
   * undefined if there is nothing, not even an empty file, a row or an upload.
   */
  stored(key: string): Promise<number | undefined>
}

/** One conformance case: `run` rejects where the store does not conform. It closes the handles it opened. */
export interface BlobCase {
  /** The clause and its number, such as `W1`. */
  readonly id: string
  /** The id and the expected behavior, as a sentence. */
  readonly name: string
  run(blobs: BlobsUnderTest): Promise<void>
}

/** What a case works with: a store on an empty place, more handles on it, and what is stored there. */
export interface BlobFixture {
  readonly store: BlobStore
  another(): Promise<BlobStore>
  stored(key: string): Promise<number | undefined>
}

/** Makes one case. */
export function blobCase(name: string, body: (fixture: BlobFixture) => Promise<void>): BlobCase {
  return {
    id: name.slice(0, name.indexOf(' ')),
    name,
    async run(underTest) {
      const handles: BlobStore[] = []
      const kept = async (opening: Promise<BlobStore>) => {
        const handle = await opening
        handles.push(handle)
        return handle
      }
      try {
        await body({
          store: await kept(underTest.open()),
          another: () => kept(underTest.reopen()),
          stored: (key) => underTest.stored(key),
        })
      } finally {
        for (const handle of handles) await handle.close()
      }
    },
  }
}
