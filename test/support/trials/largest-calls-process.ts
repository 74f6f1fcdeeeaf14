/** A process with a small stack, which takes few arguments, that makes calls with more items than that. Prints how many items each verb answered. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { column, createVault, defineSchema } from '../../../src/index.ts'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { OWNER, TEST_SECRET } from '../vaults/test-vault.ts'

/** What a process is started with, as JSON in its first argument. */
export interface LargestCalls {
  /** Absent for a storage in memory. */
  readonly address?: StorageAddress
  readonly items: number
}

const { address, items }: LargestCalls = JSON.parse(process.argv[2] ?? '')
const CLERK = { actor: 'clerk', actorType: 'USER', roles: ['clerk'] } as const
const clerk = [{ effect: 'ALLOW', actions: ['ALL'], on: ['people.*'], where: 'code > -1', redaction: 'PLAIN_TEXT' }] as const
const column_ = { redaction: 'PLAIN_TEXT' } as const

const vault = await createVault({
  id: 'v1',
  schema: defineSchema({
    people: {
      code: column.integer({ ...column_, unique: true, token: 'deterministic' }),
      size: column.integer({ ...column_, encrypted: false }),
    },
  }),
  policy: { clerk },
  storage: address === undefined ? memoryStorage() : openStorage(address),
  keys: localKeys({ key: TEST_SECRET }),
  limits: { maxRecords: items, maxPageSize: items, maxQueryRecords: items },
})
const owner = vault.as(OWNER)
const narrowed = vault.as(CLERK)
const codes = Array.from({ length: items }, (_, index) => index)
if (takesAll()) throw new Error(`The stack takes ${items} arguments.`)
const records = codes.map((code) => ({ fields: { code, size: 1 } }))
const byCode = { code: codes } as const

const { records: inserted } = await owner.insert('people', records, { tokenization: true })
const ids = inserted.map(({ id }) => id ?? '')
const tokens = inserted.map(({ tokens }) => tokens?.code ?? '')

function takesAll(): boolean {
  try {
    return Math.max(...codes) === items - 1
  } catch {
    return false
  }
}

/** The verbs in order, each with how many items it answers. */
const VERBS: Readonly<Record<string, () => Promise<number>>> = {
  get: async () => (await narrowed.get('people', { ids })).records.length,
  'get a page': async () => (await narrowed.get('people', { limit: items })).records.length,
  'get by values': async () => (await narrowed.get('people', { where: byCode, limit: items })).records.length,
  query: async () => (await narrowed.query('SELECT code FROM people WHERE size = 1')).records.length,
  getByTokens: async () => (await owner.getByTokens(tokens)).records.length,
  detokenize: async () => (await owner.detokenize(tokens.map((token) => ({ token })))).records.length,
  async tokenize() {
    const values = codes.map((code) => ({ table: 'people', column: 'code', value: String(code) }) as const)
    return (await owner.tokenize(values)).records.filter(({ token }, index) => token === tokens[index]).length
  },
  upsert: async () => (await owner.insert('people', records, { upsert: 'code' })).records.length,
  'insert beside others': async () => (await owner.insert('people', records, { onConflict: 'ignore' })).records.length,
  update: async () =>
    (
      await narrowed.update(
        'people',
        ids.map((id) => ({ id, fields: { size: 2 } })),
      )
    ).records.length,
  updateWhere: async () => (await narrowed.updateWhere('people', byCode, { size: 3 })).records.length,
  async batch() {
    const changes = ids.map((id) => ({ update: 'people', id, fields: { size: 4 } }) as const)
    return (await owner.batch(changes)).responses.length
  },
  delete: async () => (await narrowed.delete('people', ids)).ids.length,
  'batch of inserts': async () =>
    (await owner.batch(records.map(({ fields }) => ({ insert: 'people', fields }) as const))).responses.length,
  deleteWhere: async () => (await narrowed.deleteWhere('people', byCode)).ids.length,
  insert: async () => (await owner.insert('people', records)).records.length,
  async 'delete all'() {
    await narrowed.delete('people', ['*'])
    return items - (await owner.get('people', { limit: items })).records.length
  },
}

const answered: Record<string, number | string> = {}
for (const [verb, run] of Object.entries(VERBS)) answered[verb] = await run().catch((error: Error) => error.message)
process.stdout.write(JSON.stringify(answered))
await vault.close()
