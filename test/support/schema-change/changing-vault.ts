/** A vault whose schema changes under load: its kinds of change, writers and readers that compare what they see with a model, and what must hold at the end. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import type { Clock } from '../../../src/core/ports/time.ts'
import { checkSchema, type Schema } from '../../../src/core/schema/define-schema.ts'
import type { SchemaRules } from '../../../src/core/schema/schema-rules.ts'
import type { SchemaMoves } from '../../../src/core/schema-change/schema-moves.ts'
import type { OpenOptions } from '../../../src/core/vault/options.ts'
import { column, type SchemaDefinition, type Vault } from '../../../src/index.ts'
import { openFast } from '../vaults/fast-ports.ts'
import { asLoose, type LooseSession } from '../vaults/open-untyped.ts'
import { SYSTEM_PORTS } from '../vaults/system-ports.ts'
import { OWNER } from '../vaults/test-vault.ts'

export const PLAIN = { redaction: 'PLAIN_TEXT' } as const

/** Opens the vault as one process. */
export function openChanging(
  storage: StorageHandle,
  schema: Schema,
  options: Partial<OpenOptions<SchemaDefinition>> = {},
): Promise<Vault> {
  return openFast(storage, schema, options) as unknown as Promise<Vault>
}

/** Returns a clock that is ahead by the leases of jobs of so many killed processes. */
export function clockAfter(kills: number): Clock {
  return { now: () => SYSTEM_PORTS.clock.now() + BigInt(kills) * 61_000_000_000n }
}

/** The columns of the table that changes. */
export const COLUMNS = {
  key: column.string({ ...PLAIN, unique: true, index: 'sealed' }),
  name: column.string(PLAIN),
  found: column.string({ ...PLAIN, searchable: true }),
  once: column.string({ ...PLAIN, unique: true }),
  city: column.string({ ...PLAIN, encrypted: false }),
  size: column.integer({ ...PLAIN, encrypted: false, index: true }),
}
type Columns = { readonly [Name in string]: SchemaDefinition[string][string] }

/** A kind of change. */
export interface Kind {
  readonly name: string
  readonly after: Schema
  readonly moves?: SchemaMoves
  /** The name of the table, and of its columns that have another one then. */
  readonly table?: string
  readonly renamed?: Readonly<Record<string, string>>
  /** The kinds of its steps, in order. */
  readonly steps: readonly string[]
  /** Columns by whose values records are found then, and were not, or the other way. */
  readonly finds?: readonly string[]
  readonly findsNot?: readonly string[]
  /** Columns in which no two records can have one value then. */
  readonly unique?: readonly string[]
  readonly notUnique?: readonly string[]
  /** Columns that must have a value then. */
  readonly required?: readonly string[]
}

export function schemaOf(
  columns: Columns,
  { table = 'people', rules = {} }: { readonly table?: string; readonly rules?: SchemaRules } = {},
): Schema {
  return checkSchema({ [table]: columns, others: { text: column.string(PLAIN) } }, rules)
}

export const BEFORE = schemaOf(COLUMNS)

const { name: _, ...WITHOUT_NAME } = COLUMNS
const { found: __, ...WITHOUT_FOUND } = COLUMNS

