/** Verification of records finds files whose rows were taken away, changed or swapped in the database. */
import { expect, it } from 'vitest'
import { FILES } from '../../../src/core/schema/system-tables.ts'
import { type FileVault, openFileVault } from '../../support/files/open-file-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'

onEachStorage('verification of files', (engine) => {
  const withFiles = async (): Promise<FileVault> => {
    const vault = await openFileVault(engine.fresh().open())
    for (const length of [10, 20]) {
      const id = await vault.person()
      await vault.session.uploadFile({ table: 'people', id, column: 'paper', file: Buffer.alloc(length, 'x') })
    }
    return vault
  }

  it('finds nothing in what was uploaded, replaced and deleted', async () => {
    const vault = await withFiles()
    const { records } = await vault.session.get('people', {})
    await vault.session.uploadFile({ table: 'people', id: records[0]?.id ?? '', column: 'paper', file: Buffer.alloc(5, 'x') })
    await vault.session.deleteFile('people', records[1]?.id ?? '', 'paper')
    expect(await vault.vault.verifyRecords()).toMatchObject({ ok: true, recordCount: 2 })
  })

  it('names the column and the record of each', async () => {
    const changes: [string, (vault: FileVault) => Promise<unknown>, number][] = [
      ['missing_file', ({ storage }) => storage.delete(FILES.name, { ids: [1] }), 1],
      ['missing_file', ({ storage }) => storage.update(FILES.name, [{ id: 1, version: 2, set: { remove_at: 1 } }]), 1],
      ['wrong_file', ({ storage }) => storage.update(FILES.name, [{ id: 1, version: 2, set: { row_id: 2 } }]), 1],
      [
        'wrong_file',
        async ({ storage }) => {
          const [one, two] = await storage.get(FILES.name, [1, 2])
          await storage.update(FILES.name, [
            { id: 1, version: 2, set: { body: two?.body ?? null } },
            { id: 2, version: 2, set: { body: one?.body ?? null } },
          ])
        },
        2,
      ],
    ]
    for (const [kind, change, count] of changes) {
      const vault = await withFiles()
      await change(vault)
      const found = await vault.vault.verifyRecords({ table: 'people' })
      expect(found).toMatchObject({ ok: false, findingCount: count, counts: { [kind]: count } })
      expect(found.findings[0]).toMatchObject({ table: 'people', column: 'paper' })
    }
  })
})
