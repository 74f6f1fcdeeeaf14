/** The law of files, and its negative controls: vaults that are broken on purpose. */
import { describe, expect, it } from 'vitest'
import { files, runFiles } from '../laws/files.ts'
import { onFreshFiles } from '../support/files/file-places.ts'
import type { ArchiveOptions } from '../support/files/open-archive.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { randomFor } from '../support/random/seeded-random.ts'
import { memoryPlaces } from '../support/storages/places.ts'

itHolds(files)

describe('the law of files detects', () => {
  const BROKEN: readonly (readonly [name: string, broken: (options: ArchiveOptions) => ArchiveOptions, found: RegExp])[] = [
    [
      'blobs that are not deleted',
      (options) => ({ ...options, blobs: { ...options.blobs, delete: async () => {} } }),
      /rows and \d+ blobs are left/,
    ],
    ['files that are open before they are scanned', ({ scanner: _, ...options }) => options, /opened unscanned|the status of/],
    ['a scanner that finds nothing', (options) => ({ ...options, ...passing(options) }), /the status of|opened unscanned/],
    [
      'a blob that another file overwrites',
      (options) => ({
        ...options,
        blobs: { ...options.blobs, write: (_, content) => options.blobs.write('0'.repeat(32), content) },
      }),
      /did not open|a reader of|other bytes|the status of/,
    ],
  ]

  function passing({ scanner }: ArchiveOptions): Pick<ArchiveOptions, 'scanner'> {
    if (scanner === undefined) return {}
    return {
      scanner: {
        async scan(file) {
          await scanner.scan(file)
          return 'clean'
        },
      },
    }
  }

  it.each(BROKEN)('%s', async (name, broken, found) => {
    const run = async () => {
      for (let count = 0; count < 10; count++) {
        const onMemory = { engine: memoryPlaces(), store: 'memory' } as const
        await onFreshFiles(onMemory, (place) => runFiles(place, randomFor(`${name} ${count}`), { steps: 50, broken }))
      }
    }
    await expect(run()).rejects.toThrow(found)
  })
})