/** Every kind of change that rewrites no stored byte of a value. */
export const KINDS: readonly Kind[] = [
  {
    name: 'mask',
    after: schemaOf({ ...COLUMNS, name: column.string({ redaction: 'MASKED', mask: { preset: 'keepFirst', count: 1 } }) }),
    steps: ['now', 'now'],
  },
  { name: 'rules of values', after: schemaOf({ ...COLUMNS, name: column.string({ ...PLAIN, maxLength: 900 }) }), steps: ['now'] },
  {
    name: 'column added',
    after: schemaOf({ ...COLUMNS, note: column.string(PLAIN), rank: column.integer({ ...PLAIN, encrypted: false }) }),
    steps: ['now', 'now'],
  },
  {
    name: 'column renamed',
    after: schemaOf({ ...WITHOUT_NAME, title: COLUMNS.name }),
    moves: { rename: { 'people.name': 'title' } },
    renamed: { name: 'title' },
    steps: ['now'],
  },
  {
    name: 'look-up column renamed',
    after: schemaOf({ ...WITHOUT_FOUND, seen: COLUMNS.found }),
    moves: { rename: { 'people.found': 'seen' } },
    renamed: { found: 'seen' },
    finds: ['seen'],
    steps: ['now'],
  },
  {
    name: 'table renamed',
    after: schemaOf(COLUMNS, { table: 'persons' }),
    table: 'persons',
    moves: { rename: { people: 'persons' } },
    steps: ['now'],
  },
  {
    name: 'searchable on',
    after: schemaOf({ ...COLUMNS, name: column.string({ ...PLAIN, searchable: true }) }),
    finds: ['name'],
    steps: ['fill', 'index'],
  },
  {
    name: 'searchable off',
    after: schemaOf({ ...COLUMNS, found: column.string(PLAIN) }),
    findsNot: ['found'],
    steps: ['erase', 'erase'],
  },
  {
    name: 'unique on',
    after: schemaOf({ ...COLUMNS, name: column.string({ ...PLAIN, unique: true }) }),
    finds: ['name'],
    unique: ['name'],
    steps: ['fill', 'index'],
  },
  {
    name: 'unique on a searchable column',
    after: schemaOf({ ...COLUMNS, found: column.string({ ...PLAIN, unique: true }) }),
    finds: ['found'],
    unique: ['found'],
    steps: ['index', 'erase'],
  },
  {
    name: 'unique on a plain column',
    after: schemaOf({ ...COLUMNS, city: column.string({ ...PLAIN, encrypted: false, unique: true }) }),
    finds: ['city'],
    unique: ['city'],
    steps: ['index'],
  },
  {
    name: 'unique off',
    after: schemaOf({ ...COLUMNS, once: column.string(PLAIN) }),
    findsNot: ['once'],
    notUnique: ['once'],
    steps: ['erase', 'erase'],
  },
  {
    name: 'required on',
    after: schemaOf({ ...COLUMNS, name: column.string({ ...PLAIN, required: true }) }),
    required: ['name'],
    steps: ['check'],
  },
  {
    name: 'index on',
    after: schemaOf({ ...COLUMNS, city: column.string({ ...PLAIN, encrypted: false, index: true }) }),
    finds: ['city'],
    steps: ['index'],
  },
  {
    name: 'index off',
    after: schemaOf({ ...COLUMNS, size: column.integer({ ...PLAIN, encrypted: false }) }),
    findsNot: ['size'],
    steps: ['erase'],
  },
  {
    name: 'add sealed index',
    after: schemaOf({ ...COLUMNS, name: column.string({ ...PLAIN, index: 'sealed' }) }),
    steps: ['fill'],
  },
  {
    name: 'add a column with a sealed index',
    after: schemaOf({ ...COLUMNS, rank: column.integer({ ...PLAIN, index: 'sealed' }) }),
    steps: ['now', 'fill'],
  },
  {
    name: 'drop sealed index',
    after: schemaOf({ ...COLUMNS, key: column.string({ ...PLAIN, unique: true }) }),
    steps: ['erase'],
  },
  { name: 'column kept', after: schemaOf(WITHOUT_NAME), moves: { drop: { 'people.name': 'keep' } }, steps: [] },
  {
    name: 'several at once',
    after: schemaOf({
      ...WITHOUT_NAME,
      title: column.string({ ...PLAIN, searchable: true, required: true }),
      found: column.string(PLAIN),
    }),
    moves: { rename: { 'people.name': 'title' } },
    renamed: { name: 'title' },
    finds: ['title'],
    findsNot: ['found'],
    required: ['title'],
    steps: ['now', 'check', 'fill', 'index', 'erase', 'erase'],
  },
]

/** The fields of a person. All values differ between two of them. */
export function person(n: number | string, version = 0) {
  const value = `${n}/${version}`
  return {
    key: `key ${n}`,
    name: `name ${value}`,
    found: `found ${value}`,
    once: `once ${value}`,
    city: `city ${value}`,
    size: Number(String(n).replace(/\D/g, '')) * 100 + version,
  }
}
export type Person = ReturnType<typeof person>

/** What is stored, by the key of a person. */
export type Model = Map<string, { readonly id: string; readonly fields: Person }>

/** Returns the session of a vault. */
export function sessionOf(vault: Vault): LooseSession {
  return asLoose(vault.as(OWNER))
}

/** Stores people, and returns the model of them. */
export async function fillPeople(vault: Vault, count: number): Promise<Model> {
  const model: Model = new Map()
  for (let from = 0; from < count; from += 500) {
    const people = Array.from({ length: Math.min(500, count - from) }, (_, k) => person(from + k))
    const { records } = await sessionOf(vault).insert(
      'people',
      people.map((fields) => ({ fields })),
    )
    for (const [k, fields] of people.entries()) model.set(fields.key, { id: records[k]?.id ?? '', fields })
  }
  return model
}

