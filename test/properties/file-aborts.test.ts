/** The law of aborted uploads, and its negative controls: stores that keep what was not completed. */
import { closeSync, openSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { BlobStore } from '../../src/core/ports/blobs.ts'
import { abortUploads, fileAborts } from '../laws/file-aborts.ts'
import { type FilePlace, onFreshFiles } from '../support/files/file-places.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import { memoryPlaces } from '../support/storages/places.ts'

itHolds(fileAborts)

/** Aborts uploads on a store that is broken on purpose. */
function abortOn(broken: (store: BlobStore, place: FilePlace) => Partial<BlobStore>): Promise<number> {
  return onFreshFiles({ engine: memoryPlaces(), store: 'folder' }, (place) => {
    const open: FilePlace['blobs']['open'] = (storage) => {
      const store = place.blobs.open(storage)
      return { ...store, ...broken(store, place) }
    }
    return abortUploads({ ...place, blobs: { ...place.blobs, open } }, seededRandom('aborts'), [5, 65_536])
  })
}

it('a store that keeps an unfinished blob is found out', async () => {
  const keeping = (store: BlobStore): Partial<BlobStore> => ({
    async write(key, content) {
      let thrown: unknown
      await store.write(
        key,
        (async function* () {
          try {
            yield* content
          } catch (error) {
            thrown = error
          }
        })(),
      )
      if (thrown !== undefined) throw thrown
    },
    async delete() {},
  })
  await expect(abortOn(keeping)).rejects.toThrow('left something behind')
})

it('a descriptor that stays open is found out', async () => {
  const opened: number[] = []
  const leaking = (store: BlobStore, { blobs }: FilePlace): Partial<BlobStore> => ({
    async write(key, content) {
      if ((await blobs.keys()).length > 0) opened.push(openSync(blobs.directory ?? '', 'r'))
      await store.write(key, content)
    },
  })
  await expect(abortOn(leaking)).rejects.toThrow('left something behind')
  opened.forEach(closeSync)
})
