/** Every error in a token definition is named: table, column, and what must hold, with the count where there are too few tokens. */
import { expect, test } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { column, defineSchema } from '../../../src/index.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'

/** What a JavaScript caller, or a file, may hand over. */
const define: (tables: unknown) => unknown = defineSchema as never

const text = (token: unknown, more: object = {}): unknown => ({ t: { a: { type: 'STRING', token, ...more } } })
const drawn = (format: unknown): unknown => text({ kind: 'formatPreserving', format })
const derived = (format: unknown): unknown => text({ kind: 'deterministicFormatPreserving', format })
const grouped = (one: object, two: object): unknown => ({
  t: { a: { type: 'STRING', columnGroup: 'g', ...one } },
  u: { b: { type: 'STRING', columnGroup: 'g', ...two } },
})

const wrong: readonly (readonly [why: string, tables: unknown, says: readonly string[]])[] = [
  ['a pattern of 999,999 possibilities or fewer', drawn({ pattern: '\\d{5}' }), ['a of table t', '100,000', '1,000,000']],
  ['a pattern one short of a million', drawn({ pattern: '[1-9]\\d{4}[0-8]' }), ['a of table t', '810,000', '1,000,000']],
  ['a pattern of one possibility', drawn({ pattern: 'ABC' }), ['a of table t', 'with 1 possibilities']],
  ['the same, deterministic', derived({ pattern: '[a-z]{4}' }), ['a of table t', '456,976', '1,000,000']],
  [
    'a card that keeps too many digits',
    drawn({ preset: 'card', keepFirst: 6, keepLast: 4, luhn: 'valid' }),
    ['a of table t', '100,000'],
  ],
  ['a card that keeps all digits', drawn({ preset: 'card', keepFirst: 12, keepLast: 4 }), ['a of table t', '0 possibilities']],
  ['a pattern that is none', drawn({ pattern: '[a-' }), ['a of table t', 'pattern']],
  ['a pattern of another language', drawn({ pattern: '(a|b)+' }), ['a of table t', 'pattern']],
  ['an empty pattern', drawn({ pattern: '' }), ['a of table t', 'token']],
  ['an unknown preset', drawn('iban'), ['a of table t', 'token']],
  ['an unknown preset with options', drawn({ preset: 'iban' }), ['a of table t', 'token']],
  ['an option of another preset', drawn({ preset: 'digits', keepLast: 4 }), ['a of table t', 'token']],
  ['a count that is none', drawn({ preset: 'card', keepLast: -1 }), ['a of table t', 'token']],
  ['a format that is missing', text({ kind: 'formatPreserving' }), ['a of table t', 'token']],
  ['a name alone for a kind that needs a format', text('formatPreserving'), ['a of table t', 'token']],
  ['the same, deterministic', text('deterministicFormatPreserving'), ['a of table t', 'token']],
  ['a format for a kind that has none', text({ kind: 'random', format: 'digits' }), ['a of table t', 'token']],
  ['an unknown kind', text({ kind: 'magic' }), ['a of table t', 'token']],
  ['a deterministic social security number', derived('ssn'), ['a of table t', 'turned back into values']],
  [
    'a deterministic mail address without its domain',
    derived({ preset: 'email', keepDomain: false }),
    ['a of table t', 'turned back'],
  ],
  [
    'a format on an INTEGER',
    { t: { a: { type: 'INTEGER', token: { kind: 'formatPreserving', format: 'digits' } } } },
    ['a of table t', 'STRING and DATE'],
  ],
  [
    'a format on JSON',
    { t: { a: { type: 'JSON', token: { kind: 'deterministicFormatPreserving', format: 'letters' } } } },
    ['a of table t', 'STRING and DATE'],
  ],
  ['a unique transient column', text('transient', { unique: true }), ['a of table t', 'transient', 'unique']],
  ['a searchable transient column', text('transient', { searchable: true }), ['a of table t', 'transient', 'searchable']],
  [
    'a plain transient column',
    text({ kind: 'transient', ttlMinutes: 5 }, { encrypted: false }),
    ['a of table t', 'transient', 'encrypted: false'],
  ],
  ['a life of no minutes', text({ kind: 'transient', ttlMinutes: 0 }), ['a of table t', 'token']],
  ['a life of more than two weeks', text({ kind: 'transient', ttlMinutes: 20_161 }), ['a of table t', 'token']],
  ['a life of half a minute', text({ kind: 'transient', ttlMinutes: 0.5 }), ['a of table t', 'token']],
  ['a life for a kind that lasts', text({ kind: 'random', ttlMinutes: 5 }), ['a of table t', 'token']],
  ['a stable transient', text({ kind: 'transient', stable: true }), ['a of table t', 'token']],
  ['a stable deterministic', text({ kind: 'deterministic', stable: true }), ['a of table t', 'token']],
  [
    'a stable deterministic format',
    text({ kind: 'deterministicFormatPreserving', format: 'digits', stable: true }),
    ['a of table t', 'token'],
  ],
  ['a group of two kinds', grouped({ token: 'deterministic' }, { token: 'random' }), ['t.a', 'u.b', 'group g', 'same token']],
  ['a group half tokenized', grouped({ token: 'deterministic' }, {}), ['t.a', 'u.b', 'group g', 'same token']],
  [
    'a group of two types',
    grouped({ token: 'deterministic' }, { type: 'DATE', token: 'deterministic' }),
    ['t.a', 'u.b', 'same type'],
  ],
  ['a group of two normalisers', grouped({ normalise: ['trim'] }, {}), ['t.a', 'u.b', 'same normalise']],
  ['a group of two masks', grouped({ mask: { preset: 'email' } }, { mask: { preset: 'ssn' } }), ['t.a', 'u.b', 'same mask']],
  [
    'a group of two formats',
    grouped(
      { token: { kind: 'formatPreserving', format: 'digits' } },
      { token: { kind: 'formatPreserving', format: 'letters' } },
    ),
    ['t.a', 'u.b', 'same token'],
  ],
  ['a group name that is none', text('deterministic', { columnGroup: 'My Group' }), ['a of table t', 'columnGroup']],
]

