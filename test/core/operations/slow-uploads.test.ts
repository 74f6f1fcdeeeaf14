/** Uploads that last longer than an upload may: they fail, and the content that is written after the purge is removed. */
import { expect, it } from 'vitest'
import { databaseBlobs } from '../../../src/core/file-store/database-blobs.ts'
import { BLOBS, FILES } from '../../../src/core/schema/system-tables.ts'
import { openArchive } from '../../support/files/open-archive.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { START_MS } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

onEachStorage('an upload that is purged before it ends', (engine) => {
  it('fails, and leaves no row and no blob', async () => {
    const storage = engine.fresh().open()
    const clock = { ms: START_MS }
    const vault = await openArchive({ storage, blobs: databaseBlobs(storage), clock })
    const file = (async function* () {
      yield Buffer.from('the first part')
      clock.ms += 25 * 3_600_000
      expect(await vault.sweep()).toMatchObject({ files: 1 })
      yield Buffer.from('the last part')
    })()
    const upload = vault.as(OWNER).uploadFile({ table: 'papers', column: 'front', file })
    await expect(upload).rejects.toMatchObject({ code: 'aborted' })
    for (const { name } of [BLOBS, FILES])
      expect(await storage.find(name, { kind: 'all' }, { order: 'asc', limit: 10 })).toEqual([])
    expect((await vault.as(OWNER).get('papers', {})).records).toEqual([])
  })
})
