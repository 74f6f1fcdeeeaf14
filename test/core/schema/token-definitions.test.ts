/** Token definitions: errors name table and column, and the number of possible tokens if there are too few. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { column, defineSchema } from '../../../src/index.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'

/** Accepts any input, as from JavaScript or from a file. */
const define: (tables: unknown) => unknown = defineSchema as never

const text = (token: unknown, more: object = {}): unknown => ({ t: { a: { type: 'STRING', token, ...more } } })
const drawn = (format: unknown): unknown => text({ kind: 'formatPreserving', format })
const derived = (format: unknown): unknown => text({ kind: 'deterministicFormatPreserving', format })
const grouped = (one: object, two: object): unknown => ({
  t: { a: { type: 'STRING', columnGroup: 'g', ...one } },
  u: { b: { type: 'STRING', columnGroup: 'g', ...two } },
})

const wrong: readonly (readonly [why: string, tables: unknown, says: readonly string[]])[] = [
  [
    'a pattern of 999,999 possibilities or fewer',
    drawn({ pattern: '\\d{5}' }),
    ['column "a" of table "t"', '100,000', '1,000,000'],
  ],
  [
    'a pattern one short of a million',
    drawn({ pattern: '[1-9]\\d{4}[0-8]' }),
    ['column "a" of table "t"', '810,000', '1,000,000'],
  ],
  ['a pattern of one possibility', drawn({ pattern: 'ABC' }), ['column "a" of table "t"', 'with 1 possibilities']],
  ['the same, deterministic', derived({ pattern: '[a-z]{4}' }), ['column "a" of table "t"', '456,976', '1,000,000']],
  [
    'a card that keeps too many digits',
    drawn({ preset: 'card', keepFirst: 6, keepLast: 4, luhn: 'valid' }),
    ['column "a" of table "t"', '100,000'],
  ],
  [
    'a card that keeps all digits',
    drawn({ preset: 'card', keepFirst: 12, keepLast: 4 }),
    ['column "a" of table "t"', '0 possibilities'],
  ],
  ['an invalid pattern', drawn({ pattern: '[a-' }), ['column "a" of table "t"', 'pattern']],
  ['a pattern with other syntax', drawn({ pattern: '(a|b)+' }), ['column "a" of table "t"', 'pattern']],
  ['an empty pattern', drawn({ pattern: '' }), ['column "a" of table "t"', 'token']],
  ['an unknown preset', drawn('bic'), ['column "a" of table "t"', 'token']],
  ['an unknown preset with options', drawn({ preset: 'bic' }), ['column "a" of table "t"', 'token']],
  ['an option of another preset', drawn({ preset: 'digits', keepLast: 4 }), ['column "a" of table "t"', 'token']],
  ['a negative count', drawn({ preset: 'card', keepLast: -1 }), ['column "a" of table "t"', 'token']],
  ['a missing format', text({ kind: 'formatPreserving' }), ['column "a" of table "t"', 'token']],
  ['a name alone for a kind that needs a format', text('formatPreserving'), ['column "a" of table "t"', 'token']],
  ['the same, deterministic', text('deterministicFormatPreserving'), ['column "a" of table "t"', 'token']],
  ['a format for a kind without formats', text({ kind: 'random', format: 'digits' }), ['column "a" of table "t"', 'token']],
  ['an unknown kind', text({ kind: 'magic' }), ['column "a" of table "t"', 'token']],
  ['a deterministic social security number', derived('ssn'), ['column "a" of table "t"', 'turned back into values']],
  [
    'a deterministic email token without its domain',
    derived({ preset: 'email', keepDomain: false }),
    ['column "a" of table "t"', 'turned back'],
  ],
  ...(
    [
      ['phone', 'digits'],
      ['email', 'digits'],
      ['email', 'phone'],
      ['letters', 'digits'],
      ['date', 'digits'],
      [{ preset: 'phone', keepCountry: false }, 'digits'],
      [{ pattern: 'AB[0-9]{8}' }, 'digits'],
      [{ pattern: '[A-Z0-9]{8}' }, 'lowercase'],
      [{ pattern: ' [0-9]{8}' }, 'trim'],
    ] as const
  ).map(
    ([format, normalizer]) =>
      [
        `the format ${JSON.stringify(format)} of derived tokens with the normalizer ${normalizer}`,
        text({ kind: 'deterministicFormatPreserving', format }, { normalize: [normalizer] }),
        ['column "a" of table "t"', `the normalizer ${normalizer}`, 'destroys the form'],
      ] as const,
  ),
  [
    'two normalizers that each leave a part of a text',
    text(undefined, { normalize: ['digits', 'email'] }),
    ['column "a" of table "t"', 'one of digits, phone, email'],
  ],
  [
    'a format on an INTEGER',
    { t: { a: { type: 'INTEGER', token: { kind: 'formatPreserving', format: 'digits' } } } },
    ['column "a" of table "t"', 'STRING and DATE'],
  ],
  [
    'a format on JSON',
    { t: { a: { type: 'JSON', token: { kind: 'deterministicFormatPreserving', format: 'letters' } } } },
    ['column "a" of table "t"', 'STRING and DATE'],
  ],
  ['a unique transient column', text('transient', { unique: true }), ['column "a" of table "t"', 'transient', 'unique']],
  [
    'a searchable transient column',
    text('transient', { searchable: true }),
    ['column "a" of table "t"', 'transient', 'searchable'],
  ],
  [
    'a plain transient column',
    text({ kind: 'transient', ttlMinutes: 5 }, { encrypted: false }),
    ['column "a" of table "t"', 'transient', 'encrypted: false'],
  ],
  ['a lifetime of 0 minutes', text({ kind: 'transient', ttlMinutes: 0 }), ['column "a" of table "t"', 'token']],
  ['a lifetime of more than two weeks', text({ kind: 'transient', ttlMinutes: 20_161 }), ['column "a" of table "t"', 'token']],
  ['a lifetime of half a minute', text({ kind: 'transient', ttlMinutes: 0.5 }), ['column "a" of table "t"', 'token']],
  ['a lifetime for a kind that does not expire', text({ kind: 'random', ttlMinutes: 5 }), ['column "a" of table "t"', 'token']],
  ['a stable transient', text({ kind: 'transient', stable: true }), ['column "a" of table "t"', 'token']],
  ['a stable deterministic', text({ kind: 'deterministic', stable: true }), ['column "a" of table "t"', 'token']],
  [
    'a stable deterministic format',
    text({ kind: 'deterministicFormatPreserving', format: 'digits', stable: true }),
    ['column "a" of table "t"', 'token'],
  ],
  [
    'a group of two kinds',
    grouped({ token: 'deterministic' }, { token: 'random' }),
    ['column "a" of table "t"', 'column "b" of table "u"', 'column group "g"', 'same token'],
  ],
  [
    'a group with and without tokens',
    grouped({ token: 'deterministic' }, {}),
    ['column "a" of table "t"', 'column "b" of table "u"', 'column group "g"', 'same token'],
  ],
  [
    'a group of two types',
    grouped({ token: 'deterministic' }, { type: 'DATE', token: 'deterministic' }),
    ['column "a" of table "t"', 'column "b" of table "u"', 'same type'],
  ],
  [
    'a group of two normalizers',
    grouped({ normalize: ['trim'] }, {}),
    ['column "a" of table "t"', 'column "b" of table "u"', 'same normalize'],
  ],
  [
    'a group of two masks',
    grouped({ mask: { preset: 'email' } }, { mask: { preset: 'ssn' } }),
    ['column "a" of table "t"', 'column "b" of table "u"', 'same mask'],
  ],
  [
    'a group of two formats',
    grouped(
      { token: { kind: 'formatPreserving', format: 'digits' } },
      { token: { kind: 'formatPreserving', format: 'letters' } },
    ),
    ['column "a" of table "t"', 'column "b" of table "u"', 'same token'],
  ],
  ['an invalid group name', text('deterministic', { columnGroup: 'My Group' }), ['column "a" of table "t"', 'columnGroup']],
]

