/** Records whose version was changed in the database to one that no update can raise: writes say so, and do not report other writers. */
import { expect, it } from 'vitest'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { column } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { asLoose, openLoose } from '../../support/vaults/open-untyped.ts'
import { CLERK } from '../../support/vaults/test-vault.ts'

const TABLES = {
  people: {
    email: column.string({ unique: true, redaction: 'PLAIN_TEXT' }),
    country: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
  },
}
/** Deletes only some records, so that a deletion locks each by its version. */
const POLICY = { clerk: ["ALLOW READ, DELETE ON people.* WHERE country = 'SE'"] }

async function changeVersion(storage: StorageHandle, version: bigint): Promise<void> {
  const [row, ...others] = await storage.find('records_1_people', { kind: 'all' }, { order: 'asc', limit: 10 })
  if (row?.id !== 1) throw new Error('the record is missing')
  // All rows are put back at once: a row alone would have a lower id than those that are committed.
  await storage.delete('records_1_people', { filter: { kind: 'all' } })
  await storage.insert('records_1_people', [{ ...row, version }, ...others])
}

onEachStorage('a record whose version is', (engine) => {
  it.each([2n ** 63n - 1n, 2n ** 53n + 1n, -(2n ** 63n)])(
    '%s: writes that need it throw data_loss with table and id',
    async (version) => {
      const { vault, session, storage } = await openLoose(engine.fresh().open(), TABLES, { policy: POLICY })
      const ann = { email: 'ann@acme.example', country: 'SE' }
      const { records } = await session.insert('people', [
        { fields: ann },
        { fields: { email: 'bo@acme.example', country: 'SE' } },
      ])
      const [id = '', other = ''] = records.map((record) => record.id)
      await changeVersion(storage, version)

      const clerk = asLoose(vault.as(CLERK))
      const writes = {
        update: () => session.updateOne('people', id, { country: 'DE' }),
        upsert: () => session.insert('people', [{ fields: { ...ann, country: 'DE' } }], { upsert: 'email' }),
        delete: () => clerk.delete('people', [other, id]),
        'delete of all': () => clerk.delete('people', '*'),
      }
      for (const [name, write] of Object.entries(writes)) {
        await expect(write(), name).rejects.toMatchObject({
          code: 'data_loss',
          message: expect.stringMatching(`Record ${id} of table "people" has a version that no update can raise`),
          details: [{ table: 'people', id }],
        })
      }
      expect((await session.get('people')).records).toHaveLength(2)
      expect(await vault.verifyRecords()).toMatchObject({ findings: [{ kind: 'impossible_version', table: 'people', id }] })
      await session.delete('people', [id])
      expect(await vault.verifyRecords()).toMatchObject({ ok: true, recordCount: 1 })
    },
  )
})

onEachStorage('a record whose version is high', (engine) => {
  it('is updated like any other', async () => {
    const { vault, session, storage } = await openLoose(engine.fresh().open(), TABLES)
    const { records } = await session.insert('people', [{ fields: { country: 'SE' } }])
    await changeVersion(storage, 2n ** 52n)
    await session.updateOne('people', records[0]?.id ?? '', { country: 'DE' })
    expect(await vault.verifyRecords()).toMatchObject({ ok: true })
  })
})
