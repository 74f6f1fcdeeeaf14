/** A conformance case of a storage: what it is called, and how it gets the storages it works with. */
import type { PhysicalTable, StorageHandle } from '../../core/ports/storage.ts'
import { assert } from '../assert.ts'

/** How transactions of one storage run beside each other. */
const WAYS: readonly unknown[] = ['serial', 'concurrent']

/** The adapter under test. */
export interface StorageUnderTest {
  /** A handle on a fresh, empty database. */
  open(): Promise<StorageHandle>
  /** One more handle on the database opened last; the same one where the data lives inside the handle. */
  reopen(): Promise<StorageHandle>
}

/** One conformance case: `run` rejects where the storage does not conform. It closes the handles it opened. */
export interface StorageCase {
  /** The clause and its number, such as `O1`. */
  readonly id: string
  /** The id and the expected behavior, as a sentence. */
  readonly name: string
  run(storage: StorageUnderTest): Promise<void>
}

/** What a case works with: a storage in which its tables are prepared, and more handles on the same database. */
export interface StorageFixture {
  readonly storage: StorageHandle
  another(): Promise<StorageHandle>
}

/** Makes one case; `tables` are prepared on every handle before the body sees it. */
export function storageCase(
  name: string,
  tables: readonly PhysicalTable[],
  body: (fixture: StorageFixture) => Promise<void>,
): StorageCase {
  return {
    id: name.slice(0, name.indexOf(' ')),
    name,
    async run(underTest) {
      const handles = new Set<StorageHandle>()
      const prepared = async (opening: Promise<StorageHandle>) => {
        const handle = await opening
        handles.add(handle)
        // Cases wait where transactions are concurrent. What is neither would make them wait forever.
        assert(WAYS.includes(handle.transactions), `transactions of a storage should be 'serial' or 'concurrent'`)
        if (tables.length > 0) await handle.prepare(tables)
        return handle
      }
      try {
        await body({ storage: await prepared(underTest.open()), another: () => prepared(underTest.reopen()) })
      } finally {
        for (const handle of handles) await handle.close()
      }
    },
  }
}