/** Writes and reads as a process with the older schema, until `isOver` says so: each writer has people of its own. Returns the number of its rounds. */
export async function work(
  vault: Vault,
  model: Model,
  { writer, isOver }: { readonly writer: string; isOver(): boolean },
): Promise<number> {
  const session = sessionOf(vault)
  let rounds = 0
  for (; !isOver() || rounds < 3; rounds++) {
    // A writer without a rest would take the time of the change, which would give it more time.
    if (rounds > 2) await pause(10)
    const fields = person(`${writer}${rounds}`)
    const { id } = await session.insertOne('people', fields)
    model.set(fields.key, { id, fields })
    const own = [...model.entries()].filter(([key]) => key.startsWith(`key ${writer}`))
    const [key, known] = own[(rounds * 7) % own.length] ?? []
    if (key === undefined || known === undefined) continue
    const changed = { ...person(key.slice(4), rounds + 1), key }
    await session.updateOne('people', known.id, changed)
    model.set(key, { id: known.id, fields: changed })
    expect((await session.getOne('people', known.id)).fields).toMatchObject({ key, city: changed.city })
    const byKey = await session.get('people', { where: { key: [key, fields.key] } })
    expect(byKey.records.map(({ id: of }) => of).sort()).toEqual([...new Set([known.id, id])].sort())
    if (rounds % 5 === 4 && key !== fields.key) {
      await session.delete('people', [known.id])
      model.delete(key)
    }
  }
  return rounds
}

let lastFresh = 0

/** Throws unless the vault holds what the model says, and finds and refuses what the kind of change says. */
export async function expectModel(vault: Vault, model: Model, kind: Kind): Promise<void> {
  const { table = 'people', renamed = {}, finds = [], findsNot = [], unique = [], notUnique = [], required = [] } = kind
  const session = sessionOf(vault)
  const stored = new Map<string, unknown>()
  for (let offset = 0; offset === stored.size; offset += 1000) {
    const { records } = await session.get(table, { offset, limit: 1000, redaction: 'PLAIN_TEXT' })
    for (const { id, fields } of records) stored.set(id, fields)
  }
  expect(stored.size).toBe(model.size)
  const columns = Object.keys(vault.schema[table] ?? {})
  const nameOf = (column: string): string => renamed[column] ?? column
  const all = [...model.values()]
  for (const { id, fields } of all) {
    const known = Object.entries(fields).map(([column, value]) => [nameOf(column), value] as const)
    expect(stored.get(id)).toMatchObject(Object.fromEntries(known.filter(([column]) => columns.includes(column))))
  }
  const valueIn = ({ fields }: (typeof all)[number], column: string) =>
    Object.entries(fields).find(([own]) => nameOf(own) === column)?.[1]
  const some = all.filter((_, index) => index % Math.ceil(all.length / 40) === 0)
  for (const column of ['key', ...finds]) {
    const found = await session.get(table, { where: { [column]: some.map((one) => valueIn(one, column)) }, limit: 1000 })
    expect(found.records.map(({ id }) => id).sort()).toEqual(some.map(({ id }) => id).sort())
  }
  for (const column of findsNot) {
    // A text is looked up, and never found by reading all.
    const read = session.perform('get', { table, options: { where: { [column]: ['x'] } }, areTexts: true })
    await expect(read).rejects.toMatchObject({ code: 'invalid_request' })
  }
  const [first] = some
  if (first === undefined) return
  const fresh = () =>
    Object.fromEntries(Object.entries(person(`7700${++lastFresh}`)).map(([column, value]) => [nameOf(column), value]))
  const allowed = () => Object.fromEntries(Object.entries(fresh()).filter(([column]) => columns.includes(column)))
  for (const column of ['key', ...unique])
    await expect(session.insertOne(table, { ...allowed(), [column]: valueIn(first, column) })).rejects.toMatchObject({
      code: 'conflict',
    })
  for (const column of notUnique)
    await session.delete(table, [(await session.insertOne(table, { ...allowed(), [column]: valueIn(first, column) })).id])
  for (const column of required)
    await expect(session.insertOne(table, { ...allowed(), [column]: null })).rejects.toMatchObject({
      code: 'unprocessable',
    })
  expect((await vault.verifyRecords()).findings).toEqual([])
  expect((await vault.verifyAudit()).ok).toBe(true)
}
