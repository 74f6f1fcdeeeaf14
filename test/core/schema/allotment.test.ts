/** Ordinals are given once: they survive every growth of a schema, and no change may take one away. */
import { expect, test } from 'vitest'
import { allotSchema, EMPTY_ALLOTMENT } from '../../../src/core/schema/allotment.ts'
import type { ColumnDefinition, SchemaDefinition } from '../../../src/core/schema/column.ts'
import { layoutSchema } from '../../../src/core/schema/layout.ts'
import { column } from '../../../src/index.ts'

const FIRST: SchemaDefinition = { b: { y: column.string(), x: column.integer() }, a: { z: column.string({ token: 'random' }) } }

test('spaces and ordinals are given in order, and the same again for the same schema', () => {
  const first = allotSchema(FIRST, EMPTY_ALLOTMENT)
  expect(first.tables.b).toMatchObject({ space: 1, columns: { y: { space: 2, ordinal: 0 }, x: { space: 3, ordinal: 1 } } })
  expect(first.tables.a).toMatchObject({ space: 4, columns: { z: { space: 5, ordinal: 0 } } })
  expect(allotSchema(FIRST, first)).toEqual(first)
})

test('growth gives new numbers and keeps the old, whatever the order things are written in', () => {
  const first = allotSchema(FIRST, EMPTY_ALLOTMENT)
  const grown = allotSchema(
    { c: { q: column.date() }, a: FIRST.a ?? {}, b: { n: column.string(), x: column.integer(), y: column.string() } },
    first,
  )
  expect(grown.tables.b).toMatchObject({
    space: 1,
    columns: { y: { space: 2, ordinal: 0 }, x: { space: 3, ordinal: 1 }, n: { ordinal: 2 } },
  })
  const spaces = Object.values(grown.tables).flatMap((table) => [
    table.space,
    ...Object.values(table.columns).map(({ space }) => space),
  ])
  expect(new Set(spaces).size).toBe(spaces.length)
  expect(Math.max(...spaces)).toBe(grown.nextSpace - 1)
})

const changes: readonly [why: string, was: ColumnDefinition, is: ColumnDefinition, allowed: boolean][] = [
  ['a mask', column.string(), column.string({ mask: { preset: 'email' } }), true],
  ['a level', column.string(), column.string({ redaction: 'MASKED' }), true],
  ['a length', column.string({ maxLength: 5 }), column.string({ maxLength: 9 }), true],
  ['a default said aloud', column.string(), column.string({ encrypted: true, unique: false, normalise: [] }), true],
  ['searchable taken up', column.string(), column.string({ searchable: true }), true],
  ['unique taken up', column.string(), column.string({ unique: true }), true],
  ['unique given up', column.string({ unique: true }), column.string(), false],
  ['an index given up', column.string({ encrypted: false, index: true }), column.string({ encrypted: false }), false],
  ['the type', column.string(), column.integer(), false],
  ['sealing given up', column.string(), column.string({ encrypted: false }), false],
  ['sealing taken up', column.string({ encrypted: false }), column.string(), false],
  ['a normaliser', column.string({ unique: true }), column.string({ unique: true, normalise: ['trim'] }), false],
  ['tokens taken up', column.string(), column.string({ token: 'random' }), false],
]

test.each(changes)('changing %s', (_why, was, is, allowed) => {
  const known = allotSchema({ t: { c: was } }, EMPTY_ALLOTMENT)
  const change = () => allotSchema({ t: { c: is } }, known)
  if (allowed) expect(change().tables.t?.columns.c?.definition).toEqual(is)
  else expect(change).toThrow(expect.objectContaining({ code: 'failed_precondition', details: [{ table: 't', column: 'c' }] }))
})

test('physical names fit Postgres, tell tables and columns apart, and begin with what they hold', () => {
  const long = 'x'.repeat(63)
  const other = `${'x'.repeat(62)}y`
  const { tables } = layoutSchema(
    allotSchema(
      {
        [long]: { [long]: column.string({ unique: true }), [other]: column.string({ encrypted: false }) },
        [other]: { a: column.string() },
      },
      EMPTY_ALLOTMENT,
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

test('a vault runs out of spaces with a clear error', () => {
  const columns = Object.fromEntries(Array.from({ length: 70_000 }, (_, i) => [`c${i}`, column.string()]))
  expect(() => allotSchema({ t: columns }, EMPTY_ALLOTMENT)).toThrow(
    expect.objectContaining({ code: 'limit_exceeded', grpcCode: 8 }),
  )
})
