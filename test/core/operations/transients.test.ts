/** Transient values: stored apart from their record, valid until a fixed time, and deleted for good by a purge. */
import { expect, it } from 'vitest'
import { TOKENS, TRANSIENTS } from '../../../src/core/schema/system-tables.ts'
import { column, mask } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { interposedStorage } from '../../support/storages/interposed-storage.ts'
import {
  asLoose,
  insertOne,
  type LooseSession,
  type LooseVault,
  openLoose,
  START_MS,
  valuesOf,
} from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const MINUTE = 60_000
const PLAIN = { redaction: 'PLAIN_TEXT' } as const
const TABLES = {
  cards: {
    holder: column.string({ unique: true, token: 'random', ...PLAIN }),
    code: column.string({ token: 'transient', ...PLAIN }),
    brief: column.integer({ required: true, token: { kind: 'transient', ttlMinutes: 1 }, ...PLAIN }),
    lasting: column.json({ token: { kind: 'transient', ttlMinutes: 20_160 }, ...PLAIN }),
  },
}
const FIELDS = { holder: 'Ann', code: '123', brief: 7, lasting: { a: 1 } }
const NAMES = ['code', 'brief', 'lasting'] as const

onEachStorage('transient values', (engine) => {
  const open = (): Promise<LooseVault> => openLoose(engine.fresh().open(), TABLES)
  const alive = async ({ session }: LooseVault, tokens: Readonly<Record<string, string>>) =>
    valuesOf(
      session,
      NAMES.map((name) => tokens[name]),
    )
  const rowCount = async ({ storage }: LooseVault, table = TRANSIENTS.name): Promise<unknown> =>
    (await storage.aggregate(table, { kind: 'all' }, [{ kind: 'count' }]))[0]

  it('are absent from every read at every level, even if named', async () => {
    const { session } = await open()
    const { id, tokens } = await insertOne(session, 'cards', FIELDS)
    for (const redaction of ['PLAIN_TEXT', 'MASKED', 'REDACTED', 'DEFAULT']) {
      expect(Object.keys((await session.getOne('cards', id, { redaction })).fields)).toEqual(['holder'])
      expect((await session.get('cards', { redaction })).records.map(({ fields }) => Object.keys(fields))).toEqual([['holder']])
    }
    expect((await session.getOne('cards', id, { fields: ['code', 'holder'] })).fields).toEqual({ holder: 'Ann' })
    expect((await session.get('cards', { where: { holder: 'Ann' } })).records[0]?.fields).toEqual({
      holder: 'Ann',
    })
    const { records } = await session.getByTokens([tokens.holder, tokens.code], { redaction: 'PLAIN_TEXT' })
    expect(records[0]?.fields).toEqual({ holder: 'Ann' })
    expect(records[1]).toEqual({ token: tokens.code, fields: {}, levels: {}, error: 'Token Not Found', code: 'not_found' })
    await expect(session.get('cards', { where: { code: '123' } })).rejects.toMatchObject({
      code: 'unprocessable',
    })
    await expect(session.tokenize([{ value: '123', table: 'cards', column: 'code' }])).rejects.toMatchObject({
      code: 'unprocessable',
    })
  })

  it('expire after the minutes of their column, default 60, to the millisecond', async () => {
    const vault = await open()
    const { tokens } = await insertOne(vault.session, 'cards', FIELDS)
    for (const [minutes, before, after] of [
      [1, ['123', '7', '{"a":1}'], ['123', undefined, '{"a":1}']],
      [60, ['123', undefined, '{"a":1}'], [undefined, undefined, '{"a":1}']],
      [20_160, [undefined, undefined, '{"a":1}'], [undefined, undefined, undefined]],
    ] as const) {
      vault.clock.ms = START_MS + minutes * MINUTE - 1
      expect(await alive(vault, tokens)).toEqual(before)
      vault.clock.ms = START_MS + minutes * MINUTE
      expect(await alive(vault, tokens)).toEqual(after)
    }
    expect(await rowCount(vault)).toBe(3) // Nothing was purged: the time alone expires them.
  })

  it('do not live longer by reads or by changes of other columns', async () => {
    const vault = await open()
    const { id, tokens } = await insertOne(vault.session, 'cards', FIELDS)
    vault.clock.ms += 59 * MINUTE
    expect((await alive(vault, tokens))[0]).toBe('123')
    await vault.session.updateOne('cards', id, { holder: 'Bo' })
    await vault.session.getOne('cards', id, { tokenization: true })
    vault.clock.ms += MINUTE
    expect((await alive(vault, tokens))[0]).toBeUndefined()
  })

  it('get a new token and expiry by an update, which deletes the old row', async () => {
    const vault = await open()
    const { id, tokens } = await insertOne(vault.session, 'cards', FIELDS)
    vault.clock.ms += 59 * MINUTE
    const updated = await vault.session.updateOne('cards', id, { code: '456' }, { tokenization: true })
    expect(updated.tokens.code).not.toBe(tokens.code)
    expect(await rowCount(vault)).toBe(3)
    vault.clock.ms += 59 * MINUTE
    expect(await valuesOf(vault.session, [tokens.code, updated.tokens.code])).toEqual([undefined, '456'])
    await vault.session.updateOne('cards', id, { code: null })
    expect(await rowCount(vault)).toBe(2)
    expect(await valuesOf(vault.session, [updated.tokens.code])).toEqual([undefined])
  })

  it('keep their token when they are written again, and their time starts again', async () => {
    const vault = await open()
    const { session, clock } = vault
    const { id, tokens } = await insertOne(session, 'cards', FIELDS, {
      tokens: { brief: 'my brief' },
      options: { byot: 'ENABLE' },
    })
    clock.ms += MINUTE - 1
    const { brief, ...written } = FIELDS
    const again = await session.updateOne('cards', id, { brief }, { tokenization: true })
    expect(again.tokens).toEqual({ brief: 'my brief' })
    const upserted = await insertOne(session, 'cards', written, { options: { upsert: 'holder' } })
    const { brief: _mine, ...others } = tokens
    expect(upserted.tokens).toEqual(others)
    expect([await rowCount(vault), await rowCount(vault, TOKENS.name)]).toEqual([3, 1])
    clock.ms += MINUTE - 1
    expect(await alive(vault, tokens)).toEqual(['123', '7', '{"a":1}'])
    clock.ms += 1
    expect(await alive(vault, tokens)).toEqual(['123', undefined, '{"a":1}'])
    // An expired value is gone, whether it is purged or not: the same value is a new one.
    const late = await session.updateOne('cards', id, { brief }, { tokenization: true })
    expect(late.tokens.brief).not.toBe('my brief')
    clock.ms += 59 * MINUTE - 2
    expect(await alive(vault, tokens)).toEqual(['123', undefined, '{"a":1}'])
    clock.ms += 2
    expect(await alive(vault, tokens)).toEqual([undefined, undefined, '{"a":1}'])
    expect((await vault.vault.verifyRecords()).ok).toBe(true)
  })

  it('that are purged while they are written again have a new token', async () => {
    const { storage, interpose } = interposedStorage(engine.fresh().open())
    const vault = await openLoose(storage, TABLES)
    const { id, tokens } = await insertOne(vault.session, 'cards', FIELDS)
    vault.clock.ms += 60 * MINUTE - 1
    const purge = async () => {
      vault.clock.ms += 1
      await vault.vault.sweep()
    }
    const wasPurged = interpose({ isDue: ({ method }) => method === 'begin', work: purge })
    const { code, lasting } = FIELDS
    const again = await vault.session.updateOne('cards', id, { code, lasting }, { tokenization: true })
    expect(wasPurged()).toBe(true)
    expect(again.tokens.lasting).toBe(tokens.lasting)
    expect(again.tokens.code).not.toBe(tokens.code)
    expect(await valuesOf(vault.session, [again.tokens.code, tokens.code])).toEqual(['123', undefined])
  })

  it('are not replaced by their masked form, as long as they live', async () => {
    const hidden = { secrets: { code: column.string({ redaction: 'MASKED', mask: mask.keepFirst(1), token: 'transient' }) } }
    const { session, clock } = await openLoose(engine.fresh().open(), hidden)
    const { id } = await insertOne(session, 'secrets', { code: 'abc' })
    const write = (code: string) => session.updateOne('secrets', id, { code })
    await expect(write('a**')).rejects.toMatchObject({ code: 'unprocessable', details: [{ column: 'code' }] })
    await write('b**')
    await write('abc')
    clock.ms += 60 * MINUTE
    await write('a**')
  })

  it('get a new token and expiry by an upsert', async () => {
    const vault = await open()
    const { tokens } = await insertOne(vault.session, 'cards', FIELDS)
    const again = await insertOne(vault.session, 'cards', { holder: 'Ann', code: '456' }, { options: { upsert: 'holder' } })
    expect(await valuesOf(vault.session, [tokens.code, again.tokens.code, tokens.lasting])).toEqual([undefined, '456', '{"a":1}'])
    expect(await rowCount(vault)).toBe(3)
  })

  it('stay valid until they expire after their record is deleted, singly or with all', async () => {
    const vault = await open()
    const one = await insertOne(vault.session, 'cards', FIELDS)
    const two = await insertOne(vault.session, 'cards', { ...FIELDS, holder: 'Bo' })
    await vault.session.delete('cards', [one.id])
    await vault.session.delete('cards', '*')
    for (const { tokens } of [one, two]) expect(await alive(vault, tokens)).toEqual(['123', '7', '{"a":1}'])
    expect(await valuesOf(vault.session, [one.tokens.holder, two.tokens.holder])).toEqual([undefined, undefined])
    vault.clock.ms += 60 * MINUTE
    for (const { tokens } of [one, two]) expect(await alive(vault, tokens)).toEqual([undefined, undefined, '{"a":1}'])
  })

  it('are absent from tokens once expired', async () => {
    const { session, clock } = await open()
    const { id, tokens } = await insertOne(session, 'cards', FIELDS)
    const view = async () => (await session.getOne('cards', id, { tokenization: true })).tokens
    expect(await view()).toEqual(tokens)
    clock.ms += MINUTE
    const { brief: _over, ...rest } = tokens
    expect(await view()).toEqual(rest)
    expect((await session.getOne('cards', id, { tokenization: true, fields: ['brief'] })).fields).toEqual({})
  })

  it('are deleted by sweep with their supplied tokens, in slices, and counted', async () => {
    const vault = await open()
    const { session, clock } = vault
    for (let from = 0; from < 1_200; from += 600) {
      const records = Array.from({ length: 600 }, (_, i) => ({
        fields: { code: `c${from + i}`, brief: i },
        tokens: { code: `code ${from + i}` },
      }))
      await session.insert('cards', records, { byot: 'ENABLE' })
    }
    const { tokens } = await insertOne(session, 'cards', { ...FIELDS, lasting: { kept: true } })
    expect(await vault.vault.sweep()).toMatchObject({ transients: 0, files: 0, credentials: 0 })
    clock.ms += MINUTE
    expect(await vault.vault.sweep()).toMatchObject({ transients: 1_201, files: 0, credentials: 0 })
    expect(await rowCount(vault)).toBe(1_202)
    expect(await valuesOf(session, ['code 0', 'code 1199'])).toEqual(['c0', 'c1199'])
    clock.ms += 59 * MINUTE
    expect(await valuesOf(session, ['code 0', 'code 1199'])).toEqual([undefined, undefined])
    expect(await vault.vault.sweep()).toMatchObject({ transients: 1_201, files: 0, credentials: 0 })
    expect(await vault.vault.sweep()).toMatchObject({ transients: 0, files: 0, credentials: 0 })
    expect(await rowCount(vault)).toBe(1)
    expect(await rowCount(vault, TOKENS.name)).toBe(0)
    expect(await alive(vault, tokens)).toEqual([undefined, undefined, '{"kept":true}'])
    expect((await session.get('cards', { limit: 1 })).records.length).toBe(1)
  })

  it('stay deleted if the clock is set back after a purge', async () => {
    const vault = await open()
    const { tokens } = await insertOne(vault.session, 'cards', FIELDS)
    vault.clock.ms += 60 * MINUTE
    await vault.vault.sweep()
    vault.clock.ms = START_MS - 60 * MINUTE
    expect(await alive(vault, tokens)).toEqual([undefined, undefined, '{"a":1}'])
  })

  it('expire at the sealed time, even if the stored one was changed', async () => {
    const vault = await open()
    const { tokens } = await insertOne(vault.session, 'cards', FIELDS)
    const rows = await vault.storage.find(TRANSIENTS.name, { kind: 'all' }, { order: 'asc', limit: 10 })
    const far = START_MS + 10 ** 10
    await vault.storage.update(
      TRANSIENTS.name,
      rows.map(({ id, version }) => ({ id, version, set: { expires_at: far } })),
    )
    vault.clock.ms += 60 * MINUTE
    expect(await alive(vault, tokens)).toEqual([undefined, undefined, '{"a":1}'])
  })

  it('resolve to nothing if a body or token was moved in storage', async () => {
    const vault = await open()
    const one = await insertOne(
      vault.session,
      'cards',
      { code: 'mine', brief: 1 },
      { tokens: { code: 'my code' }, options: { byot: 'ENABLE' } },
    )
    const two = await insertOne(vault.session, 'cards', { code: 'yours', brief: 2 })
    const rows = await vault.storage.find(TRANSIENTS.name, { kind: 'all' }, { order: 'asc', limit: 10 })
    const bodies = rows.map(({ body }) => body ?? null)
    const swapped = rows.map(({ id, version }, k) => ({ id, version, set: { body: bodies[(k + 1) % bodies.length] ?? null } }))
    await vault.storage.update(TRANSIENTS.name, swapped)
    const tokens = [one.tokens.code, one.tokens.brief, two.tokens.code, two.tokens.brief]
    expect(await valuesOf(vault.session, tokens)).toEqual([undefined, undefined, undefined, undefined])
    const restored = rows.map(({ id, version }, k) => ({ id, version: version + 1, set: { body: bodies[k] ?? null } }))
    await vault.storage.update(TRANSIENTS.name, restored)
    const [token] = await vault.storage.find(TOKENS.name, { kind: 'all' }, { order: 'asc', limit: 1 })
    if (token === undefined) throw new Error('the supplied token is not stored')
    for (const { id } of rows.slice(1)) {
      const [now] = await vault.storage.get(TOKENS.name, [token.id])
      await vault.storage.update(TOKENS.name, [{ id: token.id, version: now?.version ?? 0, set: { row_id: id } }])
      expect(await valuesOf(vault.session, ['my code'])).not.toContain('yours')
    }
  })

  it('commit or roll back with their transaction', async () => {
    const vault = await open()
    const before = await insertOne(vault.session, 'cards', FIELDS)
    const change = async (session: LooseSession) => {
      const made = await insertOne(session, 'cards', { ...FIELDS, holder: 'Bo' })
      const updated = await session.updateOne('cards', before.id, { code: '456' }, { tokenization: true })
      expect(await valuesOf(session, [made.tokens.code, updated.tokens.code, before.tokens.code])).toEqual([
        '123',
        '456',
        undefined,
      ])
      return [made.tokens.code, updated.tokens.code]
    }
    let seen: (string | undefined)[] = []
    const failed = vault.vault.transaction(async (inside) => {
      seen = await change(asLoose(inside.as(OWNER)))
      throw new Error('changed my mind')
    })
    await expect(failed).rejects.toThrow('changed my mind')
    expect(await valuesOf(vault.session, [...seen, before.tokens.code])).toEqual([undefined, undefined, '123'])
    expect(await rowCount(vault)).toBe(3)
    seen = await vault.vault.transaction((inside) => change(asLoose(inside.as(OWNER))))
    expect(await valuesOf(vault.session, [...seen, before.tokens.code])).toEqual(['123', '456', undefined])
    expect(await rowCount(vault)).toBe(6)
  })

  it('are not stored by a failed insert', async () => {
    const vault = await open()
    await insertOne(vault.session, 'cards', FIELDS)
    const clash = vault.session.insert('cards', [{ fields: { holder: 'Bo', code: 'x', brief: 1 } }, { fields: FIELDS }])
    await expect(clash).rejects.toMatchObject({ code: 'conflict', details: [{ column: 'holder', index: 1 }] })
    expect(await rowCount(vault)).toBe(3)
    await expect(vault.session.insert('cards', [{ fields: { holder: 'Bo' } }])).rejects.toMatchObject({
      code: 'unprocessable',
      details: [{ column: 'brief' }],
    })
  })
})
