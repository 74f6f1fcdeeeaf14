/** A shop whose customers can be forgotten: five tables, found by ids, by values, sealed and plain, at most three relations away. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column, defineSchema, type PolicyFor, type Vault } from '../../../src/index.ts'
import { countedBlobs, pngOf } from '../files/open-file-vault.ts'
import { SYSTEM_PORTS } from '../vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../vaults/test-vault.ts'

const email = { columnGroup: 'email', normalize: ['trim', 'lowercase'], redaction: 'PLAIN_TEXT' } as const

const tables = {
  customers: {
    name: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }),
    email: column.string({ ...email, unique: true }),
    ssn: column.string({ token: 'deterministic' }),
    card: column.string({ token: { kind: 'formatPreserving', format: 'card' } }),
    pin: column.string({ token: 'transient' }),
  },
  orders: {
    customer_id: column.string({ searchable: true, redaction: 'PLAIN_TEXT' }),
    number: column.string({ encrypted: false, unique: true, redaction: 'PLAIN_TEXT' }),
    address: column.string({ redaction: 'PLAIN_TEXT' }),
    code: column.string({ token: 'transient' }),
  },
  items: {
    order_id: column.string({ encrypted: false, index: true }),
    label: column.string({ redaction: 'PLAIN_TEXT' }),
  },
  shipments: { order_number: column.string({ encrypted: false, index: true }), sign: column.string({ redaction: 'PLAIN_TEXT' }) },
  notes: {
    email: column.string({ ...email, searchable: true }),
    text: column.string({ redaction: 'PLAIN_TEXT' }),
    scan: column.file({ redaction: 'PLAIN_TEXT' }),
  },
  shops: { name: column.string({ searchable: true, redaction: 'PLAIN_TEXT' }) },
}

export type Shop = typeof tables

/** The orders of a customer with their items, and what has the address of one. */
export const CUSTOMER_RELATIONS = [
  { table: 'items', column: 'order_id', references: 'orders' },
  { table: 'orders', column: 'customer_id', references: 'customers' },
  { table: 'notes', column: 'email', equals: 'customers.email' },
] as const

const RELATIONS = [{ table: 'shipments', column: 'order_number', equals: 'orders.number' }, ...CUSTOMER_RELATIONS] as const

/** The schema. The relations of a planted fault leave a table out. */
export function shopSchema(without?: (typeof RELATIONS)[number]['table']) {
  return defineSchema(tables, {
    subjects: { customer: { table: 'customers', relations: RELATIONS.filter(({ table }) => table !== without) } },
  })
}

/** A vault of a shop, and what its files are stored in. */
export async function openShop(
  storage: StorageHandle,
  options: { readonly schema?: ReturnType<typeof shopSchema>; readonly policy?: PolicyFor<Shop>; readonly audit?: 'off' } = {},
) {
  const blobs = countedBlobs()
  const vault = await openVault({
    ...SYSTEM_PORTS,
    schema: shopSchema(),
    ...options,
    id: 'v1',
    storage,
    blobs,
    keys: localKeys({ key: TEST_SECRET }),
  })
  return { vault, blobs }
}

/** A person of the shop, and everything by which something of them could be found. */
export interface StoredCustomer {
  readonly name: string
  readonly email: string
  readonly id: string
  readonly orders: readonly string[]
  readonly notes: readonly string[]
  readonly tokens: readonly string[]
  readonly transientTokens: readonly string[]
  readonly ticket: string
}

/** Stores a person with orders, items, shipments and notes. */
export async function storeCustomer(vault: Vault<Shop>, name: string, orders = 3): Promise<StoredCustomer> {
  const session = vault.as(OWNER)
  const address = `${name}@Acme.example`
  const customer = await session.insertOne(
    'customers',
    { name, email: address, ssn: `ssn of ${name}`, card: cardOf(name), pin: `pin of ${name}` },
    { tokenization: true },
  )
  const numbers = Array.from({ length: orders }, (_, n) => `${name}/${n}`)
  const placed = await session.insert(
    'orders',
    numbers.map((number) => ({
      fields: { customer_id: customer.id, number, address: `address of ${name}`, code: `code of ${name}` },
    })),
    { tokenization: true },
  )
  const ids = placed.records.map(({ id }) => id)
  const own = (list: readonly string[], fields: (one: string) => object) =>
    list.flatMap((one) => [{ fields: fields(one) }, { fields: fields(one) }]) as never
  await session.insert(
    'items',
    own(ids, (order_id) => ({ order_id, label: `item of ${name}` })),
  )
  await session.insert(
    'shipments',
    own(numbers, (order_number) => ({ order_number, sign: `sign of ${name}` })),
  )
  const note = await session.uploadFile({ table: 'notes', column: 'scan', file: pngOf(900), fileName: `${name}.png` })
  await session.updateOne('notes', note.id, { email: ` ${address.toUpperCase()} `, text: `note of ${name}` })
  const other = await session.insertOne('notes', { email: address, text: `note of ${name}` })
  const { tokens } = customer
  return {
    name,
    email: address,
    id: customer.id,
    orders: ids,
    notes: [note.id, other.id],
    tokens: [tokens.name, tokens.ssn, tokens.card].filter((token) => token !== undefined),
    transientTokens: [tokens.pin, ...placed.records.map((order) => order.tokens.code)].filter((token) => token !== undefined),
    ticket: (await session.downloadTicket('notes', note.id, 'scan')).ticket,
  }
}

/** A card number of 16 digits that passes Luhn's check, made of a name. */
function cardOf(name: string): string {
  const digits = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1e9, 7)
  const body = `400000${String(digits).padStart(9, '0')}`
  for (let check = 0; ; check++) if (passesLuhn(`${body}${check}`)) return `${body}${check}`
}

function passesLuhn(card: string): boolean {
  const sum = [...card].reverse().reduce((total, digit, index) => {
    const twice = Number(digit) * (index % 2 === 1 ? 2 : 1)
    return total + (twice > 9 ? twice - 9 : twice)
  }, 0)
  return sum % 10 === 0
}
