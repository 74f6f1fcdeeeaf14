/** The types of writes: what a result can be, which columns a look-up takes, and names that the compiler refuses. */
import { expect, expectTypeOf, it } from 'vitest'
import {
  column,
  defineSchema,
  type IgnoredRecord,
  type LowerCaseNames,
  type Schema,
  type SchemaDefinition,
  type Session,
} from '../../../src/index.ts'
import type { Clients } from '../../support/audit/audited-clients.ts'

/** Never run: the calls only have to compile, or not. */
async function compiled(session: Session<Clients>, id: string): Promise<void> {
  const [plain] = (await session.insert('clients', [{ fields: { name: 'Ann' } }])).records
  expectTypeOf(plain?.id).toEqualTypeOf<string | undefined>()
  const [ignorable] = (await session.insert('clients', [{ fields: { name: 'Ann' } }], { onConflict: 'ignore' })).records
  if (ignorable !== undefined && ignorable.ignored !== true) expectTypeOf(ignorable.id).toEqualTypeOf<string>()
  expectTypeOf<IgnoredRecord['id']>().toEqualTypeOf<undefined>()
  await session.update('clients', [{ id, fields: { salary: 5 } }])
  const where = { country: 'DE' } as const
  const { records } = await session.updateWhere('clients', where, { salary: 6 }, { tokenization: true })
  expectTypeOf(records[0]?.tokens.email).toEqualTypeOf<string | undefined>()
  await session.deleteWhere('clients', where)
  // @ts-expect-error a column without a look-up
  await session.deleteWhere('clients', { name: 'Ann' })
  // @ts-expect-error a value that the column does not hold
  await session.deleteWhere('clients', { email: 5 })
  // @ts-expect-error no such column
  await session.update('clients', [{ id, fields: { phone: '1' } }])
  // @ts-expect-error no such column
  await session.updateWhere('clients', where, { phone: '1' })
  // @ts-expect-error two columns
  await session.deleteWhere('clients', { country: 'DE', email: 'ann@acme.example' })
  // @ts-expect-error a value that the column does not hold
  await session.get('clients', { where: { country: 'DE', name: 5 } })
  // @ts-expect-error no such column
  await session.get('clients', { where: { phone: '1' } })
  const one = await session.insertOne('clients', { name: 'Ann' }, { tokenization: true })
  expectTypeOf(one.tokens.email).toEqualTypeOf<string | undefined>()
  // @ts-expect-error no such column
  await session.insertOne('clients', { name: 'Ann', phone: '1' })
  // @ts-expect-error a required column
  await session.insertOne('clients', { country: 'DE' })
  // @ts-expect-error no such column
  await session.updateOne('clients', id, { phone: '1' })
}

const LISTS = {
  samples: {
    tags: column.array({ searchable: true }),
    notes: column.json({ searchable: true }),
    born: column.date({ unique: true }),
  },
}

/** Never run. A list is many values, so that a look-up of one list has it in a list. */
async function compiledLists(session: Session<typeof LISTS>): Promise<void> {
  await session.get('samples', { where: { tags: [['a', 'b']] } })
  await session.get('samples', { where: { notes: { since: [2019] } } })
  await session.get('samples', { where: { notes: [[2019], 'x', null] } })
  await session.get('samples', { where: { born: ['2001-02-03'] } })
  // @ts-expect-error two values that are no lists
  await session.get('samples', { where: { tags: ['a', 'b'] } })
  // @ts-expect-error two values that are no lists
  await session.deleteWhere('samples', { tags: ['a', 'b'] })
  // @ts-expect-error two values that are no lists
  await session.updateWhere('samples', { tags: ['a', 'b'] }, { born: '2001-02-03' })
}

it('calls are typed by the schema and their options', () => {
  expect([compiled, compiledLists]).toHaveLength(2)
})

/** A helper of an application, with a type parameter in place of a schema. */
function withNotes<const S extends SchemaDefinition>(tables: S & LowerCaseNames<S>): Schema<S> {
  return defineSchema<S>(tables)
}

it('a name with an upper-case letter is refused, by the compiler and at run time', () => {
  // @ts-expect-error a column with an upper-case letter
  expect(() => defineSchema({ clients: { firstName: column.string() } })).toThrow('must be lower-case letters')
  // @ts-expect-error a table with an upper-case letter
  expect(() => defineSchema({ bankAccounts: { iban: column.string() } })).toThrow('must be lower-case letters')
})

it('a definition that is read at run time, or passed on by a helper, compiles', () => {
  const loaded: SchemaDefinition = { clients: { name: { type: 'STRING' } } }
  expect(defineSchema(loaded).tables).toEqual(loaded)
  const helped = withNotes({ clients: { name: column.string({ unique: true }) } })
  expectTypeOf(helped.tables.clients).toHaveProperty('name')
})
