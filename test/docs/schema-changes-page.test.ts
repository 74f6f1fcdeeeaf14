/** The tables of docs/schema-changes.md say what happens: each change is made to a vault with records, beside a process with the older schema. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { column, createVault, defineSchema, isVaultError, mask, type SchemaDefinition, storedSchema } from '../../src/index.ts'
import { asLoose } from '../support/vaults/open-untyped.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'

const page = readFileSync(new URL('../../docs/schema-changes.md', import.meta.url), 'utf8')

const free = column.string()
const must = column.string({ required: true })
const unique = column.string({ unique: true })
const searchable = column.string({ searchable: true })
const plain = column.integer({ encrypted: false })
const indexed = column.integer({ encrypted: false, index: true })
const sealed = column.string({ index: 'sealed' })
const token = column.string({ token: 'random' })
const photo = column.file()
const BASE = { things: { free, must, unique, searchable, plain, indexed, sealed, token, photo }, others: { text: free } }
const FIELDS = { free: 'a', must: 'b', searchable: 'd', plain: 1, indexed: 2, token: 'e' }

const { things, others } = BASE
const withThings = (changed: SchemaDefinition[string]): SchemaDefinition => ({ things: { ...things, ...changed }, others })
function without(name: keyof typeof things): SchemaDefinition {
  return { things: Object.fromEntries(Object.entries(things).filter(([column]) => column !== name)), others }
}

/** The schemas that a row of the page is about, by its first cell. */
const CHANGES: Readonly<Record<string, readonly SchemaDefinition[]>> = {
  'add a table': [{ ...BASE, more: { must } }],
  'add a column': [withThings({ more: free }), withThings({ more: plain })],
  'add a `required` column': [{ things, others: { text: free, more: must } }],
  'add a `unique`, `searchable` or `index` column': [unique, searchable, indexed, sealed].map((more) => ({
    things,
    others: { text: free, more },
  })),
  '`required` on a column': [withThings({ free: must })],
  '`unique` on a column': [
    withThings({ free: unique }),
    withThings({ plain: column.integer({ encrypted: false, unique: true }) }),
  ],
  '`searchable` on a column': [withThings({ free: searchable })],
  '`index` on a plain column': [withThings({ plain: indexed })],
  "`index: 'sealed'` on a column": [withThings({ free: sealed })],
  '`required` removed': [withThings({ must: free })],
  '`unique`, `searchable`, `index`, unique together removed': [
    withThings({ unique: free }),
    withThings({ searchable: free }),
    withThings({ indexed: plain }),
    withThings({ sealed: free }),
  ],
  '`redaction`, `mask`, `requires`': [
    withThings({ free: column.string({ redaction: 'MASKED', mask: mask.keepLast(1) }) }),
    withThings({ free: column.string({ requires: ['purpose'] }) }),
  ],
  '`pattern`, `maxLength`, `oneOf`, `allowedTypes`, `maxBytes`': [
    withThings({ free: column.string({ pattern: 'z', maxLength: 1, oneOf: ['z'] }) }),
    withThings({ photo: column.file({ allowedTypes: ['image/*'], maxBytes: 1 }) }),
  ],
  '`ttlMinutes`, `stable` of a token': [withThings({ token: column.string({ token: { kind: 'random', stable: true } }) })],
  '`type` of a column': [
    withThings({ plain: column.float({ encrypted: false }) }),
    withThings({ indexed: column.string({ encrypted: false, index: true }) }),
  ],
  '`encrypted`, `token` and its format, `columnGroup`, `normalize` of a column': [
    withThings({ free: column.string({ encrypted: false }) }),
    withThings({ free: token }),
    withThings({ token: free }),
    withThings({ free: column.string({ columnGroup: 'all_of_them' }) }),
    withThings({ free: column.string({ normalize: ['trim'] }) }),
  ],
  'leave out a table': [{ things }],
  'leave out a column': [without('free'), without('plain'), without('token')],
}

