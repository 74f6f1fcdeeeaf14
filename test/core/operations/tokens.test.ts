/** Tokens through operations: one error for all unknown ones, no duplicates by concurrent calls, and no redirection by edited storage. */
import { expect, it } from 'vitest'
import { TOKENS } from '../../../src/core/schema/system-tables.ts'
import { column, mask } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { insertOne, type LooseVault, openLoose, valuesOf } from '../../support/vaults/open-untyped.ts'

const CALLERS = 64

const TABLES = {
  cards: {
    label: column.string({ token: 'random', redaction: 'MASKED', mask: mask.keepFirst(2) }),
    owner: column.string({ token: 'deterministic', redaction: 'PLAIN_TEXT' }),
    number: column.string({ token: { kind: 'formatPreserving', format: 'card' }, redaction: 'MASKED', mask: mask.keepLast(4) }),
    phone: column.string({ token: { kind: 'deterministicFormatPreserving', format: 'phone' }, redaction: 'PLAIN_TEXT' }),
    pin: column.string({ token: 'transient', redaction: 'PLAIN_TEXT' }),
    kept: column.string({ token: { kind: 'random', stable: true }, redaction: 'PLAIN_TEXT' }),
    code: column.string({ token: { kind: 'formatPreserving', format: 'digits', stable: true }, redaction: 'PLAIN_TEXT' }),
    bare: column.string({ redaction: 'PLAIN_TEXT' }),
  },
}

const FIELDS = { label: 'Gold', owner: 'Ann', number: '4000056655665556', phone: '+46 70 123 45 67', pin: '1234' }

