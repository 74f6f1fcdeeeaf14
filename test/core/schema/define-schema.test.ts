/** Schema definitions: errors name table, column and option; valid schemas are frozen and equal for builders and JSON. */
import { expect, it } from 'vitest'
import { VaultError } from '../../../src/core/errors.ts'
import { column, defineSchema, mask } from '../../../src/index.ts'

/** Accepts any input, as from JavaScript or from a file. */
const define: (tables: unknown) => unknown = defineSchema as never

const named: readonly [why: string, tables: unknown, says: readonly string[]][] = [
  ['undefined', undefined, ['at least one table']],
  ['no tables', {}, ['at least one']],
  ['an array of tables', [], ['at least one table']],
  ['a table without columns', { t: {} }, ['table "t"', 'at least one column']],
  ['a table that is not an object', { t: 'text' }, ['table "t"', 'at least one column']],
  ['a table name in capitals', { People: { a: column.string() } }, ['People', 'lower-case']],
  ['a table name of 64 characters', { ['a'.repeat(64)]: { a: column.string() } }, ['63']],
  ['a reserved word as a table', { select: { a: column.string() } }, ['select', 'reserved']],
  ['a reserved word as a column', { t: { where: column.string() } }, ['where', 'reserved', 't']],
  ['a name that every object has', { t: { constructor: column.string() } }, ['constructor']],
  ['__proto__ as a column', { t: JSON.parse('{"__proto__":{"type":"STRING"}}') }, ['__proto__']],
  ['a column that is null', { t: { a: null } }, ['column "a" of table "t" must be a column definition']],
  [
    'an unknown type',
    { t: { a: { type: 'TEXT' } } },
    ['option "type" of column "a" of table "t" must be one of STRING, INTEGER'],
  ],
  [
    'an unknown option',
    { t: { a: { type: 'STRING', uniqe: true } } },
    ['column "a" of table "t" is of type STRING, which has no option "uniqe"'],
  ],
  [
    'an unknown option that is no name',
    { t: { a: { type: 'STRING', 'a value': true } } },
    ['which has no option "(not a valid name)"'],
  ],
  [
    'an option of another type',
    { t: { a: { type: 'INTEGER', pattern: 'x' } } },
    ['is of type INTEGER, which has no option "pattern"'],
  ],
  [
    'an option with a value of another type',
    { t: { a: { type: 'STRING', unique: 'yes' } } },
    ['option "unique" of column "a" of table "t" must be true or false'],
  ],
  [
    'an index of another kind',
    { t: { a: { type: 'STRING', index: 'plain' } } },
    ['option "index" of column "a" of table "t" must be true, false, \'sealed\' or { sealed:'],
  ],
  [
    'an index of the database over sealed values',
    { t: { a: { type: 'STRING', index: true } } },
    ["index: true is for plain columns; set searchable: true, or index: 'sealed', on an encrypted column"],
  ],
  [
    'a sealed index over plain values',
    { t: { a: column.date({ encrypted: false, index: 'sealed' }) } },
    ["index: 'sealed' is for encrypted columns; set index: true on a plain column"],
  ],
  [
    'an index of what numbers contain',
    // @ts-expect-error Only texts contain others.
    { t: { a: column.integer({ index: { sealed: ['order', 'contains'] } }) } },
    ["of what a value contains is for STRING columns; set index: 'sealed'"],
  ],
  [
    'sealed indexes in another order',
    // @ts-expect-error They have one order.
    { t: { a: column.string({ index: { sealed: ['contains', 'order'] } }) } },
    ['option "index.sealed" of column "a"', "must be ['order'], ['order', 'contains'] or ['contains']"],
  ],
  ['a sealed index over JSON', { t: { a: column.json({ index: 'sealed' }) } }, ['JSON and ARRAY columns have no order']],
  ['a sealed index over lists', { t: { a: column.array({ index: 'sealed' }) } }, ['JSON and ARRAY columns have no order']],
  ['a sealed index over files', { t: { a: { type: 'FILE', index: 'sealed' } } }, ['type FILE, which has no option "index"']],
  [
    'a sealed index over transient values',
    { t: { a: column.string({ token: 'transient', index: 'sealed' }) } },
    ['a transient column has no index, which would outlive its values'],
  ],
  [
    'an unknown level',
    { t: { a: column.string({ redaction: 'HIDDEN' as never }) } },
    ['must be one of PLAIN_TEXT, MASKED, REDACTED.'],
  ],
  [
    'an unknown token kind',
    { t: { a: column.string({ token: 'magic' as never }) } },
    ['option "token" of column', 'random, deterministic or transient'],
  ],
  [
    'an unknown token kind with options',
    { t: { a: { type: 'STRING', token: { kind: 'magic' } } } },
    ['option "token.kind" of column', 'must be one of random,'],
  ],
  [
    'a token kind without its format',
    { t: { a: { type: 'STRING', token: { kind: 'formatPreserving' } } } },
    ['option "token.format" of column', "{ pattern: '[0-9]{8}' }"],
  ],
  [
    'an option of another token kind',
    { t: { a: { type: 'STRING', token: { kind: 'random', ttlMinutes: 5 } } } },
    ['option "token" of column "a" of table "t" has no member "ttlMinutes"'],
  ],
  [
    'an unknown mask',
    { t: { a: { type: 'STRING', mask: { preset: 'blur' } } } },
    ['option "mask" of column', 'must be a mask, such as mask.email'],
  ],
  [
    'a mask with an invalid pattern',
    { t: { a: column.string({ mask: mask.replace({ find: '(', replace: '' }) }) } },
    ['a', 'RE2'],
  ],
  ['an invalid pattern', { t: { a: column.string({ pattern: '[' }) } }, ['a', 'RE2']],
  ['a pattern with a back-reference', { t: { a: column.string({ pattern: '(a)\\1' }) } }, ['a', 'RE2']],
  [
    'a maximum length of 0',
    { t: { a: column.string({ maxLength: 0 }) } },
    ['option "maxLength" of column', 'must be at least 1.'],
  ],
  [
    'an empty list of values',
    { t: { a: column.string({ oneOf: [] }) } },
    ['option "oneOf" of column', 'must have a length of at least 1.'],
  ],
  ['a searchable plain column', { t: { a: column.string({ encrypted: false, searchable: true }) } }, ['a', 'index: true']],
  ['an indexed encrypted column', { t: { a: column.string({ index: true }) } }, ['a', 'searchable: true']],
  ['a plain unique list', { t: { a: column.array({ encrypted: false, unique: true }) } }, ['a', 'encrypt']],
  ['a normalized plain column', { t: { a: column.string({ encrypted: false, normalize: ['trim'] }) } }, ['a', 'normalize']],
]