/** The cells of the rows of a section, without its head. */
function rowsOf(section: string): string[][] {
  const text = page.match(new RegExp(`\\n## ${section}\\n.*?(?=\\n## )`, 's'))?.[0] ?? ''
  return [...text.matchAll(/^\| (.*) \|$/gm)].slice(1).map(([, row = '']) => row.split('|').map((cell) => cell.trim()))
}

const open = (storage: StorageHandle, tables: SchemaDefinition, schemaChanges: 'small' | 'apply' = 'small') =>
  createVault({ id: 'v1', schema: defineSchema(tables), storage, keys: localKeys({ key: TEST_SECRET }), schemaChanges })

/** A vault of the older schema with two records of one table. */
async function foundOlder() {
  const storage = memoryStorage()
  const session = asLoose((await open(storage, BASE)).as(OWNER))
  const { records } = await session.insert('things', [
    { fields: { ...FIELDS, unique: 'c1' } },
    { fields: { ...FIELDS, free: 'f', plain: 3, unique: 'c2' } },
  ])
  const write = async () => {
    await session.insert('others', [{ fields: { text: 'x' } }])
    await session.updateOne('things', records[0]?.id ?? '', { token: 'g' })
  }
  return { storage, write }
}

/** True if it succeeds, false if it is refused because of the schema. */
async function succeeds(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (isVaultError(error, 'failed_precondition')) return false
    throw error
  }
}

/** True if the page says that an opening makes a change. */
const isOfOpening = (cell: string): boolean => cell.startsWith('yes') || cell.startsWith('to a table without rows')

describe('a change of the schema', () => {
  const rows = new Map(rowsOf('What can change').map(([change = '', ...cells]) => [change, cells]))

  it('is listed for each row but four, which say what other rows say, or take moves or rules', () => {
    const more = [
      'rename a table or column',
      'erase a table or column',
      'columns [unique together](schema.md#unique-together)',
      "the vault's `id`",
    ]
    expect([...rows.keys()].sort()).toEqual([...Object.keys(CHANGES), ...more].sort())
  })

  it.each(Object.entries(CHANGES))(
    'takes what the page says, and leaves older processes as it says: %s',
    async (change, schemas) => {
      const [opening = '', steps = '', older = ''] = rows.get(change) ?? []
      for (const tables of schemas) {
        const { storage, write } = await foundOlder()
        expect(await succeeds(() => open(storage, tables))).toBe(isOfOpening(opening))
        const vault = await createVault({ id: 'v1', schema: storedSchema, storage, keys: localKeys({ key: TEST_SECRET }) })
        if (!isOfOpening(opening)) {
          const plan = await vault.planSchemaChange(defineSchema(tables))
          expect(plan.refusals.length > 0).toBe(opening === 'refused')
          for (const { kind } of plan.steps) expect(opening === 'refused' ? 'fill check index erase' : steps).toContain(kind)
          // What ends digests waits until no reader goes by the older schema.
          if (opening === 'no' && !steps.includes('erase')) await vault.applySchemaChange(plan)
        }
        expect(await succeeds(write)).toBe(!older.startsWith('cannot'))
      }
    },
  )

  it.each([must, unique, searchable, indexed, sealed])(
    'is more than an opening makes where a table with rows gets %o',
    async (more) => {
      const { storage } = await foundOlder()
      expect(await succeeds(() => open(storage, withThings({ more })))).toBe(false)
    },
  )
})

describe('a process with an older schema that is opened after a change', () => {
  it.each([
    ['of a column', withThings({ more: free })],
    ['of a look-up', withThings({ free: searchable })],
    ['of a rule', withThings({ free: must })],
    ['of a mask', withThings({ free: column.string({ redaction: 'MASKED', mask: mask.keepLast(1) }) })],
  ] as const)('follows the stored one: %s', async (_what, tables) => {
    const { storage, write } = await foundOlder()
    const newer = await open(storage, tables, 'apply')
    const before = JSON.stringify(newer.schema)
    const older = await open(storage, BASE)
    await write()
    expect((await newer.planSchemaChange(defineSchema(tables))).steps).toEqual([])
    expect(JSON.stringify(newer.schema)).toBe(before)
    expect(older.schema.things).toMatchObject({ free: newer.schema.things?.free })
  })
})