it.each(wrong)('rejects %s and names it', (_why, tables, says) => {
  let caught: unknown
  try {
    define(tables)
  } catch (error) {
    caught = error
  }
  expect(caught).toMatchObject({
    name: 'VaultError',
    code: 'invalid_request',
    message: expect.stringMatching(/^Invalid schema: .*\.$/),
  })
  for (const part of says) expect(String(caught)).toContain(part)
})

const right: readonly (readonly [why: string, tables: unknown])[] = [
  [
    'every kind by name',
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
    'the shortest and the longest lifetime',
    {
      t: {
        a: column.date({ token: { kind: 'transient', ttlMinutes: 1 } }),
        b: column.date({ token: { kind: 'transient', ttlMinutes: 20_160 } }),
      },
    },
  ],
  ['a format on a DATE', { t: { a: column.date({ token: { kind: 'deterministicFormatPreserving', format: 'date' } }) } }],
  [
    'stable for stored tokens',
    {
      t: {
        a: column.string({ token: { kind: 'random', stable: true } }),
        b: column.string({ token: { kind: 'formatPreserving', format: 'email', stable: true } }),
      },
    },
  ],
  [
    'plain, unique and required with tokens',
    { t: { a: column.string({ encrypted: false, unique: true, required: true, token: 'deterministic' }) } },
  ],
  ['a required transient', text('transient', { required: true })],
  ...(
    [
      ['phone', 'phone'],
      ['email', 'email'],
      ['card', 'digits'],
      ['digits', 'digits'],
      ['iban', 'iban'],
      ['letters', 'lowercase'],
      [{ pattern: '[0-9]{8}' }, 'digits'],
      [{ pattern: '[a-zA-Z]{8}' }, 'lowercase'],
    ] as const
  ).map(
    ([format, normalizer]) =>
      [
        `the format ${JSON.stringify(format)} of derived tokens with the normalizer ${normalizer}`,
        text({ kind: 'deterministicFormatPreserving', format }, { normalize: [normalizer] }),
      ] as const,
  ),
  ['any normalizer beside drawn tokens', text({ kind: 'formatPreserving', format: 'phone' }, { normalize: ['digits'] })],
  [
    'a group with equal options',
    grouped({ token: 'deterministic', normalize: ['trim'] }, { token: 'deterministic', normalize: ['trim'], required: true }),
  ],
]

it.each(right)('accepts %s', async (_why, tables) => {
  expect(() => define(tables)).not.toThrow()
  await expect(openLoose(memoryStorage(), tables as never)).resolves.toBeDefined()
})

it('allows another lifetime and stability of tokens on an existing column, but no other kind of transient ones', async () => {
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
  ] as const) {
    await expect(openLoose(storage, token(a, b))).rejects.toMatchObject({
      code: 'failed_precondition',
      details: [{ table: 't', column: name }],
    })
  }
})