it.each(named)('rejects %s and names it', (_why, tables, says) => {
  let caught: unknown
  try {
    define(tables)
  } catch (error) {
    caught = error
  }
  expect(caught).toBeInstanceOf(VaultError)
  expect(caught).toMatchObject({ code: 'invalid_request', message: expect.stringMatching(/^Invalid schema: .*\.$/) })
  for (const part of says) expect(String(caught)).toContain(part)
})

it('returns the same schema for builders and plain JSON', () => {
  const built = defineSchema({
    t: { a: column.string({ unique: true, mask: mask.keepLast(4) }), b: column.integer({ encrypted: false }) },
  })
  const json: unknown = JSON.parse(JSON.stringify(built.tables))
  expect(define(json)).toEqual(built)
  expect(json).toEqual({
    t: { a: { unique: true, mask: { preset: 'keepLast', count: 4 }, type: 'STRING' }, b: { encrypted: false, type: 'INTEGER' } },
  })
})

it('returns a deeply frozen copy', () => {
  const tables = { t: { a: column.string({ oneOf: ['x', 'y'] }) } }
  const schema = defineSchema(tables)
  Object.assign(tables.t, { b: column.string() })
  expect(Object.keys(schema.tables.t)).toEqual(['a'])
  expect(Object.isFrozen(schema.tables.t.a)).toBe(true)
  expect(Object.isFrozen(Reflect.get(schema.tables.t.a, 'oneOf'))).toBe(true)
})

it('has one builder for each type', () => {
  const made = [
    column.string(),
    column.integer(),
    column.float(),
    column.boolean(),
    column.date(),
    column.time(),
    column.datetime(),
    column.json(),
    column.array(),
  ]
  expect(made.map(({ type }) => type)).toEqual([
    'STRING',
    'INTEGER',
    'FLOAT',
    'BOOL',
    'DATE',
    'TIME',
    'DATETIME',
    'JSON',
    'ARRAY',
  ])
})
