/** Every kind of change of a schema, as the drill makes it: those of the tests, and those that store values anew or erase them. */
import type { Schema } from '../../../src/core/schema/define-schema.ts'
import { column } from '../../../src/index.ts'
import { BEFORE, COLUMNS, KINDS, type Kind, PLAIN, schemaOf } from './changing-vault.ts'

/** A kind, with what the drill knows of it. */
export interface DrilledKind extends Omit<Kind, 'steps'> {
  /** Default: the columns as they are. */
  readonly before?: Schema
  /** True if `size` is a text then. */
  readonly sizeIsText?: boolean
  /** True if processes with the older schema cannot write the table then. */
  readonly endsOlder?: boolean
}

const { name: _, ...WITHOUT_NAME } = COLUMNS
const token = (kind: 'random' | 'deterministic') => column.string({ ...PLAIN, token: kind })
const TOGETHER = { rules: { uniqueTogether: { people: [['city', 'size']] } } } as const

export const DRILLED: readonly DrilledKind[] = [
  ...KINDS,
  {
    name: 'required off',
    before: schemaOf({ ...COLUMNS, name: column.string({ ...PLAIN, required: true }) }),
    after: BEFORE,
  },
  {
    name: 'type: integer to float',
    after: schemaOf({ ...COLUMNS, size: column.float({ ...PLAIN, encrypted: false, index: true }) }),
    finds: ['size'],
  },
  {
    name: 'type: integer to text',
    after: schemaOf({ ...COLUMNS, size: column.string({ ...PLAIN, encrypted: false, index: true }) }),
    finds: ['size'],
    sizeIsText: true,
  },
  {
    name: 'encrypted off',
    after: schemaOf({ ...COLUMNS, name: column.string({ ...PLAIN, encrypted: false, index: true }) }),
    finds: ['name'],
  },
  { name: 'encrypted on', after: schemaOf({ ...COLUMNS, city: column.string({ ...PLAIN, unique: true }) }), finds: ['city'] },
  { name: 'tokens on', after: schemaOf({ ...COLUMNS, name: token('random') }) },
  {
    name: 'kind of tokens',
    before: schemaOf({ ...COLUMNS, name: token('random') }),
    after: schemaOf({ ...COLUMNS, name: token('deterministic') }),
  },
  { name: 'tokens off', before: schemaOf({ ...COLUMNS, name: token('deterministic') }), after: BEFORE },
  {
    name: 'normalize',
    after: schemaOf({ ...COLUMNS, found: column.string({ ...PLAIN, searchable: true, normalize: ['lowercase'] }) }),
    finds: ['found'],
  },
  {
    name: 'column group',
    after: schemaOf({ ...COLUMNS, found: column.string({ ...PLAIN, searchable: true, columnGroup: 'found' }) }),
    finds: ['found'],
  },
  { name: 'unique together on', after: schemaOf(COLUMNS, TOGETHER) },
  { name: 'unique together off', before: schemaOf(COLUMNS, TOGETHER), after: BEFORE },
  { name: 'column erased', after: schemaOf(WITHOUT_NAME), moves: { drop: { 'people.name': 'erase' } }, endsOlder: true },
  {
    name: 'table erased',
    after: { ...BEFORE, tables: { people: BEFORE.tables.people ?? {} } },
    moves: { drop: { others: 'erase' } },
  },
]
