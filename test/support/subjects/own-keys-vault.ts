/** A vault whose customers have keys of their own: their records, what refers to them, and what only has a value in common with them. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { subjectKeyOf } from '../../../src/core/sealing/subject-bodies.ts'
import { destroyKeys } from '../../../src/core/subject-keys/key-rows.ts'
import { column, createVault, defineSchema, type Vault } from '../../../src/index.ts'
import { OWNER, TEST_SECRET } from '../vaults/test-vault.ts'
import { CUSTOMER_RELATIONS } from './customers.ts'

const text = () => column.string({ redaction: 'PLAIN_TEXT' })
const reference = () => column.string({ redaction: 'PLAIN_TEXT', searchable: true })
const TABLES = {
  customers: {
    email: column.string({ redaction: 'PLAIN_TEXT', unique: true, columnGroup: 'email' }),
    name: text(),
    pin: column.string({ redaction: 'PLAIN_TEXT', token: 'transient' }),
    scan: column.file({ redaction: 'PLAIN_TEXT' }),
  },
  orders: { customer_id: reference(), memo: text(), scan: column.file({ redaction: 'PLAIN_TEXT' }) },
  items: { order_id: reference(), memo: text() },
  notes: { email: column.string({ redaction: 'PLAIN_TEXT', searchable: true, columnGroup: 'email' }), memo: text() },
}

/** The physical tables of the schema. */
export const PHYSICAL = {
  customers: 'records_1_customers',
  orders: 'records_6_orders',
  items: 'records_10_items',
  notes: 'records_13_notes',
} as const

/** The schema, with keys or without. */
export const customerSchema = (ownKeys = true) =>
  defineSchema(TABLES, {
    subjects: {
      customer: {
        table: 'customers',
        relations: CUSTOMER_RELATIONS,
        ownKeys,
      },
    },
  })

export type CustomerVault = Vault<typeof TABLES>

/** How a process opens the vault. */
interface CustomerOptions {
  readonly ownKeys?: boolean
  readonly subjectKeys?: StorageHandle
}

export function openCustomers(storage: StorageHandle, { ownKeys, subjectKeys }: CustomerOptions = {}): Promise<CustomerVault> {
  const keys = localKeys({ key: TEST_SECRET })
  return createVault({ id: 'v1', schema: customerSchema(ownKeys), storage, keys, ...(subjectKeys && { subjectKeys }) })
}

/** Stores three people, and what belongs to the first. */
export async function fillCustomers(vault: CustomerVault) {
  const session = vault.as(OWNER)
  const people = ['ann', 'bob', 'eve'].map((name) => ({ fields: { name, email: `${name}@acme.example`, pin: `pin of ${name}` } }))
  const { records } = await session.insert('customers', people, { tokenization: true })
  const [ann = '', bob = ''] = records.map(({ id }) => id)
  const { id: order } = await session.insertOne('orders', { customer_id: ann, memo: 'of ann' })
  const { id: item } = await session.insertOne('items', { order_id: order, memo: 'item of ann' })
  await session.insertOne('orders', { memo: 'of no one' })
  await session.insertOne('notes', { email: 'ann@acme.example', memo: 'note' })
  for (const [table, id] of [['customers', ann] as const, ['orders', order] as const])
    await session.uploadFile({ table, column: 'scan', id, file: new Blob([`scan of ${table}`]), fileName: 'a.txt' })
  return { session, ann, bob, order, item, pins: records.map(({ tokens }) => tokens?.pin ?? '') }
}

/** Returns the key of each body of a table; 0 for that of the vault. */
export async function keysIn(storage: StorageHandle, table: string): Promise<number[]> {
  const rows = await storage.find(table, { kind: 'all' }, { order: 'asc', limit: 1000, columns: ['body'] })
  return rows.map(({ body }) => (body instanceof Uint8Array ? subjectKeyOf(body) : -1))
}

/** Destroys the keys of the customers in these rows, as forgetting them does. */
export function forgetRows(storage: Storage, rows: readonly number[]): Promise<number> {
  return destroyKeys(storage, { objectId: 1 }, rows)
}

export async function scanOf(
  session: ReturnType<CustomerVault['as']>,
  table: 'customers' | 'orders',
  id: string,
): Promise<string> {
  const { stream } = await session.openFile(table, id, 'scan')
  return new Response(ReadableStream.from(stream)).text()
}
