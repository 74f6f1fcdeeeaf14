/** Files of records that a batch reads and deletes: they are shown as by a read, and their contents are removed after the batch. */
import { expect, test } from 'vitest'
import { openFileVault, pngOf } from '../../support/files/open-file-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'

onEachStorage('a batch', (engine) => {
  test('reads metadata and tickets of files, and removes those of deleted records', async () => {
    const { session, blobs } = await openFileVault(engine.fresh().open())
    const { id } = await session.uploadFile({ table: 'people', column: 'photo', file: pngOf(100) })
    const read = { get: 'people', id, returnFileMetadata: true, downloadTickets: true } as const
    const { responses } = await session.batch([read])
    const { fileMetadata } = await session.getOne('people', id, { returnFileMetadata: true })
    expect(responses[0].value.fileMetadata).toEqual(fileMetadata)
    expect(Object.keys(responses[0].value.downloadTickets)).toEqual(['photo'])
    const removal = { delete: 'people', id } as const
    await expect(session.batch([removal, removal])).rejects.toMatchObject({ code: 'not_found' })
    expect(blobs.keys()).toHaveLength(1)
    await session.batch([removal])
    expect(blobs.keys()).toEqual([])
  })
})
