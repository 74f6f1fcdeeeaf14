/** The law of tampered files, and its negative controls. */
import { expect, it } from 'vitest'
import { fileTampering, type Tampering, tamperFiles } from '../laws/file-tampering.ts'
import { onFreshFiles } from '../support/files/file-places.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import { memoryPlaces } from '../support/storages/places.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

itHolds(fileTampering)

const onMemory = { engine: memoryPlaces(), store: 'memory' } as const

it('a tampering that is not refused is found out', async () => {
  const nothing = { 'changes nothing': async () => ({ mend: async () => {} }) }
  const check = onFreshFiles(onMemory, (place) => tamperFiles(place, seededRandom('no tampering'), 1, nothing))
  await expect(check).rejects.toThrow('changes nothing: a file of')
})

it('a byte that was not stored is found out', async () => {
  // The record gets another file, which opens: a reader who expects the file before gets bytes that are not of it.
  const replaced: Tampering = async ({ vault, random }, { id }) => {
    await vault.as(OWNER).uploadFile({ table: 'papers', column: 'front', id, file: random.bytes(300) })
    return { mend: async () => {} }
  }
  const check = onFreshFiles(onMemory, (place) =>
    tamperFiles(place, seededRandom('another content'), 1, { 'another content': replaced }),
  )
  await expect(check).rejects.toThrow('another content')
})
