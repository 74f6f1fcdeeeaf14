/** Values without a token (`whenRefused: 'noToken'`): a value that the format of its column refuses is stored without a token, and everything else works as for other values. */
import { expect, it } from 'vitest'
import { column, defineSchema } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { openFast } from '../../support/vaults/fast-ports.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const card = { format: 'card', whenRefused: 'noToken' } as const
const schema = defineSchema({
  cards: {
    drawn: column.string({ unique: true, token: { kind: 'formatPreserving', ...card }, redaction: 'PLAIN_TEXT' }),
    derived: column.string({ token: { kind: 'deterministicFormatPreserving', ...card }, redaction: 'PLAIN_TEXT' }),
    steady: column.string({ token: { kind: 'formatPreserving', ...card, stable: true }, redaction: 'PLAIN_TEXT' }),
    plain: column.string({ encrypted: false, token: { kind: 'formatPreserving', ...card }, redaction: 'PLAIN_TEXT' }),
    strict: column.string({ token: { kind: 'formatPreserving', format: 'card', whenRefused: 'fail' } }),
  },
})
const GOOD = '4111111111111111'
const OTHER = '4012888888881881'
const BAD = 'on account'
const all = (value: string) => ({ drawn: value, derived: value, steady: value, plain: value })
const NONE = { drawn: null, derived: null, steady: null, plain: null }
const TOKENS = {
  drawn: expect.stringMatching(/^\d{12}1111$/),
  derived: expect.stringMatching(/^\d{12}1111$/),
  steady: expect.stringMatching(/^\d{12}1111$/),
  plain: expect.stringMatching(/^\d{12}1111$/),
}
const view = { tokenization: true } as const

onEachStorage('a value that its token format refuses', (engine) => {
  it('is stored without a token, read, found, and given one when it changes', async () => {
    const place = await engine.fresh()
    const vault = await openFast(place.open(), schema)
    const session = vault.as(OWNER)
    const { records } = await session.insert('cards', [{ fields: all(GOOD) }, { fields: all(BAD) }, { fields: {} }], view)
    const [good, bad, empty] = records
    expect(records.map(({ tokens }) => tokens)).toEqual([TOKENS, NONE, {}])
    const read = await session.get('cards', { ids: [good?.id ?? '', bad?.id ?? '', empty?.id ?? ''], ...view })
    expect(read.records.map(({ tokens }) => tokens)).toEqual([good?.tokens, NONE, {}])
    expect((await session.getOne('cards', bad?.id ?? '')).fields).toMatchObject(all(BAD))
    expect((await session.get('cards', { where: { drawn: BAD } })).records.map(({ id }) => id)).toEqual([bad?.id])
    expect((await session.get('cards', { where: { derived: BAD } })).records.map(({ id }) => id)).toEqual([bad?.id])
    const asked = [GOOD, BAD].map((value) => ({ table: 'cards', column: 'derived', value }) as const)
    expect((await session.tokenize(asked)).records).toEqual([{ token: good?.tokens.derived }, { token: null }])
    await expect(session.tokenize([{ table: 'cards', column: 'derived', value: 'nowhere' }])).rejects.toThrow('No record holds')

    // From a value with a token to one without: the tokens end, but for the stable one.
    const texts = Object.values(good?.tokens ?? {}).filter((token) => token !== null)
    const changed = await session.updateOne('cards', good?.id ?? '', { ...all('none'), derived: 'none' }, view)
    expect(changed.tokens).toEqual({ ...NONE, steady: good?.tokens.steady })
    const found = await session.getByTokens(texts)
    expect(found.records.map((record) => ('error' in record ? null : record.id))).toEqual([null, null, good?.id, null])
    // And back.
    const back = await session.updateOne('cards', good?.id ?? '', all(GOOD), view)
    expect(back.tokens).toMatchObject({ ...TOKENS, derived: good?.tokens.derived, steady: good?.tokens.steady })
    const given = await session.updateOne('cards', bad?.id ?? '', all(OTHER), view)
    for (const token of Object.values(given.tokens)) expect(token).toMatch(/^\d{12}1881$/)
    // The same value again keeps what it has.
    await session.updateOne('cards', bad?.id ?? '', all(BAD))
    expect(
      (await session.updateOne('cards', bad?.id ?? '', { drawn: BAD, derived: BAD, plain: BAD }, view)).tokens,
    ).toMatchObject({
      drawn: null,
      derived: null,
      plain: null,
    })

    // Upsert, a supplied token, and what is refused still.
    const upserted = await session.insert('cards', [{ fields: { drawn: BAD, plain: GOOD } }], { upsert: 'drawn', ...view })
    expect(upserted.records).toMatchObject([{ id: bad?.id, tokens: { drawn: null, plain: expect.stringMatching(/1111$/) } }])
    const supplied = await session.insertOne('cards', { plain: 'cash' }, { tokens: { plain: 'crm-17' }, byot: 'ENABLE', ...view })
    expect(supplied.tokens).toEqual({ plain: 'crm-17' })
    await expect(session.insertOne('cards', { strict: BAD })).rejects.toThrow('must be a card number')
    expect(await vault.verifyRecords()).toMatchObject({ ok: true })

    // Look-up keys are rotated, and the map has tokens only.
    if (engine.name !== 'memory') return vault.close()
    await vault.rotateLookups()
    const pairs: unknown[] = []
    for await (const { tokens } of vault.tokenMap({ table: 'cards' })) pairs.push(...Object.values(tokens).flat())
    expect(pairs.every((text) => typeof text === 'string')).toBe(true)
    expect((await session.getOne('cards', bad?.id ?? '', view)).tokens).toMatchObject({ drawn: null, derived: null })
    expect((await session.tokenize(asked)).records[1]).toEqual({ token: null })
    await vault.finishLookups()
    expect(await vault.verifyRecords()).toMatchObject({ ok: true })
    await vault.close()
  })
})
