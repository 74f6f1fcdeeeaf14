/** Supplied tokens that are rejected, each with its own error and before anything is stored. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { POINTER_WORDS } from '../../../src/core/ports/crypto.ts'
import { writePointer } from '../../../src/core/sealing/envelope.ts'
import { column } from '../../../src/index.ts'
import { type Cells, insertOne, openLoose, valuesOf } from '../../support/vaults/open-untyped.ts'

const PLAIN = { redaction: 'PLAIN_TEXT' } as const
const TABLES = {
  people: {
    pointer: column.string({ token: 'random', ...PLAIN }),
    pin: column.integer({ token: 'transient', ...PLAIN }),
    badge: column.string({ encrypted: false, token: 'random', ...PLAIN }),
    bare: column.string(PLAIN),
  },
  pets: { name: column.string({ token: 'random', ...PLAIN }) },
}
const VALUES = { pointer: 'Ann', pin: 1234, badge: 'B-1' }
const ENABLE = { byot: 'ENABLE' }

describe('supplied tokens are rejected', () => {
  const own = '123e4567-e89b-12d3-a456-426614174000'
  const wrong: readonly (readonly [why: string, record: unknown, options: Cells, answer: Cells, says: string])[] = [
    ['when byot is not given', { fields: { pointer: 'a' }, tokens: { pointer: 'x' } }, {}, { code: 'unprocessable' }, 'DISABLE'],
    [
      'when byot is DISABLE',
      { fields: { pointer: 'a' }, tokens: { pointer: 'x' } },
      { byot: 'DISABLE' },
      { code: 'unprocessable' },
      'DISABLE',
    ],
    ['when byot is an unknown word', { fields: { pointer: 'a' } }, { byot: 'enable' }, { code: 'invalid_request' }, 'byot'],
    [
      'for a column without a value',
      { fields: { badge: 'a' }, tokens: { pointer: 'x' } },
      ENABLE,
      { code: 'unprocessable', column: 'pointer' },
      'has a token but no value',
    ],
    [
      'for null',
      { fields: { pointer: null }, tokens: { pointer: 'x' } },
      ENABLE,
      { code: 'unprocessable', column: 'pointer' },
      'has a token but no value',
    ],
    [
      'for a column that has no tokens',
      { fields: { bare: 'a' }, tokens: { bare: 'x' } },
      ENABLE,
      { code: 'unprocessable', column: 'bare' },
      'no tokens',
    ],
    [
      'for an unknown column',
      { fields: { pointer: 'a' }, tokens: { pointr: 'x' } },
      ENABLE,
      { code: 'invalid_request', column: 'pointr' },
      'invalid',
    ],
    [
      'for __proto__',
      { fields: { pointer: 'a' }, tokens: JSON.parse('{"__proto__":"x"}') },
      ENABLE,
      { code: 'invalid_request' },
      'invalid',
    ],
    [
      'when empty',
      { fields: { pointer: 'a' }, tokens: { pointer: '' } },
      ENABLE,
      { code: 'unprocessable', column: 'pointer' },
      '1 to 256',
    ],
    [
      'with 257 characters',
      { fields: { pointer: 'a' }, tokens: { pointer: 'x'.repeat(257) } },
      ENABLE,
      { code: 'unprocessable', column: 'pointer' },
      '1 to 256',
    ],
    [
      'with a lone surrogate',
      { fields: { pointer: 'a' }, tokens: { pointer: 'x\ud800y' } },
      ENABLE,
      { code: 'unprocessable', column: 'pointer' },
      'well-formed',
    ],
    [
      'when they equal their value',
      { fields: { pin: 42 }, tokens: { pin: '42' } },
      ENABLE,
      { code: 'unprocessable', column: 'pin' },
      'equal to its value',
    ],
    [
      'when they are another spelling of their value',
      { fields: { pin: 42 }, tokens: { pin: '042.0' } },
      ENABLE,
      { code: 'unprocessable', column: 'pin' },
      'another spelling of its value',
    ],
    [
      'when they differ from their value in case alone',
      { fields: { pointer: 'Anna' }, tokens: { pointer: ' ANNA' } },
      ENABLE,
      { code: 'unprocessable', column: 'pointer' },
      'another spelling of its value',
    ],
    [
      'when they are no text',
      { fields: { pointer: 'a' }, tokens: { pointer: 5 } },
      ENABLE,
      { code: 'invalid_request', column: 'pointer' },
      'string',
    ],
    [
      'when they are null',
      { fields: { pointer: 'a' }, tokens: { pointer: null } },
      ENABLE,
      { code: 'invalid_request' },
      'string',
    ],
    ['as a list', { fields: { pointer: 'a' }, tokens: ['x'] }, ENABLE, { code: 'invalid_request' }, 'object'],
    ['as null', { fields: { pointer: 'a' }, tokens: null }, ENABLE, { code: 'invalid_request' }, 'object'],
    [
      'when one is missing and all are demanded',
      { fields: { pointer: 'a', badge: 'b' }, tokens: { badge: 'x' } },
      { byot: 'ENABLE_STRICT' },
      { code: 'unprocessable', column: 'pointer' },
      'ENABLE_STRICT',
    ],
    [
      'when all are missing and all are demanded',
      { fields: { pointer: 'a' } },
      { byot: 'ENABLE_STRICT' },
      { code: 'unprocessable', column: 'pointer' },
      'ENABLE_STRICT',
    ],
    [
      'when one is too many and all are demanded',
      { fields: { pointer: 'a' }, tokens: { pointer: own, badge: 'x' } },
      { byot: 'ENABLE_STRICT' },
      { code: 'unprocessable', column: 'badge' },
      'has a token but no value',
    ],
  ]

  it.each(wrong)('%s', async (_why, record, options, { code, column: name }, says) => {
    const { session } = await openLoose(memoryStorage(), TABLES)
    const refused = session.insert('people', [{ fields: {} }, record as never], options)
    const details = name === undefined ? {} : { details: [{ table: 'people', column: name }] }
    await expect(refused).rejects.toMatchObject({ name: 'VaultError', code, message: expect.stringContaining(says), ...details })
    expect((await session.get('people')).records).toEqual([])
    const { id } = await insertOne(session, 'people', {})
    const { fields, tokens } = record as { fields: Readonly<Record<string, unknown>>; tokens: object }
    const change = session.updateOne('people', id, fields, { ...options, tokens })
    const saysOfChange = tokens === null ? 'must not be null' : says
    await expect(change).rejects.toMatchObject({ name: 'VaultError', code, message: expect.stringContaining(saysOfChange) })
  })

  it('if they are pointers of this vault: an id, a valid token, a deleted one', async () => {
    const { session } = await openLoose(memoryStorage(), TABLES)
    const { id, tokens } = await insertOne(session, 'people', VALUES)
    const pet = await insertOne(session, 'pets', { name: 'Rex' })
    await session.delete('pets', [pet.id])
    for (const token of [id, pet.id, tokens.pointer, tokens.pin, tokens.badge, pet.tokens.name]) {
      const refused = insertOne(session, 'people', { pointer: 'Bo' }, { tokens: { pointer: token }, options: ENABLE })
      await expect(refused).rejects.toMatchObject({ code: 'unprocessable', details: [{ column: 'pointer', index: 0 }] })
      await expect(refused).rejects.toThrow("in the form of this vault's own ids")
    }
  })

  it('but not if they point to a row no vault reaches, because random UUIDs can', async () => {
    const { session, ring } = await openLoose(memoryStorage(), TABLES)
    const words = new Uint32Array(2 * POINTER_WORDS)
    for (const [place, row] of [2 ** 40, 2 ** 40 + 1].entries())
      writePointer(words, place, { objectId: 2, row, checkHigh: 7, checkLow: 7 })
    const [near = '', far = ''] = ring.encryptPointers(1, words)
    const one = (token: string) =>
      insertOne(session, 'people', { pointer: 'Bo' }, { tokens: { pointer: token }, options: ENABLE })
    await expect(one(near)).rejects.toThrow("in the form of this vault's own ids")
    expect((await one(far)).tokens.pointer).toBe(far)
    expect(await valuesOf(session, [far])).toEqual(['Bo'])
  })

  it('but not as pointers of another vault, random UUIDs, 256 characters, or with ENABLE_STRICT if complete', async () => {
    const { session } = await openLoose(memoryStorage(), TABLES)
    const elsewhere = await openLoose(memoryStorage(), TABLES, { id: 'v2' })
    const foreign = await insertOne(elsewhere.session, 'people', VALUES)
    const fine = [
      foreign.id,
      foreign.tokens.pointer,
      'd9428888-122b-41e1-b85c-61cd3cbee2c5',
      own,
      'x'.repeat(256),
      '𝒳'.repeat(256),
      ' ',
      'a\u0000b',
      '⟨token⟩',
    ]
    for (const [i, token] of fine.entries()) {
      const stored = await insertOne(
        session,
        'people',
        { pointer: `value ${i}` },
        { tokens: { pointer: token }, options: { byot: 'ENABLE_STRICT' } },
      )
      expect(stored.tokens.pointer).toBe(token)
    }
    expect(await valuesOf(session, fine)).toEqual(fine.map((_, i) => `value ${i}`))
    await expect(insertOne(session, 'people', { bare: 'x' }, { options: { byot: 'ENABLE_STRICT' } })).resolves.toBeDefined()
    await expect(insertOne(session, 'people', VALUES, { tokens: {}, options: { byot: 'DISABLE' } })).resolves.toBeDefined()
  })
})