onEachStorage('tokens', (engine) => {
  const open = (id = 'v1'): Promise<LooseVault> => openLoose(engine.fresh().open(), TABLES, { id })

  it('unknown, expired, malformed, deleted and misspelled tokens give the same error, per item; UUIDs in capitals resolve', async () => {
    const { session, clock } = await open()
    const foreign = await insertOne((await open('v2')).session, 'cards', FIELDS)
    const expired = await insertOne(session, 'cards', { pin: '9999' })
    clock.ms += 61 * 60_000
    const { id, tokens } = await insertOne(session, 'cards', FIELDS)
    const dead = await insertOne(session, 'cards', { ...FIELDS, owner: 'Bo', phone: '+46 70 765 43 21' })
    await session.delete('cards', [dead.id])
    const { pin: _stillAlive, ...dying } = dead.tokens
    const bad = [
      '',
      ' ',
      'nonsense',
      id,
      '00000000-0000-4000-8000-000000000000',
      '00000000-0000-8000-8000-000000000000',
      '4000056655665556',
      '+46 70 000 00 00',
      '\u0000',
      '\ud800',
      'x'.repeat(256),
      '𝒳'.repeat(256),
      expired.tokens.pin ?? '',
      `${tokens.owner} `,
      ...Object.values(foreign.tokens),
      ...Object.values(dying),
    ]
    const good = tokens.label ?? ''
    const { records } = await session.detokenize(
      [...bad, good].map((token) => ({ token, redaction: 'PLAIN_TEXT' })),
      { continueOnError: true },
    )
    expect(records).toEqual([
      ...bad.map((token) => ({ token, valueType: 'NONE', value: '', error: 'Token Not Found', code: 'not_found' })),
      { token: good, valueType: 'STRING', value: 'Gold', table: 'cards', column: 'label' },
    ])
    const found = await session.getByTokens([...bad, good], { redaction: 'PLAIN_TEXT' })
    expect(found.records.slice(0, -1)).toEqual(
      bad.map((token) => ({ token, fields: {}, levels: {}, error: 'Token Not Found', code: 'not_found' })),
    )
    expect(found.records.at(-1)).toMatchObject({ id, table: 'cards', fields: { label: 'Gold' } })
    const capitals = ['label', 'owner', 'pin'].map((name) => tokens[name]?.toUpperCase() ?? '')
    expect(await valuesOf(session, capitals)).toEqual([FIELDS.label, FIELDS.owner, FIELDS.pin])
    for (const token of bad) {
      await expect(session.detokenize([{ token }])).rejects.toMatchObject({
        code: 'not_found',
        message: 'Detokenize failed. A token was not found: tokens[0]. Remove it, or set continueOnError.',
      })
    }
  })

  it('detokenize returns the requested level for every token kind', async () => {
    const { session } = await open()
    const { tokens } = await insertOne(session, 'cards', FIELDS)
    const shown = async (redaction?: string) => {
      const asked = ['label', 'owner', 'number', 'phone', 'pin'].map((name) => ({
        token: tokens[name],
        ...(redaction === undefined ? {} : { redaction }),
      }))
      return (await session.detokenize(asked)).records.map(({ value }) => value)
    }
    expect(await shown('PLAIN_TEXT')).toEqual(Object.values(FIELDS))
    expect(await shown('MASKED')).toEqual(['Go**', '*REDACTED*', '************5556', '*REDACTED*', '*REDACTED*'])
    expect(await shown()).toEqual(['Go**', 'Ann', '************5556', '+46 70 123 45 67', '1234'])
    expect(new Set(await shown('REDACTED'))).toEqual(new Set(['*REDACTED*']))
  })

  it('insert and update return tokens only for the columns with a given value', async () => {
    const { session } = await open()
    const { id, tokens } = await insertOne(session, 'cards', { ...FIELDS, label: null, bare: 'x' })
    expect(Object.keys(tokens)).toEqual(['owner', 'number', 'phone', 'pin'])
    const updated = await session.updateOne('cards', id, { label: 'Blue', owner: null, bare: 'y' }, { tokenization: true })
    expect(Object.keys(updated.tokens)).toEqual(['label'])
    const quiet = await session.updateOne('cards', id, { label: 'Red' })
    expect(quiet.tokens).toBeUndefined()
  })

  it(`${CALLERS} concurrent first inserts of one value share one token`, async () => {
    const { session } = await open()
    const stored = await Promise.all(
      Array.from({ length: CALLERS }, () => insertOne(session, 'cards', { owner: 'Ann', phone: FIELDS.phone })),
    )
    expect(new Set(stored.map(({ tokens }) => tokens.owner)).size).toBe(1)
    expect(new Set(stored.map(({ tokens }) => tokens.phone)).size).toBe(1)
    expect(new Set(stored.map(({ id }) => id)).size).toBe(CALLERS)
    expect(await valuesOf(session, [stored[0]?.tokens.owner, stored[0]?.tokens.phone])).toEqual(['Ann', FIELDS.phone])
  })

  it(`${CALLERS} concurrent inserts into a column with a format give distinct tokens, each for its own value`, async () => {
    const { session } = await open()
    const values = Array.from({ length: CALLERS }, (_, i) => `${100_000 + i}`)
    const stored = await Promise.all(values.map((code) => insertOne(session, 'cards', { code })))
    const tokens = stored.map((record) => record.tokens.code)
    expect(new Set(tokens).size).toBe(CALLERS)
    expect(await valuesOf(session, tokens)).toEqual(values)
  })

  it(`exactly one of ${CALLERS} concurrent callers who supply one token succeeds`, async () => {
    const { session } = await open()
    const outcomes = await Promise.allSettled(
      Array.from({ length: CALLERS }, (_, i) =>
        insertOne(session, 'cards', { label: `of ${i}` }, { tokens: { label: 'wanted' }, options: { byot: 'ENABLE' } }),
      ),
    )
    const winners = outcomes.flatMap((outcome, i) => (outcome.status === 'fulfilled' ? [i] : []))
    expect(winners.length).toBe(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected')
        expect(outcome.reason).toMatchObject({ code: 'conflict', details: [{ column: 'label', index: 0 }] })
    }
    expect(await valuesOf(session, ['wanted'])).toEqual([`of ${winners[0]}`])
    expect((await session.get('cards', { limit: 100 })).records.length).toBe(1)
  })

  it('a stable token survives a new value, but not null or the deletion of its record', async () => {
    const { session } = await open()
    const { id, tokens } = await insertOne(session, 'cards', { kept: 'one', code: '111111', label: 'one' })
    const updated = await session.updateOne('cards', id, { kept: 'two', code: '222222', label: 'two' }, { tokenization: true })
    expect(updated.tokens).toEqual({ ...tokens, label: updated.tokens.label })
    expect(updated.tokens.label).not.toBe(tokens.label)
    expect(await valuesOf(session, [tokens.kept, tokens.code, tokens.label])).toEqual(['two', '222222', undefined])
    expect((await session.getOne('cards', id, { tokenization: true })).tokens).toEqual(updated.tokens)
    await session.updateOne('cards', id, { kept: null, code: null })
    const again = await session.updateOne('cards', id, { kept: 'three', code: '333333' }, { tokenization: true })
    expect(again.tokens.kept).not.toBe(tokens.kept)
    expect(await valuesOf(session, [tokens.kept, again.tokens.kept, again.tokens.code])).toEqual([undefined, 'three', '333333'])
    await session.delete('cards', [id])
    expect(await valuesOf(session, [tokens.kept, tokens.code, again.tokens.kept, again.tokens.code])).toEqual(
      new Array(4).fill(undefined),
    )
  })

  it('a JSON value is detokenized as JSON text, in which a text has quotes, so that none looks redacted', async () => {
    const notes = { note: column.json({ token: 'random', redaction: 'REDACTED' }) }
    const { session } = await openLoose(engine.fresh().open(), { notes })
    const texts = ['"*REDACTED*"', '"1"', '1', '"true"', 'true', '"[]"', '[]', '{"a":"b"}', '"\\"é\\""']
    const records = texts.map((text) => ({ fields: { note: JSON.parse(text) } }))
    const stored = (await session.insert('notes', records, { tokenization: true, allowShownText: true })).records
    const shown = async (redaction: string) => {
      const answer = await session.detokenize(stored.map(({ tokens }) => ({ token: tokens.note, redaction })))
      expect(answer.records).toEqual(answer.records.map((item) => ({ ...item, table: 'notes', column: 'note' })))
      return answer.records.map(({ valueType, value, level }) => ({
        valueType,
        value,
        ...(level === undefined ? {} : { level }),
      }))
    }
    expect(await shown('PLAIN_TEXT')).toEqual(texts.map((value) => ({ valueType: 'JSON', value })))
    expect(await shown('DEFAULT')).toEqual(texts.map(() => ({ valueType: 'JSON', value: '*REDACTED*', level: 'REDACTED' })))
  })

  it('a stable token is replaced if the new value equals its text', async () => {
    const { session } = await open()
    const { id, tokens } = await insertOne(session, 'cards', { code: '111111' })
    const updated = await session.updateOne('cards', id, { code: tokens.code }, { tokenization: true })
    expect(updated.tokens.code).not.toBe(tokens.code)
    expect(await valuesOf(session, [tokens.code, updated.tokens.code])).toEqual([undefined, tokens.code])
  })

  it('a deterministic token in 200 records is valid until the last of them is deleted', async () => {
    const { session } = await open()
    const { records } = await session.insert(
      'cards',
      Array.from({ length: 200 }, () => ({ fields: { owner: 'Ann', phone: FIELDS.phone } })),
      { tokenization: true },
    )
    const tokens = [records[0]?.tokens.owner, records[0]?.tokens.phone]
    const ids = records.map(({ id }) => id)
    await session.delete('cards', ids.slice(0, 100))
    await session.updateOne('cards', ids[100] ?? '', { owner: 'Bo', phone: null })
    await session.delete('cards', ids.slice(101, 199))
    expect(await valuesOf(session, tokens)).toEqual(['Ann', FIELDS.phone])
    await session.updateOne('cards', ids[199] ?? '', { owner: 'Cy', phone: '+46 70 000 00 01' })
    expect(await valuesOf(session, tokens)).toEqual([undefined, undefined])
  })

  it('a digest or stored token moved to another row in storage resolves to nothing', async () => {
    const { session, storage } = await open()
    const ann = await insertOne(session, 'cards', FIELDS)
    const bo = await insertOne(session, 'cards', {
      ...FIELDS,
      owner: 'Bo',
      phone: '+46 70 765 43 21',
      number: '4242424242424242',
    })
    const [first, second] = await storage.find('records_1_cards', { kind: 'all' }, { order: 'asc', limit: 2 })
    if (first === undefined || second === undefined) throw new Error('the records are not where they should be')
    const digests = Object.keys(first).filter((name) => name.startsWith('digest_'))
    expect(digests.length).toBe(2)
    const moved = Object.fromEntries(digests.map((name) => [name, second[name] ?? null]))
    await storage.update('records_1_cards', [{ id: first.id, version: first.version, set: moved }])
    const remembered = await storage.find(TOKENS.name, { kind: 'all' }, { order: 'asc', limit: 2 })
    for (const row of remembered) {
      const other = row.row_id === first.id ? second.id : first.id
      await storage.update(TOKENS.name, [{ id: row.id, version: row.version, set: { row_id: other } }])
    }
    const asked = [ann.tokens.owner, ann.tokens.phone, ann.tokens.number, bo.tokens.owner, bo.tokens.phone, bo.tokens.number]
    const values = await valuesOf(session, asked)
    const allowed = ['Ann', FIELDS.phone, FIELDS.number, 'Bo', '+46 70 765 43 21', '4242424242424242']
    for (const [k, value] of values.entries()) expect([undefined, allowed[k]]).toContain(value)
    expect([values[2], values[5]]).toEqual([undefined, undefined])
    const { records } = await session.getByTokens([bo.tokens.owner, bo.tokens.number], { redaction: 'PLAIN_TEXT' })
    for (const { fields, error } of records) expect(error ?? fields.owner).toMatch(/^(Token Not Found|Bo)$/)
    await expect(session.tokenize([{ value: 'Ann', table: 'cards', column: 'owner' }])).rejects.toMatchObject({
      code: 'not_found',
    })
  })
})
