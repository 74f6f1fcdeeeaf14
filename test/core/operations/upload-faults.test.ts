/** Uploads that fail after their content is stored: nothing of them remains, and nothing that a record has is removed. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { VaultError } from '../../../src/core/errors.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column, defineSchema } from '../../../src/index.ts'
import { bytesOf, countedBlobs, fileSchema, openFileVault } from '../../support/files/open-file-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import { STOPPED_TIMER, SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const CONTENT = Buffer.alloc(300_000, 'content ')

onEachStorage('an upload that fails', (engine) => {
  it.each([new Error('foreign'), new VaultError('aborted', 'Aborted.'), new VaultError('storage_full', 'Full.')])(
    'after its commit keeps the content that its record has (%s)',
    async (error) => {
      const faulty = faultyStorage(engine.fresh().open())
      const { session, blobs } = await openFileVault(faulty.storage)
      let commits = 0
      // The first commit is that of the row of the file, the second that of the change, and the third that of the event of the failure.
      faulty.fail(({ method }) => (method === 'committed' && ++commits === 2 ? error : undefined))
      await expect(session.uploadFile({ table: 'people', column: 'paper', file: CONTENT })).rejects.toThrow(VaultError)
      faulty.mend()
      expect(blobs.keys()).toHaveLength(1)
      const id = (await session.get('people')).records[0]?.id ?? ''
      expect((await bytesOf((await session.openFile('people', id, 'paper')).stream)).equals(CONTENT)).toBe(true)
    },
  )

  it('in its second attempt, after another process changed the schema, leaves no content', async () => {
    const sound = engine.fresh().open()
    const blobs = countedBlobs()
    let remove: (() => Promise<unknown>) | undefined
    const storage: StorageHandle = {
      ...sound,
      async transaction(work) {
        try {
          return await sound.transaction(work)
        } catch (error) {
          const due = remove
          remove = undefined
          await due?.()
          throw error
        }
      },
    }
    const { session, person, fileRows } = await openFileVault(storage, { blobs })
    const id = await person()
    async function* source() {
      yield CONTENT
      const other = await openWithMore(sound)
      remove = () => other.delete('people', [id])
    }
    await expect(session.uploadFile({ table: 'people', id, column: 'paper', file: source() })).rejects.toMatchObject({
      code: 'not_found',
    })
    expect(remove).toBeUndefined()
    expect(blobs.keys()).toEqual([])
    expect(await fileRows()).toBe(0)
  })
})

/** Opens the vault with one more column, as a newer process does. */
async function openWithMore(storage: StorageHandle) {
  const schema = defineSchema({ ...fileSchema.tables, people: { ...fileSchema.tables.people, more: column.string() } })
  const vault = await openVault({
    ...SYSTEM_PORTS,
    id: 'v1',
    schema,
    storage,
    keys: localKeys({ key: TEST_SECRET }),
    blobs: countedBlobs(),
    timer: STOPPED_TIMER,
  })
  return vault.as(OWNER)
}
