/** Changes of many long records, which an engine may store in slices: conflicts name their record, and each change locks its records in one call. */
import { expect, it } from 'vitest'
import { column, type VaultError } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { interposedStorage, type Moment } from '../../support/storages/interposed-storage.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const TABLES = {
  pages: {
    draft: column.string({ redaction: 'PLAIN_TEXT' }),
    code: column.string({ unique: true, redaction: 'PLAIN_TEXT' }),
  },
}

/** Records of 480 KB in all: several slices. */
const GIVEN = Array.from({ length: 12 }, (_, index) => ({ draft: 'y'.repeat(40_000), code: `code ${index}` }))

onEachStorage('changes of long records', (engine) => {
  async function openFilled() {
    const { vault } = await openLoose(engine.fresh().open(), TABLES)
    const session = vault.as(OWNER)
    const { records } = await session.insert(
      'pages',
      GIVEN.map((fields) => ({ fields })),
    )
    return { vault, session, records }
  }

  it('name the record whose value is taken, in every slice', async () => {
    const { vault, session, records } = await openFilled()
    const changed = records.slice(0, 11).map(({ id = '' }, index) => ({ id, code: index === 10 ? 'code 11' : `new ${index}` }))
    const fieldsOf = ({ code }: { readonly code: string }) => ({ draft: 'z'.repeat(50_000), code })
    const expected = { code: 'conflict', details: [{ table: 'pages', column: 'code', index: 10 }] }
    const updates = changed.map(({ id, code }) => ({ id, fields: fieldsOf({ code }) }))
    await expect(session.update('pages', updates)).rejects.toMatchObject(expected)
    await vault.transaction(async (work) => {
      const inner = work.as(OWNER)
      const failed = await inner.update('pages', updates).catch((error: VaultError) => error)
      expect(failed).toMatchObject(expected)
      // What the failed change did is rolled back alone.
      await inner.update('pages', updates.slice(0, 10))
    })
    const stored = await session.get('pages', { ids: records.map(({ id = '' }) => id) })
    expect(stored.records.map(({ fields }) => fields?.code)).toEqual([
      ...changed.slice(0, 10).map(({ code }) => code),
      'code 10',
      'code 11',
    ])
    await vault.close()
  })

  it('take unique values that earlier ones of another slice give up, and no later ones', async () => {
    const { vault, session, records } = await openFilled()
    const ids = records.map(({ id = '' }) => id)
    const draft = 'z'.repeat(50_000)
    const moved = ids.map((id, index) => ({ id, fields: { draft, code: index === 0 ? 'free' : `code ${index - 1}` } }))
    await session.update('pages', moved)
    const codes = async () => (await session.get('pages', { ids })).records.map(({ fields }) => fields?.code)
    expect(await codes()).toEqual(moved.map(({ fields }) => fields.code))
    const back = ids.map((id, index) => ({ id, fields: { draft, code: `code ${index}` } }))
    await expect(session.update('pages', back)).rejects.toMatchObject({ code: 'conflict', details: [{ index: 0 }] })
    expect(await codes()).toEqual(moved.map(({ fields }) => fields.code))
    await vault.close()
  })

  it('are one call of the storage, which locks rows in the order of their ids: changes in opposite orders would wait for each other', async () => {
    const moments: Moment[] = []
    const { storage, interpose } = interposedStorage(engine.fresh().open())
    const { vault } = await openLoose(storage, TABLES)
    const session = vault.as(OWNER)
    const { records } = await session.insert(
      'pages',
      Array.from({ length: 300 }, (_, index) => ({ fields: { draft: 'y'.repeat(2000), code: `code ${index}` } })),
    )
    const ids = records.map(({ id = '' }) => id)
    const noted = async (change: () => Promise<unknown>) => {
      moments.length = 0
      interpose({ isDue: (moment) => moments.push(moment) === 0, work: async () => undefined })
      await change()
      return moments.filter(({ table }) => table?.includes('pages') === true).map(({ method }) => method)
    }
    const updates = ids.map((id) => ({ id, fields: { draft: 'z'.repeat(2000) } }))
    expect(await noted(() => session.update('pages', updates))).toEqual(['update'])
    expect(await noted(() => session.delete('pages', ids))).toEqual(['delete'])
    expect((await session.get('pages')).records).toEqual([])
    await vault.close()
  })
})
