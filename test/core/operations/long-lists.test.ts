/** Lists of long values, which are worked on in slices: the answers are those of one value at a time, and errors name the same positions. */
import { expect, it } from 'vitest'
import { column } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const TABLES = {
  letters: {
    text: column.string({ token: 'deterministic' }),
    draft: column.string({ token: 'random' }),
    pages: column.json({ token: 'random' }),
  },
}

/** Short and long texts in turn, of 600 KB in all: at least three slices. */
const TEXTS = Array.from({ length: 12 }, (_, index) => `letter ${index} `.repeat(index % 2 === 0 ? 1 : 10_000))

onEachStorage('lists of long values', (engine) => {
  it('are tokenized and detokenized as short ones are', async () => {
    const { vault } = await openLoose(engine.fresh().open(), TABLES)
    const session = vault.as(OWNER)
    const fields = TEXTS.map((text) => ({ text, draft: `${text}!`, pages: { text } }))
    const stored = await session.insert(
      'letters',
      fields.map((one) => ({ fields: one })),
      { tokenization: true },
    )
    const tokens = stored.records.map((record) => record.tokens)

    const asked = await session.tokenize(TEXTS.map((value) => ({ value, table: 'letters', column: 'text' })))
    expect(asked.records.map(({ token }) => token)).toEqual(tokens.map((own) => own?.text))

    for (const name of ['text', 'draft', 'pages'] as const) {
      const found = await session.detokenize(tokens.map((own) => ({ token: own?.[name] ?? '', redaction: 'PLAIN_TEXT' })))
      const shown = fields.map((own) => (name === 'pages' ? JSON.stringify(own.pages) : own[name]))
      expect(found.records.map(({ value }) => value === shown.shift())).toEqual(TEXTS.map(() => true))
    }
    await vault.close()
  })

  it('are read and deleted by the conditions of a policy as short ones are', async () => {
    const policy = { reader: ["ALLOW READ, DELETE ON letters.* WHERE draft LIKE 'even%'"] }
    const { vault } = await openLoose(engine.fresh().open(), TABLES, { policy })
    const reader = vault.as({ ...OWNER, roles: ['reader'] })
    const fields = TEXTS.map((text, index) => ({ text, draft: `${index % 2 === 0 ? 'odd' : 'even'} ${index}` }))
    const { records } = await vault.as(OWNER).insert(
      'letters',
      fields.map((one) => ({ fields: one })),
    )
    const ids = records.map(({ id = '' }) => id)
    const visible = ids.filter((_, index) => index % 2 === 1)
    await expect(reader.get('letters', { ids })).rejects.toMatchObject({ code: 'not_found' })
    expect((await reader.get('letters', { ids: visible })).records.map(({ id }) => id)).toEqual(visible)
    await expect(reader.delete('letters', ids)).rejects.toMatchObject({ code: 'not_found' })
    await reader.delete('letters', visible)
    expect((await vault.as(OWNER).get('letters')).records).toHaveLength(TEXTS.length - visible.length)
    await vault.close()
  })

  it('name the positions of what is missing in every slice', async () => {
    const { vault } = await openLoose(engine.fresh().open(), TABLES)
    const session = vault.as(OWNER)
    await session.insert(
      'letters',
      TEXTS.map((text) => ({ fields: { text } })),
    )
    const others = TEXTS.map((text, index) => (index % 5 === 1 ? `${text}?` : text))
    const failed = await session
      .tokenize(others.map((value) => ({ value, table: 'letters', column: 'text' })))
      .catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'not_found', details: [{ index: 1 }, { index: 6 }, { index: 11 }] })
    await vault.close()
  })

  it('are shown beside short ones of the same turn, each to its caller', async () => {
    const { vault } = await openLoose(engine.fresh().open(), TABLES)
    const session = vault.as(OWNER)
    const texts = [...Array.from({ length: 8 }, (_, index) => `${index} `.repeat(100_000)), 'a', 'b', 'c', 'd']
    const { records } = await session.insert(
      'letters',
      texts.map((draft) => ({ fields: { draft } })),
      { tokenization: true },
    )
    const tokens = records.map((record) => record.tokens?.draft ?? '')
    const valuesOf = async (...asked: readonly string[]) => {
      const found = await session.detokenize(asked.map((token) => ({ token, redaction: 'PLAIN_TEXT' })))
      return found.records.map(({ value }) => value)
    }
    const [long, ...short] = await Promise.all([
      valuesOf(...tokens.slice(0, 8)),
      ...tokens.slice(8).map((token) => valuesOf(token)),
    ])
    expect(long.map((value, index) => value === texts[index])).toEqual(long.map(() => true))
    expect(short).toEqual([['a'], ['b'], ['c'], ['d']])
    await vault.close()
  })

  it('are changed, one by one and all at once, as short ones are, and an upsert finds them', async () => {
    const { vault } = await openLoose(engine.fresh().open(), {
      pages: {
        number: column.integer({ unique: true }),
        draft: column.string({ token: { kind: 'random', stable: true }, redaction: 'PLAIN_TEXT' }),
        note: column.string({ token: 'deterministic', redaction: 'PLAIN_TEXT' }),
        shelf: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
      },
    })
    const session = vault.as(OWNER)
    // Some are long before the change and some after it, so slices end by either.
    const fieldsOf = (seed: number) =>
      Array.from({ length: 24 }, (_, index) => ({
        ...{ number: index, shelf: `shelf ${index % 3}`, note: `note ${index % 4}` },
        draft: `${seed}.${index} `.repeat((index + seed) % 3 === 0 ? 20_000 : 1),
      }))
    const before = fieldsOf(0)
    const { records } = await session.insert(
      'pages',
      before.map((fields) => ({ fields })),
      { tokenization: true },
    )
    const ids = records.map(({ id = '' }) => id)
    const stored = async (asked = ids) => (await session.get('pages', { ids: asked })).records.map(({ fields }) => fields)
    const all = (list: readonly object[]) => list.map((fields, index) => ({ ...fields, number: index }))
    const shown = async () => (await stored()).map((fields, index) => ({ ...fields, number: index }))

    const second = fieldsOf(1).map(({ draft }) => ({ draft }))
    const updated = await session.update(
      'pages',
      second.map((fields, index) => ({ id: ids[index] ?? '', fields })),
      { tokenization: true },
    )
    expect(await shown()).toEqual(all(before.map((fields, index) => ({ ...fields, ...second[index] }))))
    // The tokens of these values are kept: all of them are of stable columns.
    expect(updated.records.map(({ tokens }) => tokens?.draft)).toEqual(records.map(({ tokens }) => tokens?.draft))
    expect(updated.records.map(({ id }) => id)).toEqual(ids)

    const third = fieldsOf(2)
    const upserted = await session.insert(
      'pages',
      third.map((fields) => ({ fields })),
      { upsert: 'number' },
    )
    expect(upserted.records.map(({ id }) => id)).toEqual(ids)
    expect(await shown()).toEqual(all(third))

    const found = await session.updateWhere('pages', { shelf: ['shelf 1', 'shelf 2'] }, { draft: 'x'.repeat(50_000) })
    expect(found.records).toHaveLength(16)
    const fourth = third.map((fields, index) => (index % 3 === 0 ? fields : { ...fields, draft: 'x'.repeat(50_000) }))
    expect(await shown()).toEqual(all(fourth))
    expect(await vault.verifyRecords()).toMatchObject({ ok: true })
    expect((await session.deleteWhere('pages', { shelf: 'shelf 1' })).ids).toHaveLength(8)
    await session.delete(
      'pages',
      ids.filter((_, index) => index % 3 !== 1),
    )
    expect((await session.get('pages')).records).toHaveLength(0)
    await vault.close()
  })

  it('that fail in a later slice change nothing, and the error names the record', async () => {
    const { vault } = await openLoose(engine.fresh().open(), {
      pages: {
        draft: column.string({ redaction: 'PLAIN_TEXT' }),
        code: column.string({ unique: true, redaction: 'PLAIN_TEXT' }),
      },
    })
    const session = vault.as(OWNER)
    const given = Array.from({ length: 12 }, (_, index) => ({ draft: 'y'.repeat(40_000), code: `code ${index}` }))
    const { records } = await session.insert(
      'pages',
      given.map((fields) => ({ fields })),
    )
    const ids = records.map(({ id = '' }) => id)
    const changes = ids
      .slice(0, 11)
      .map((id, index) => ({ id, fields: { draft: 'z', code: index === 10 ? 'code 11' : `new ${index}` } }))
    await expect(session.update('pages', changes)).rejects.toMatchObject({ code: 'conflict' })
    expect((await session.get('pages', { ids })).records.map(({ fields }) => fields)).toEqual(given)
    await expect(session.delete('pages', [...ids, '5a4bc4ef-11f5-4c08-9887-d943d109abf6'])).rejects.toMatchObject({
      code: 'not_found',
    })
    expect((await session.get('pages', { ids })).records).toHaveLength(12)
    await vault.close()
  })
})
