/** Object ids and ordinals: they are assigned once, and changes of the schema keep them. */
import { expect, it } from 'vitest'
import { assignIds, EMPTY_CATALOG_SCHEMA } from '../../../src/core/schema/catalog-schema.ts'
import type { ColumnDefinition, SchemaDefinition } from '../../../src/core/schema/column.ts'
import { checkSchema } from '../../../src/core/schema/define-schema.ts'
import { layoutSchema } from '../../../src/core/schema/layout.ts'
import { nextSchema } from '../../../src/core/schema-change/next-schema.ts'
import { column } from '../../../src/index.ts'

const FIRST: SchemaDefinition = { b: { y: column.string(), x: column.integer() }, a: { z: column.string({ token: 'random' }) } }

it('assigns object ids and ordinals in order, and the same ones again for the same schema', () => {
  const first = assignIds(FIRST, EMPTY_CATALOG_SCHEMA)
  expect(first.tables.b).toMatchObject({
    objectId: 1,
    columns: { y: { objectId: 2, ordinal: 0 }, x: { objectId: 3, ordinal: 1 } },
  })
  expect(first.tables.a).toMatchObject({ objectId: 4, columns: { z: { objectId: 5, ordinal: 0 } } })
  expect(assignIds(FIRST, first)).toEqual(first)
})

it('keeps known numbers and assigns new ones to new tables and columns, in any order of definition', () => {
  const first = assignIds(FIRST, EMPTY_CATALOG_SCHEMA)
  const grown = assignIds(
    { c: { q: column.date() }, a: FIRST.a ?? {}, b: { n: column.string(), x: column.integer(), y: column.string() } },
    first,
  )
  expect(grown.tables.b).toMatchObject({
    objectId: 1,
    columns: { y: { objectId: 2, ordinal: 0 }, x: { objectId: 3, ordinal: 1 }, n: { ordinal: 2 } },
  })
  const objectIds = Object.values(grown.tables).flatMap((table) => [
    table.objectId,
    ...Object.values(table.columns).map(({ objectId }) => objectId),
  ])
  expect(new Set(objectIds).size).toBe(objectIds.length)
  expect(Math.max(...objectIds)).toBe(grown.nextObjectId - 1)
})

it('keeps how many columns a table had before each change that added some', () => {
  const first = assignIds(FIRST, EMPTY_CATALOG_SCHEMA)
  expect(JSON.stringify(first)).not.toContain('grownAt')
  const grown = assignIds({ b: { ...FIRST.b, n: column.string(), m: column.string() } }, first)
  expect([grown.tables.b?.grownAt, grown.tables.a?.grownAt]).toEqual([[2], undefined])
  expect(assignIds(FIRST, grown)).toEqual(grown)
  const again = assignIds({ b: { k: column.string() } }, grown)
  expect(again.tables.b?.grownAt).toEqual([2, 4])
  const { cells } = layoutSchema(again).tables.get('b') ?? {}
  expect(cells?.groupEnds).toEqual([2, 4, 5])
  // The marks of the columns before stay, so older bodies are readable.
  const before = layoutSchema(first).tables.get('b')?.cells
  expect(cells?.groupMarks.subarray(0, 3)).toEqual(before?.groupMarks)
})

const changes: readonly [why: string, was: ColumnDefinition, is: ColumnDefinition, allowed: boolean][] = [
  ['a mask', column.string(), column.string({ mask: { preset: 'email' } }), true],
  ['a redaction level', column.string(), column.string({ redaction: 'MASKED' }), true],
  ['a maximum length', column.string({ maxLength: 5 }), column.string({ maxLength: 9 }), true],
  ['an explicit default', column.string(), column.string({ encrypted: true, unique: false, normalize: [] }), true],
  ['searchable added', column.string(), column.string({ searchable: true }), true],
  ['unique added', column.string(), column.string({ unique: true }), true],
  ['unique removed', column.string({ unique: true }), column.string(), true],
  ['an index removed', column.string({ encrypted: false, index: true }), column.string({ encrypted: false }), true],
  ['the type that not every value can take', column.string(), column.integer(), false],
  ['a wider type', column.integer(), column.string(), true],
  ['encryption removed', column.string(), column.string({ encrypted: false }), true],
  ['encryption added', column.string({ encrypted: false }), column.string(), true],
  ['a normalizer', column.string({ unique: true }), column.string({ unique: true, normalize: ['trim'] }), true],
  ['tokens added', column.string(), column.string({ token: 'random' }), true],
]

it.each(changes)('checks a change of %s', (_why, was, is, allowed) => {
  const known = assignIds({ t: { c: was } }, EMPTY_CATALOG_SCHEMA)
  const { ended, refusals } = nextSchema(known, checkSchema({ t: { c: is } }), { moves: {}, isOpening: false })
  if (allowed) expect(refusals).toEqual([])
  else expect(refusals).toMatchObject([{ table: 't', column: 'c' }])
  expect(ended.tables.t?.columns.c?.definition).toEqual(allowed ? is : was)
})

it('makes physical names that fit PostgreSQL and are unique', () => {
  const long = 'x'.repeat(63)
  const other = `${'x'.repeat(62)}y`
  const { tables } = layoutSchema(
    assignIds(
      {
        [long]: { [long]: column.string({ unique: true }), [other]: column.string({ encrypted: false }) },
        [other]: { a: column.string() },
      },
      EMPTY_CATALOG_SCHEMA,
    ),
  )
  const names = [...tables.values()].flatMap((table) => [
    table.physical.name,
    ...table.physical.columns.map(({ name }) => `${table.name}.${name}`),
  ])
  expect(new Set(names).size).toBe(names.length)
  for (const table of tables.values()) {
    expect(table.physical.name.length).toBeLessThanOrEqual(63)
    for (const { name } of table.physical.columns) expect(name.length).toBeLessThanOrEqual(63)
  }
})

it('throws limit_exceeded for more tables and columns than a vault can have', () => {
  const columns = Object.fromEntries(Array.from({ length: 70_000 }, (_, i) => [`c${i}`, column.string()]))
  expect(() => assignIds({ t: columns }, EMPTY_CATALOG_SCHEMA)).toThrow(
    expect.objectContaining({ code: 'limit_exceeded', message: expect.stringContaining('exceed the limit of 65535') }),
  )
})
