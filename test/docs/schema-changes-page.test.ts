/** The tables of docs/schema-changes.md say what happens: each change is made to a vault with records, beside a process with the older schema. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { column, createVault, defineSchema, isVaultError, mask, type SchemaDefinition } from '../../src/index.ts'
import { asLoose } from '../support/vaults/open-untyped.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'

const page = readFileSync(new URL('../../docs/schema-changes.md', import.meta.url), 'utf8')

const free = column.string()
const must = column.string({ required: true })
const unique = column.string({ unique: true })
const searchable = column.string({ searchable: true })
const plain = column.integer({ encrypted: false })
const indexed = column.integer({ encrypted: false, index: true })
const token = column.string({ token: 'random' })
const photo = column.file()
const BASE = { things: { free, must, unique, searchable, plain, indexed, token, photo }, others: { text: free } }
const FIELDS = { free: 'a', must: 'b', searchable: 'd', plain: 1, indexed: 2, token: 'e' }

const { things, others } = BASE
const withThings = (changed: SchemaDefinition[string]): SchemaDefinition => ({ things: { ...things, ...changed }, others })
function without(name: keyof typeof things): SchemaDefinition {
  return { things: Object.fromEntries(Object.entries(things).filter(([column]) => column !== name)), others }
}

/** The schemas that a row of the page is about, by its first cell. */
const CHANGES: Readonly<Record<string, readonly SchemaDefinition[]>> = {
  'add a table': [{ ...BASE, more: { must } }],
  'add a column': [withThings({ more: free }), withThings({ more: indexed })],
  'add a `required` column': [{ things, others: { text: free, more: must } }],
  'add a `unique` or `searchable` column': [withThings({ more: unique }), withThings({ more: searchable })],
  '`required` on a column': [withThings({ free: must })],
  '`unique` on a column': [
    withThings({ free: unique }),
    withThings({ plain: column.integer({ encrypted: false, unique: true }) }),
  ],
  '`searchable` on a column': [withThings({ free: searchable })],
  '`index` on a plain column': [withThings({ plain: indexed })],
  '`required` removed': [withThings({ must: free })],
  '`unique`, `searchable`, `index` removed': [
    withThings({ unique: free }),
    withThings({ searchable: free }),
    withThings({ indexed: plain }),
  ],
  '`redaction`, `mask`': [withThings({ free: column.string({ redaction: 'MASKED', mask: mask.keepLast(1) }) })],
  '`pattern`, `maxLength`, `oneOf`, `allowedTypes`, `maxBytes`': [
    withThings({ free: column.string({ pattern: 'z', maxLength: 1, oneOf: ['z'] }) }),
    withThings({ photo: column.file({ allowedTypes: ['image/*'], maxBytes: 1 }) }),
  ],
  '`ttlMinutes`, `stable` of a token': [withThings({ token: column.string({ token: { kind: 'random', stable: true } }) })],
  '`type`, `encrypted`, `token` and its format, `columnGroup`, `normalize` of a column': [
    withThings({ free: column.integer() }),
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

const open = (storage: StorageHandle, tables: SchemaDefinition) =>
  createVault({ id: 'v1', schema: defineSchema(tables), storage, keys: localKeys({ key: TEST_SECRET }) })

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

describe('a change of the schema', () => {
  const rows = new Map(rowsOf('What can change').map(([change = '', ...cells]) => [change, cells]))

  it('is listed for each row but two, which say what other rows say', () => {
    const more = ['rename a table or column', "the vault's `id`"]
    expect([...rows.keys()].sort()).toEqual([...Object.keys(CHANGES), ...more].sort())
  })

  it.each(Object.entries(CHANGES))('is allowed, and leaves older processes, as the page says: %s', async (change, schemas) => {
    const [allowed = '', , meanwhile = ''] = rows.get(change) ?? []
    for (const tables of schemas) {
      const { storage, write } = await foundOlder()
      expect(await succeeds(() => open(storage, tables))).toBe(!allowed.startsWith('**no**'))
      expect(await succeeds(write)).toBe(!meanwhile.startsWith('cannot'))
    }
  })

  it.each(['must', 'unique', 'searchable'] as const)(
    'that leaves out a column which is %s ends writes of its table',
    async (name) => {
      const { storage } = await foundOlder()
      const session = asLoose((await open(storage, without(name))).as(OWNER))
      expect(await succeeds(() => session.insert('things', [{ fields: { free: 'z', must: 'z' } }].map(withoutField(name))))).toBe(
        false,
      )
      expect((await session.get('things')).records).toHaveLength(2)
    },
  )
})

/** Returns a function that leaves a field out of a record. */
function withoutField(name: string) {
  return ({ fields }: { readonly fields: Readonly<Record<string, string>> }) => ({
    fields: Object.fromEntries(Object.entries(fields).filter(([field]) => field !== name)),
  })
}

describe('older code that is rolled back to', () => {
  it.each([
    ['opens and works', withThings({ more: free }), true, true],
    ['opens and reads, and cannot write', withThings({ more: unique }), true, false],
    ['does not open', withThings({ free: searchable }), false, true],
    ['opens and takes required away', withThings({ free: must }), true, true],
  ] as const)('%s', async (_what, tables, opens, writes) => {
    const { storage, write } = await foundOlder()
    await open(storage, tables)
    expect(await succeeds(() => open(storage, BASE))).toBe(opens)
    if (opens) expect(await succeeds(write)).toBe(writes)
  })

  it('requires a column again, also of newer processes until they are restarted, and does not open once it has a null', async () => {
    const { storage } = await foundOlder()
    const openNewer = async () => asLoose((await open(storage, withThings({ must: free }))).as(OWNER))
    const insert = (session: Awaited<ReturnType<typeof openNewer>>) => session.insert('things', [{ fields: { free: 'z' } }])
    const running = await openNewer()
    await open(storage, BASE)
    expect(await succeeds(() => insert(running))).toBe(false)
    await insert(await openNewer())
    expect(await succeeds(() => open(storage, BASE))).toBe(false)
  })
})
