/** The vault of customers, as every process of the application opens it. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { column, createVault, defineSchema, type Schema, type SchemaDefinition, type Vault } from '../../../src/index.ts'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { OWNER, TEST_SECRET } from '../vaults/test-vault.ts'

/** The vault of customers. */
export const CUSTOMERS = defineSchema({
  customers: {
    name: column.string({ token: 'random' }),
    email: column.string({ unique: true, normalize: ['trim', 'lowercase'], token: 'random', maxLength: 100 }),
    phone: column.string({ token: 'random' }),
  },
})

/** Adds rows to the table of customers, with ids from 1. */
export async function fillCustomers(rows: number, run: (text: string) => Promise<unknown>): Promise<void> {
  await run(`insert into customers (id, name, email, phone, note) with recursive s(i) as (select 1 union all select i + 1 from s where i < ${rows})
    select i, 'Name ' || i, 'Person.' || i || '@Mail.example', case when i % 7 = 0 then null else '+46 ' || i end, 'n' from s`)
}

/** Opens the vault of an address, as every process of the application does. */
export function openHostVault(
  address: StorageAddress,
  schema: Schema<SchemaDefinition> = CUSTOMERS,
): Promise<Vault<SchemaDefinition>> {
  return createVault<SchemaDefinition>({
    id: 'adopted',
    schema,
    storage: openStorage(address),
    keys: localKeys({ key: TEST_SECRET }),
  })
}

/** An application, as far as its rows are compared. */
export interface ComparedHost {
  readonly vault: Vault<SchemaDefinition>
  /** Returns the rows of a SELECT as JSON knows them. */
  all(text: string): Promise<unknown[][]>
}

/** Every row of the table, as text by key. */
export async function plainRows({ all }: Pick<ComparedHost, 'all'>): Promise<Map<string, string>> {
  const rows = await all('select id, name, email, phone from customers order by id')
  return new Map(rows.map(([id, ...cells]) => [String(id), JSON.stringify(cells)]))
}

/** Every row as the vault has it, found by the side table; and the number of records in the vault. */
export async function vaultRows({
  vault,
  all,
}: ComparedHost): Promise<{ readonly rows: Map<string, string>; readonly records: number }> {
  const byId = new Map<string, string>()
  for await (const { records } of vault.as(OWNER).pages('customers', { limit: 1000, redaction: 'PLAIN_TEXT' }))
    for (const { id, fields } of records)
      byId.set(id, JSON.stringify([fields.name ?? null, fields.email ?? null, fields.phone ?? null]))
  const map = await all('select id, record_id from strongroom_customers_map order by id')
  return { rows: new Map(map.map(([id, record]) => [String(id), byId.get(String(record)) ?? 'no record'])), records: byId.size }
}
