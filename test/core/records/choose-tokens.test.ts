/** Drawn tokens are unused: collisions are drawn again, nearly full formats are searched, and exhausted formats give an error. */
import { expect, it } from 'vitest'
import { systemEntropy } from '../../../src/adapters/system/system.ts'
import type { Entropy } from '../../../src/core/ports/crypto.ts'
import { tokenRows } from '../../../src/core/records/token-store.ts'
import type { SchemaDefinition } from '../../../src/core/schema/column.ts'
import { TOKENS } from '../../../src/core/schema/system-tables.ts'
import { column } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { asLoose, insertOne, type LooseRecord, type LooseVault, openLoose, valuesOf } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

/** A format with exactly a million tokens. */
const TABLES: SchemaDefinition = {
  codes: {
    code: column.string({ token: { kind: 'formatPreserving', format: { pattern: '\\d{6}' } }, redaction: 'PLAIN_TEXT' }),
    digits: column.string({ token: { kind: 'formatPreserving', format: 'digits' }, redaction: 'PLAIN_TEXT' }),
    label: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }),
    same: column.string({
      token: { kind: 'deterministicFormatPreserving', format: { pattern: '\\d{6}' } },
      redaction: 'PLAIN_TEXT',
    }),
  },
}

/** The same format beside a key to upsert by. */
const KEYED: SchemaDefinition = {
  codes: {
    key: column.string({ unique: true, redaction: 'PLAIN_TEXT' }),
    code: column.string({ token: { kind: 'formatPreserving', format: { pattern: '\\d{6}' } }, redaction: 'PLAIN_TEXT' }),
  },
}

/** Entropy that draws zero, the rank of 000000, this many times, or as the test defines. */
interface Rigged {
  zeros: number
  draws: number
  bytes: Entropy['bytes']
}

function rig(): Rigged {
  const rigged: Rigged = {
    zeros: 0,
    draws: 0,
    bytes(count) {
      rigged.draws++
      return rigged.zeros-- > 0 ? new Uint8Array(count) : systemEntropy.bytes(count)
    },
  }
  return rigged
}

const textOf = (rank: number): string => String(rank).padStart(6, '0')

/** Fills the format from 000000 on, except one rank. */
async function fillFormat({ storage, ring }: LooseVault, count: number, free?: number): Promise<void> {
  const ranks = Array.from({ length: count }, (_, rank) => rank).filter((rank) => rank !== free)
  for (let from = 0; from < ranks.length; from += 2_000) {
    const slice = ranks.slice(from, from + 2_000)
    const tokens = slice.map((rank) => ({ text: textOf(rank), objectId: 60_000, row: rank + 1 }))
    await storage.insert(TOKENS.name, await tokenRows(storage, ring, tokens))
  }
}