test.each(wrong)('%s is refused by name', (_why, tables, says) => {
  let caught: unknown
  try {
    define(tables)
  } catch (error) {
    caught = error
  }
  expect(caught).toMatchObject({
    name: 'VaultError',
    code: 'invalid_request',
    message: expect.stringContaining('Schema refused'),
  })
  for (const part of says) expect(String(caught)).toContain(part)
})

const right: readonly (readonly [why: string, tables: unknown])[] = [
  [
    'every kind by its name',
    {
      t: {
        a: column.string({ token: 'random' }),
        b: column.string({ token: 'deterministic' }),
        c: column.json({ token: 'transient' }),
      },
    },
  ],
  ['exactly a million possibilities', drawn({ pattern: '\\d{6}' })],
  ['exactly a million, deterministic', derived({ pattern: '\\d{6}' })],
  [
    'the shortest and the longest life',
    {
      t: {
        a: column.date({ token: { kind: 'transient', ttlMinutes: 1 } }),
        b: column.date({ token: { kind: 'transient', ttlMinutes: 20_160 } }),
      },
    },
  ],
  ['a format on a DATE', { t: { a: column.date({ token: { kind: 'deterministicFormatPreserving', format: 'date' } }) } }],
  [
    'stable where tokens are kept',
    {
      t: {
        a: column.string({ token: { kind: 'random', stable: true } }),
        b: column.string({ token: { kind: 'formatPreserving', format: 'email', stable: true } }),
      },
    },
  ],
  [
    'plain, unique and required beside tokens',
    { t: { a: column.string({ encrypted: false, unique: true, required: true, token: 'deterministic' }) } },
  ],
  ['a required transient', text('transient', { required: true })],
  [
    'a group that agrees',
    grouped({ token: 'deterministic', normalise: ['trim'] }, { token: 'deterministic', normalise: ['trim'], required: true }),
  ],
]

test.each(right)('%s is taken', async (_why, tables) => {
  expect(() => define(tables)).not.toThrow()
  await expect(openLoose(memoryStorage(), tables as never)).resolves.toBeDefined()
})

test('a column that exists may change how long and how stable its tokens are, but not their kind or format', async () => {
  const storage = memoryStorage()
  const token = (a: unknown, b: unknown): never =>
    ({ t: { a: { type: 'STRING', token: a }, b: { type: 'STRING', token: b } } }) as never
  const drawnDigits = { kind: 'formatPreserving', format: 'digits' }
  await openLoose(storage, token('transient', drawnDigits))
  await expect(
    openLoose(storage, token({ kind: 'transient', ttlMinutes: 5 }, { ...drawnDigits, stable: true })),
  ).resolves.toBeDefined()
  for (const [a, b, name] of [
    ['random', drawnDigits, 'a'],
    [undefined, drawnDigits, 'a'],
    ['transient', { ...drawnDigits, format: 'letters' }, 'b'],
    ['transient', { kind: 'deterministicFormatPreserving', format: 'digits' }, 'b'],
  ] as const) {
    await expect(openLoose(storage, token(a, b))).rejects.toMatchObject({
      code: 'unprocessable',
      details: [{ table: 't', column: name }],
    })
  }
})
