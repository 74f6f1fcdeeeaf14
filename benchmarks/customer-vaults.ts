/** Our side of the benches that query: customers and accounts, sealed but for one sum, opened with and without a record of what is done. */
import { localKeys } from '../src/adapters/keys/index.ts'
import { column, createVault, defineSchema, type StorageHandle } from '../src/index.ts'
import type { Customer } from './people.ts'
import { OWNER, SECRET, VAULT } from './vaults.ts'

/** One column that is found by digest, one sum that is plain, and the same sum sealed; accounts are what customers are joined to. */
const schema = defineSchema({
  customers: {
    name: column.string({ token: 'random' }),
    email: column.string({ token: 'random', searchable: true }),
    phone: column.string({ token: 'random' }),
    address: column.string({ token: 'random' }),
    ssn: column.string({ token: 'random' }),
    city: column.string(),
    balance: column.integer({ encrypted: false }),
    spent: column.integer(),
  },
  accounts: {
    email: column.string({ searchable: true }),
    ssn: column.string(),
  },
})

/** Fields of the records a query answers. */
export type Answered = readonly { readonly [name: string]: unknown }[]

export interface CustomerVault {
  insert(customers: readonly Customer[]): Promise<void>
  insertAccounts(customers: readonly Customer[]): Promise<void>
  query(sql: string): Promise<Answered>
  /** How a query would be answered; storage is not asked. */
  explain(sql: string): unknown
  close(): Promise<void>
}

export interface CustomerVaultPair {
  readonly audited: CustomerVault
  readonly unaudited: CustomerVault
  close(): Promise<void>
}

/** One vault opened twice on one storage, so that both query the same rows. */
export async function openCustomerVaults(storage: StorageHandle): Promise<CustomerVaultPair> {
  const audited = await openCustomerVault(storage, 'on')
  return { audited, unaudited: await openCustomerVault(storage, 'off'), close: audited.close }
}

async function openCustomerVault(storage: StorageHandle, audit: 'on' | 'off'): Promise<CustomerVault> {
  const vault = await createVault({ id: VAULT, schema, storage, keys: localKeys({ secret: SECRET }), audit })
  const session = vault.as(OWNER)
  return {
    async insert(customers) {
      await session.insert(
        'customers',
        customers.map((fields) => ({ fields })),
      )
    },
    async insertAccounts(customers) {
      await session.insert(
        'accounts',
        customers.map(({ email, ssn }) => ({ fields: { email, ssn } })),
      )
    },
    query: async (sql) => (await session.query(sql)).records.map(({ fields }) => fields),
    explain: (sql) => vault.explainQuery(sql, OWNER),
    close: () => vault.close(),
  }
}