onEachStorage('drawing tokens', (engine) => {
  /** The caller sets the request ids, so that random bytes are drawn only for tokens. */
  async function open(rigged: Rigged, tables: SchemaDefinition = TABLES): Promise<LooseVault> {
    const loose = await openLoose(engine.fresh().open(), tables, { entropy: { bytes: (count) => rigged.bytes(count) } })
    const request = { requestID: 'request-1', traceID: '0123456789abcdef0123456789abcdef' }
    return { ...loose, session: asLoose(loose.vault.as({ ...OWNER, request })) }
  }

  it('draws again when the token is in use', async () => {
    const rigged = rig()
    const { session } = await open(rigged)
    rigged.zeros = 1
    const first = await insertOne(session, 'codes', { code: '999999' })
    expect(first.tokens.code).toBe('000000')
    rigged.zeros = 3
    rigged.draws = 0
    const second = await insertOne(session, 'codes', { code: '999998' })
    expect(rigged.draws).toBeGreaterThanOrEqual(4)
    expect(second.tokens.code).toMatch(/^[0-9]{6}$/)
    expect(await valuesOf(session, [first.tokens.code, second.tokens.code])).toEqual(['999999', '999998'])
  })

  it('stores another token when one of a sparse format, which is not looked up, is in use', async () => {
    const rigged = rig()
    const { session, vault } = await open(rigged)
    rigged.zeros = 1
    const first = await insertOne(session, 'codes', { digits: '9999999999999999' })
    expect(first.tokens.digits).toBe('0000000000000000')
    rigged.zeros = 3
    const second = await insertOne(session, 'codes', { digits: '9999999999999998' })
    rigged.zeros = 2
    const third = await vault.transaction(async (within) =>
      insertOne(asLoose(within.as(OWNER)), 'codes', { digits: '9999999999999997' }),
    )
    const tokens = [first, second, third].map(({ tokens: { digits } }) => digits)
    expect(new Set(tokens).size).toBe(3)
    expect(await valuesOf(session, tokens)).toEqual(['9999999999999999', '9999999999999998', '9999999999999997'])
  })

  it('never draws the same token for two records of a request', async () => {
    const rigged = rig()
    const { session } = await open(rigged)
    rigged.zeros = 2
    const records = ['999999', '999998', '999997'].map((code) => ({ fields: { code } }))
    const stored = await session.insert('codes', records, { tokenization: true })
    const tokens = stored.records.map(({ tokens: { code } }) => code)
    expect(new Set(tokens).size).toBe(3)
    expect(await valuesOf(session, tokens)).toEqual(['999999', '999998', '999997'])
  })

  it('never draws the same token for a changed and a new record of an upsert', async () => {
    const rigged = rig()
    const { session } = await open(rigged, KEYED)
    await session.insert('codes', [{ fields: { key: 'old' } }])
    rigged.zeros = Number.POSITIVE_INFINITY
    const records = ['old', 'new'].map((key) => ({ fields: { key, code: `99999${key.length}` } }))
    const stored = await session.insert('codes', records, { upsert: 'key', tokenization: true })
    expect(stored.records.map(({ tokens: { code } }) => code)).toEqual(['000000', '000001'])
  })

  it('draws for a new record the last token, which a changed record of the same upsert frees', async () => {
    const rigged = rig()
    const loose = await open(rigged, KEYED)
    await fillFormat(loose, 12_000, 7)
    rigged.zeros = Number.POSITIVE_INFINITY
    const upsert = (records: readonly LooseRecord[]) =>
      loose.session.insert('codes', records, { upsert: 'key', tokenization: true })
    expect((await upsert([{ fields: { key: 'old', code: '999999' } }])).records[0]?.tokens.code).toBe('000007')
    const fresh = { fields: { key: 'new', code: '999998' } }
    await expect(upsert([fresh])).rejects.toMatchObject({ code: 'tokens_exhausted' })
    const stored = await upsert([{ fields: { key: 'old', code: null } }, fresh])
    expect(stored.records.map(({ tokens: { code } }) => code)).toEqual([undefined, '000007'])
    expect(await valuesOf(loose.session, ['000007'])).toEqual(['999998'])
  })

  it('does not draw a token supplied by another record of the request', async () => {
    const rigged = rig()
    // Beside the deterministic column, a text in its form could not be supplied.
    const { same: _, ...codes } = TABLES.codes ?? {}
    const { session } = await open(rigged, { codes })
    rigged.zeros = 1
    const records = [{ fields: { code: '999999' } }, { fields: { label: 'x' }, tokens: { label: '000000' } }]
    const stored = await session.insert('codes', records, { tokenization: true, byot: 'ENABLE' })
    expect(stored.records[1]?.tokens.label).toBe('000000')
    expect(await valuesOf(session, [stored.records[0]?.tokens.code, '000000'])).toEqual(['999999', 'x'])
  })

  it('does not draw a token derived from a stored value', async () => {
    const rigged = rig()
    const { session } = await open(rigged)
    const live = await insertOne(session, 'codes', { same: '123456' })
    const taken = live.tokens.same ?? ''
    const rank = Number(taken)
    let isBent = true
    rigged.bytes = (count) => {
      const bytes = isBent ? new Uint8Array(count) : systemEntropy.bytes(count)
      if (isBent) new DataView(bytes.buffer).setUint32(count - 4, rank)
      isBent = false
      return bytes
    }
    const drawn = await insertOne(session, 'codes', { code: '999999' })
    expect(isBent).toBe(false)
    expect(drawn.tokens.code).not.toBe(taken)
    expect(await valuesOf(session, [taken, drawn.tokens.code])).toEqual(['123456', '999999'])
  })

  it('finds the next free token in a nearly full format', async () => {
    const rigged = rig()
    const vault = await open(rigged)
    await fillFormat(vault, 10_000, 7_777)
    rigged.zeros = 1_000
    const { tokens } = await insertOne(vault.session, 'codes', { code: '999999' })
    expect(tokens.code).toBe('007777')
    expect(await valuesOf(vault.session, [tokens.code])).toEqual(['999999'])
  })

  it('throws tokens_exhausted, names the column and stores nothing when no token is left', async () => {
    const rigged = rig()
    const vault = await open(rigged)
    await fillFormat(vault, 10_000)
    rigged.zeros = 1_000
    const refused = vault.session.insert('codes', [{ fields: { label: 'x' } }, { fields: { code: '999999' } }])
    await expect(refused).rejects.toMatchObject({
      code: 'tokens_exhausted',
      grpcCode: 8,
      message: expect.stringContaining('No unused token'),
      details: [{ table: 'codes', column: 'code' }],
    })
    expect((await vault.session.get('codes')).records).toEqual([])
    rigged.zeros = 0
    await expect(insertOne(vault.session, 'codes', { code: '999999' })).resolves.toBeDefined()
  })

  it('rejects a value that does not match the format by column and record, without quoting it', async () => {
    const { session } = await open(rig())
    for (const name of ['digits', 'same']) {
      const refused = session.insert('codes', [{ fields: { label: 'x' } }, { fields: { [name]: 'secret' } }])
      await expect(refused).rejects.toMatchObject({
        code: 'unprocessable',
        details: [{ table: 'codes', column: name, index: 1 }],
      })
      await expect(refused).rejects.not.toThrow(/secret/)
    }
    const { id } = await insertOne(session, 'codes', { digits: '123456' })
    await expect(session.updateOne('codes', id, { digits: '12345' })).rejects.toMatchObject({ code: 'unprocessable' })
    expect((await session.get('codes')).records.length).toBe(1)
  })
})
