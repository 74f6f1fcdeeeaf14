/** Tickets across a rotation: a process opens those that another one sealed with a newer root key, and texts that only say so cost it little. */
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { CATALOG } from '../../../src/core/schema/system-tables.ts'
import { bytesOf, countedBlobs, fileSchema, openFileVault } from '../../support/files/open-file-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { addKey } from '../../support/vaults/planted-rotation.ts'

const CONTENT = Buffer.alloc(1000, 'content ')
const INVALID = { code: 'not_found', httpStatus: 404 }

/** Counts readings of the catalog, and does something after one of them, before its rows are returned. */
function watched(sound: StorageHandle) {
  const seen = { catalog: 0, after: async (): Promise<void> => {} }
  const storage: StorageHandle = {
    ...sound,
    async find(table, filter, page) {
      const rows = await sound.find(table, filter, page)
      if (table !== CATALOG.name) return rows
      seen.catalog++
      const { after } = seen
      seen.after = async () => {}
      await after()
      return rows
    },
  }
  return { seen, storage }
}

/** A text with the header of a ticket that is sealed with this version. */
const forged = (version: number): string =>
  Buffer.from([1, version >> 8, version & 255, ...Buffer.alloc(80, 7)]).toString('base64url')

onEachStorage('tickets across a rotation', (engine) => {
  async function opened() {
    const place = engine.fresh()
    const blobs = countedBlobs()
    const { seen, storage } = watched(place.open())
    const earlier = await openFileVault(storage, { blobs, audit: 'off' })
    const { id } = await earlier.session.uploadFile({ table: 'people', column: 'paper', file: CONTENT })
    const other = place.open()
    const rotated = async () => {
      await openFileVault(other, { blobs, audit: 'off' })
      await addKey(other, fileSchema.tables)
      return openFileVault(place.open(), { blobs, audit: 'off' })
    }
    seen.catalog = 0
    return { earlier, id, rotated, seen }
  }
  const download = async ({ vault }: Awaited<ReturnType<typeof openFileVault>>, ticket: string) =>
    bytesOf((await vault.downloadWithTicket(ticket)).stream)

  it('are opened by a process that did not know the root key', async () => {
    const { earlier, id, rotated, seen } = await opened()
    const newer = await rotated()
    const { ticket } = await newer.session.downloadTicket('people', id, 'paper')
    const { tickets } = await newer.session.uploadTicket({ table: 'people', id, columns: ['paper'] })
    const all = await Promise.all(Array.from({ length: 8 }, () => download(earlier, ticket)))
    expect(all.every((content) => content.equals(CONTENT))).toBe(true)
    expect(seen.catalog).toBe(1)
    await earlier.vault.uploadWithTicket(tickets.paper.ticket, { file: Buffer.from('uploaded') })
    expect((await bytesOf((await newer.session.openFile('people', id, 'paper')).stream)).toString()).toBe('uploaded')
  })

  it('are opened beside a reading of the catalog that began before the rotation', async () => {
    const { earlier, id, rotated, seen } = await opened()
    let downloading: Promise<Buffer> | undefined
    seen.after = async () => {
      const { ticket } = await (await rotated()).session.downloadTicket('people', id, 'paper')
      downloading = download(earlier, ticket)
      await setImmediate()
    }
    await expect(earlier.vault.downloadWithTicket(forged(65_535))).rejects.toMatchObject(INVALID)
    expect((await downloading)?.equals(CONTENT)).toBe(true)
  })

  it('that are forged cost one reading at a time, and none with a version that the process knows or that is gone', async () => {
    const { earlier, seen } = await opened()
    const flood = (text: string) =>
      Promise.all(
        Array.from({ length: 100 }, () => expect(earlier.vault.downloadWithTicket(text)).rejects.toMatchObject(INVALID)),
      )
    for (const text of [forged(0), forged(1), forged(2), '', 'x', '____', 'AQ', 'A'.repeat(100_000)]) await flood(text)
    expect(seen.catalog).toBe(0)
    await flood(forged(65_535))
    expect(seen.catalog).toBeLessThanOrEqual(2)
  })
})
