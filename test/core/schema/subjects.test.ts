/** Subjects of a schema: what is refused, because records of a person would be found by a scan, or not at all. */
import { expect, it } from 'vitest'
import { checkSchema } from '../../../src/core/schema/define-schema.ts'
import type { SubjectDefinition } from '../../../src/core/schema/subjects.ts'
import { column } from '../../../src/index.ts'

const TABLES = {
  people: {
    name: column.string(),
    email: column.string({ unique: true, columnGroup: 'email' }),
    code: column.string({ encrypted: false, unique: true }),
    pin: column.string({ token: 'transient' }),
  },
  orders: {
    person: column.string({ searchable: true }),
    lower: column.string({ searchable: true, normalize: ['lowercase'] }),
    amount: column.integer({ searchable: true }),
    memo: column.string(),
    pin: column.string({ token: 'transient' }),
    code: column.string({ encrypted: false, index: true }),
    code_number: column.integer({ encrypted: false, index: true }),
    loose: column.string({ encrypted: false }),
    email: column.string({ searchable: true, columnGroup: 'email' }),
    mail: column.string({ searchable: true }),
  },
  ...Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, { up: column.string({ searchable: true }) }])),
}

const define = (subject: object) =>
  checkSchema(TABLES, { subjects: { person: { table: 'people', ...subject } as SubjectDefinition } })
const withRelation = (relation: object) => define({ relations: [{ table: 'orders', ...relation }] })
const chain = (...tables: string[]) =>
  define({ relations: tables.map((table, index) => ({ table, column: 'up', references: tables[index - 1] ?? 'people' })) })

it.each([
  { column: 'person', references: 'people' },
  { column: 'email', equals: 'people.email' },
  { column: 'code', equals: 'people.code' },
])('a relation that an index finds is accepted: %o', (relation) => {
  expect(withRelation(relation).rules.subjects).toEqual({
    person: { table: 'people', relations: [{ table: 'orders', ...relation }] },
  })
})

it.each([
  [{ column: 'none', references: 'people' }, 'does not exist'],
  [{ column: 'memo', references: 'people' }, 'never found by a scan'],
  [{ column: 'loose', references: 'people' }, 'never found by a scan'],
  [{ column: 'pin', references: 'people' }, 'never found by a scan'],
  [{ column: 'amount', references: 'people' }, 'must be a STRING without normalize'],
  [{ column: 'lower', references: 'people' }, 'must be a STRING without normalize'],
  [{ column: 'person', references: 'absent' }, 'references table "absent"'],
  [{ column: 'person', references: 'a' }, 'does not lead to table "people"'],
  [{ column: 'person', references: 'orders' }, 'does not lead to table "people"'],
  [{ column: 'mail', equals: 'people.email' }, 'cannot be compared'],
  [{ column: 'email', equals: 'people.name' }, 'cannot be compared'],
  [{ column: 'email', equals: 'people.code' }, 'cannot be compared'],
  [{ column: 'code_number', equals: 'people.code' }, 'cannot be compared'],
  [{ column: 'email', equals: 'people.none' }, 'no table.column of the schema'],
  [{ column: 'email', equals: 'people' }, 'no table.column of the schema'],
])('%o is refused, by table and column', (relation, problem) => {
  expect(() => withRelation(relation)).toThrow(problem)
  expect(() => withRelation(relation)).toThrow(
    expect.objectContaining({ code: 'invalid_request', details: [{ table: 'orders', column: relation.column }] }),
  )
})

it('relations come from the subject, at most four away, and never in a circle', () => {
  expect(() => chain('a', 'b', 'c', 'd')).not.toThrow()
  expect(() => chain('a', 'b', 'c', 'd', 'e')).toThrow('table "e" is more than 4 relations away')
  expect(() => define({ relations: [{ table: 'people', column: 'email', equals: 'people.email' }] })).toThrow('without a cycle')
  const circle = [
    { table: 'a', column: 'up', references: 'b' },
    { table: 'b', column: 'up', references: 'a' },
  ]
  expect(() => define({ relations: circle })).toThrow('without a cycle')
  expect(() => define({ table: 'absent' })).toThrow('of table "absent", which the schema lacks')
  expect(() => checkSchema(TABLES, { subjects: { Person: { table: 'people' } } })).toThrow('the name of subject "Person"')
})
