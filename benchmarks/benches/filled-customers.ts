/** The same customers in a vault and in a floor, for the benches that query. */
import { memoryStorage } from '../../src/adapters/memory/index.ts'
import { postgresStorage } from '../../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { type CustomerVault, type CustomerVaultPair, openCustomerVaults } from '../customer-vaults.ts'
import type { StorageName } from '../entries.ts'
import type { CustomerIndex, CustomerTable } from '../floors/customers.ts'
import { createMemoryCustomers } from '../floors/memory-customers.ts'
import { openPostgresCustomers } from '../floors/postgres-customers.ts'
import { dropSchema } from '../floors/postgres-plaintext.ts'
import { openSqliteCustomers, type SqliteCustomers } from '../floors/sqlite-customers.ts'
import type { Customer } from '../people.ts'
import { BATCH, type Scope } from '../scope.ts'

export interface FilledCustomers<F extends CustomerIndex = CustomerTable> {
  readonly storage: StorageName
  readonly rows: number
  readonly vaults: CustomerVaultPair
  readonly floor: F
  /** Addresses that are there, from everywhere in the table. */
  readonly emails: readonly string[]
  close(): Promise<void>
}

/** Every so many customers have an account. */
const CUSTOMERS_AN_ACCOUNT = 10
/** Addresses kept at most. */
const MOST_EMAILS = 20_000

export async function fillSqliteCustomers(scope: Scope, rows: number): Promise<FilledCustomers<SqliteCustomers>> {
  const { places } = scope
  const vaults = await openCustomerVaults(sqliteStorage({ filename: places.sqliteFile() }))
  const floorFile = places.sqliteFile()
  const filling = openSqliteCustomers(floorFile, 'filling')
  const emails = await fillTables(scope, rows, [vaults.unaudited, filling])
  await filling.close()
  const floor = openSqliteCustomers(floorFile)
  const close = async (): Promise<void> => {
    await floor.close()
    await vaults.close()
  }
  return { storage: 'sqlite', rows, vaults, floor, emails, close }
}

export async function fillPostgresCustomers(scope: Scope, rows: number): Promise<FilledCustomers> {
  const { places } = scope
  const pool = await places.postgresPool()
  const schema = places.postgresName()
  const vaults = await openCustomerVaults(postgresStorage({ pool, schema }))
  const floor = await openPostgresCustomers(pool, places.postgresName())
  const emails = await fillTables(scope, rows, [vaults.unaudited, floor])
  // Once for both sides, or the server does it while one of them is measured.
  await pool.query('vacuum analyze')
  const close = async (): Promise<void> => {
    await vaults.close()
    await dropSchema(pool, schema)
    await floor.close()
  }
  return { storage: 'postgres', rows, vaults, floor, emails, close }
}

export async function fillMemoryCustomers(scope: Scope, rows: number): Promise<FilledCustomers<CustomerIndex>> {
  const vaults = await openCustomerVaults(memoryStorage())
  const floor = createMemoryCustomers()
  const emails = await fillAll(scope, rows, (customers) => insertInto([vaults.unaudited, floor], customers))
  return { storage: 'memory', rows, vaults, floor, emails, close: vaults.close }
}

function fillTables(scope: Scope, rows: number, stores: readonly (CustomerVault | CustomerTable)[]): Promise<string[]> {
  return fillAll(scope, rows, async (customers) => {
    await insertInto(stores, customers)
    const owners = customers.filter((_, index) => index % CUSTOMERS_AN_ACCOUNT === 0)
    for (const store of stores) await store.insertAccounts(owners)
  })
}

async function insertInto(stores: readonly (CustomerVault | CustomerIndex)[], customers: readonly Customer[]): Promise<void> {
  for (const store of stores) await store.insert(customers)
}

/** Draws customers, hands them on in batches, and answers addresses of some. */
async function fillAll(
  { people }: Scope,
  rows: number,
  insert: (customers: readonly Customer[]) => Promise<void>,
): Promise<string[]> {
  const emails: string[] = []
  const step = Math.ceil(rows / MOST_EMAILS)
  for (let done = 0; done < rows; done += BATCH) {
    const customers = people.nextCustomers(Math.min(BATCH, rows - done))
    await insert(customers)
    for (let index = 0; index < customers.length; index += step) emails.push(customers[index]?.email ?? '')
  }
  return emails
}
