/** The baselines of the query and audit benchmarks return correct results on every database. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { CustomerTable } from '../../benchmarks/baselines/customers.ts'
import { createMemoryCustomers } from '../../benchmarks/baselines/memory-customers.ts'
import { openPostgresCustomers } from '../../benchmarks/baselines/postgres-customers.ts'
import { openSqliteCustomers } from '../../benchmarks/baselines/sqlite-customers.ts'
import { openSqliteEventLog } from '../../benchmarks/baselines/sqlite-event-log.ts'
import { createPeople, MAX_SPENT } from '../../benchmarks/fixtures/people.ts'
import { at } from '../../src/core/util/lists.ts'
import { freshDatabase } from '../support/postgres/fresh-database.ts'

const SEED = 13
let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'strongroom-query-baselines-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('customers have unique addresses and two equal sums', () => {
  const customers = createPeople(SEED).nextCustomers(500)
  expect(new Set(customers.map(({ email }) => email)).size).toBe(500)
  for (const { balance, spent } of customers) expect(spent).toBe(balance)
  expect(customers.every(({ spent }) => Number.isInteger(spent) && spent >= 0 && spent < MAX_SPENT)).toBe(true)
})

describe('a table of customers', () => {
  const customers = createPeople(SEED).nextCustomers(300)
  const owners = customers.filter((_, index) => index % 10 === 0)

  /** Compares a baseline with results computed from the customers. */
  async function assertAnswers(table: CustomerTable): Promise<void> {
    await table.insert(customers)
    await table.insertAccounts(owners)
    const balances = customers.map(({ balance }) => balance)
    const sum = balances.reduce((total, balance) => total + balance, 0)
    expect(await table.find(at(customers, 7).email)).toEqual({ name: at(customers, 7).name, city: at(customers, 7).city })
    expect(await table.find('unknown address')).toBeUndefined()
    expect(await table.countNames('Iv')).toBe(customers.filter(({ name }) => name.includes('Iv')).length)
    const totals = await table.totals()
    expect([totals.sum, totals.count]).toEqual([sum, 300])
    expect(totals.mean).toBeCloseTo(sum / 300, 6)
    expect(await table.countAbove(50_000)).toBe(balances.filter((balance) => balance > 50_000).length)
    expect(await table.countJoined('email')).toBe(owners.length)
    const pairs = owners.flatMap(({ ssn }) => customers.filter((customer) => customer.ssn === ssn))
    expect(await table.countJoined('ssn')).toBe(pairs.length)
  }

  it('returns correct results on SQLite', async () => {
    const table = openSqliteCustomers(join(folder, 'customers.db'))
    await assertAnswers(table)
    expect(() => table.prepare('select id from nowhere')).toThrow('nowhere')
    await table.close()
  })

  it('returns the same results on Postgres', async () => {
    const database = await freshDatabase(inject('postgresUrl'))
    const pool = new pg.Pool({ connectionString: database.url })
    try {
      const table = await openPostgresCustomers(pool, 'customers_baseline')
      await assertAnswers(table)
      await table.close()
    } finally {
      await pool.end()
      await database.drop()
    }
  })

  it('returns a copy by address in memory', async () => {
    const table = createMemoryCustomers()
    await table.insert(customers)
    const [first, second] = [await table.find(at(customers, 3).email), await table.find(at(customers, 3).email)]
    expect(first).toEqual({ name: at(customers, 3).name, city: at(customers, 3).city })
    expect(first).not.toBe(second)
    expect(await table.find('unknown address')).toBeUndefined()
  })
})

describe('the event log', () => {
  it('lists the newest events first and verifies across several appends', () => {
    const log = openSqliteEventLog(join(folder, 'events.db'))
    log.append([{ at: 1 }, { at: 2 }])
    log.append([{ at: 3 }])
    expect(log.newest(2)).toEqual([{ at: 3 }, { at: 2 }])
    expect(log.verify()).toBe(3)
    log.close()
  })

  it('fails verification if an event was changed', () => {
    const file = join(folder, 'changed.db')
    const log = openSqliteEventLog(file)
    log.append([{ at: 1 }, { at: 2 }])
    const intruder = new Database(file)
    intruder.exec(`update events set event = '{"at":9}' where id = 1`)
    intruder.close()
    expect(() => log.verify()).toThrow('changed')
    log.close()
  })
})
