/**
 * A table is adopted while writers change it, killed at random times, and compared row by row.
 * `npm run adopt-drill -- [--engine sqlite|postgres] [--rows N] [--writers N] [--kills N]`
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import Database from 'better-sqlite3'
import pg from 'pg'
import { fillCustomers, openHostVault, plainRows, vaultRows } from '../test/support/adopt/customers.ts'
import { type AdoptOutcome, runAdopt, startWriters } from '../test/support/adopt/drill.ts'
import { startPostgres } from '../test/support/postgres/server.ts'
import type { StorageAddress } from '../test/support/storages/open-storage.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'postgres' },
    rows: { type: 'string', default: '20000' },
    writers: { type: 'string', default: '8' },
    kills: { type: 'string', default: '3' },
    think: { type: 'string', default: '50' },
  },
})
const rows = Number(values.rows)
const KILL_MS = 15_000

interface Application {
  readonly address: StorageAddress
  all(text: string): Promise<unknown[][]>
  close(): Promise<void>
}

async function postgresApplication(): Promise<Application> {
  const server = await startPostgres({ durable: true })
  const pool = new pg.Pool({ connectionString: server.url, max: 2 })
  pool.on('error', () => {})
  return {
    address: { engine: 'postgres', url: server.url },
    all: async (text) => (await pool.query({ text, rowMode: 'array' })).rows,
    async close() {
      await pool.end()
      await server.stop()
    },
  }
}

function sqliteApplication(): Application {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-drill-'))
  const filename = join(folder, 'app.db')
  const database = new Database(filename, { timeout: 60_000 })
  database.pragma('journal_mode = wal')
  return {
    address: { engine: 'sqlite', filename },
    async all(text) {
      const statement = database.prepare(text)
      if (statement.reader) return statement.raw().all() as unknown[][]
      statement.run()
      return []
    },
    async close() {
      database.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const application = values.engine === 'sqlite' ? sqliteApplication() : await postgresApplication()
const { address, all } = application
await all(
  `create table customers (id ${values.engine === 'sqlite' ? 'integer' : 'bigint'} primary key, name text, email text unique, phone text, note text)`,
)
await fillCustomers(rows, all)

const writers = startWriters(address, Number(values.writers), {
  rows,
  thinkMs: Number(values.think),
  replaces: values.engine === 'sqlite',
})
const began = Date.now()
const alone = 5000
await new Promise((resolve) => setTimeout(resolve, alone))
const states: AdoptOutcome['states'][number][] = [{ state: 'alone', at: began }]
const killedIn: string[] = []
for (let kills = 0; ; ) {
  const outcome = await runAdopt(
    { address, steps: ['run', 'switchOver'] },
    kills < Number(values.kills) ? KILL_MS * (0.5 + Math.random()) : undefined,
  )
  states.push(...outcome.states)
  if (outcome.code === 0) break
  if (outcome.code !== undefined) throw new Error(`adopting ended with ${outcome.code}`)
  kills++
  killedIn.push(states.at(-1)?.state ?? '')
}
const took = Date.now() - began - alone
const reports = await writers.stop()
await runAdopt({ address, steps: ['run'] })

const waits = new Map<string, number[]>()
for (const [at, ms] of reports.flatMap(({ changes }) => changes)) {
  const state = states.findLast((one) => one.at <= at)?.state ?? 'alone'
  waits.set(state, [...(waits.get(state) ?? []), ms])
}
console.log(
  `${values.engine}, ${rows} rows, ${values.writers} writers; ${took} ms; killed in ${killedIn.join(', ') || 'no state'}`,
)
for (const [state, list] of waits) {
  const above = list.filter((ms) => ms > 100).length
  console.log(`${state.padEnd(20)} ${list.length} writes, longest ${Math.round(Math.max(...list))} ms, above 100 ms: ${above}`)
}
console.log('errors of writers', JSON.stringify(reports.map(({ errors }) => errors)))
const switched = states.find((one) => 'lockMs' in one)
console.log(`lock at the switch ${Math.round(Number(switched?.lockMs))} ms after ${switched?.tries} tries`)

const vault = await openHostVault(address)
const plain = await plainRows({ all })
const { rows: stored, records } = await vaultRows({ vault, all })
const different = [...plain].filter(([key, row]) => stored.get(key) !== row).length
console.log(`${plain.size} rows, ${stored.size} in the side table, ${records} records, ${different} different`)
console.log(`verifyRecords ${(await vault.verifyRecords()).ok}, verifyAudit ${(await vault.verifyAudit()).ok}`)
await vault.close()
await application.close()
if (different > 0 || records !== plain.size) process.exitCode = 1
