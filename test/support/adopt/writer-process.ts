/** An old instance of the application: it changes rows of customers until it is ended by SIGTERM or refused by the guard, and prints what it saw. */
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import pg from 'pg'
import type { StorageAddress } from '../storages/open-storage.ts'

/** What a writer is started with, as JSON in its first argument. */
export interface WriterOptions {
  readonly address: StorageAddress
  /** From 1; its keys begin there. */
  readonly number: number
  /** Rows of the table when it began. */
  readonly rows: number
  /** Mean milliseconds between two changes. */
  readonly thinkMs: number
  /** SQLite: `insert or replace`, which removes rows without a note. */
  readonly replaces?: boolean
}

export interface WriterReport {
  /** When each change began, in milliseconds of the epoch, and how long it took. */
  readonly changes: readonly (readonly [number, number])[]
  readonly isRefused: boolean
  /** Errors but the refusal of the guard, by their text. */
  readonly errors: Readonly<Record<string, number>>
}

interface Connection {
  transaction(statements: (run: Run) => Promise<void>): Promise<void>
}

const options: WriterOptions = JSON.parse(process.argv[2] ?? '')
const changes: [number, number][] = []
const errors: Record<string, number> = {}
let isRefused = false
let isEnded = false
let fresh = 0
process.on('SIGTERM', () => {
  isEnded = true
})

const ROLLED_BACK = new Error('rolled back by the application')
const below = (count: number) => Math.floor(Math.random() * count)

type Run = (text: string) => Promise<unknown[][]>

/** What writers do, and how often. */
const KINDS: readonly (readonly [share: number, change: (run: Run, id: number) => Promise<unknown>])[] = [
  [10, (run, id) => run(`update customers set email = '${mail()}', phone = null where id = ${id}`)],
  [35, (run, id) => run(`update customers set email = '${mail()}', phone = '+46 ${below(1e9)}' where id = ${id}`)],
  [10, (run, id) => run(`update customers set note = 'n${below(9)}' where id = ${id}`)],
  [18, (run) => run(`insert into customers (id, name, email) values (${OWN + fresh++}, 'New', '${mail()}')`)],
  [7, (run, id) => run(`delete from customers where id = ${id}`)],
  [3, (run) => run(`delete from customers where id = ${OWN + below(fresh + 1)}`)],
  [3, (run, id) => run(`update customers set id = id + ${OWN * 10} where id = ${id}`)],
  [4, (run, id) => (options.replaces === true ? replace(run, id) : swap(run, id))],
  [7, swap],
  [3, rollBack],
]
const OWN = options.number * 1_000_000

function mail(): string {
  return `w${options.number}.${changes.length}.${below(1e9)}@X.example`
}

async function change({ transaction }: Connection): Promise<void> {
  const drawn = below(100)
  let before = 0
  const [, work] =
    KINDS.find(([share]) => {
      before += share
      return drawn < before
    }) ?? []
  await transaction(async (run) => {
    await work?.(run, 1 + below(options.rows))
  })
}

async function rollBack(run: Run, id: number): Promise<void> {
  await run(`update customers set name = 'never' where id = ${id}`)
  throw ROLLED_BACK
}

/** Takes the unique value of a row for another one, which removes the row. */
async function replace(run: Run, id: number): Promise<void> {
  const [[taken] = []] = await run(`select email from customers where id = ${id} and email is not null`)
  if (taken !== undefined)
    await run(`insert or replace into customers (id, name, email) values (${OWN + fresh++}, 'Replaced', '${taken}')`)
}

/** Exchanges the unique values of two rows. */
async function swap(run: Run, id: number): Promise<void> {
  const [low = id, high = id] = [id, 1 + below(options.rows)].sort((left, right) => left - right)
  const lock = options.address.engine === 'postgres' ? ' for update' : ''
  const rows = await run(`select id, email from customers where id in (${low}, ${high}) and email is not null order by id${lock}`)
  const [first, second] = rows
  if (first === undefined || second === undefined) return
  await run(`update customers set email = null where id = ${first[0]}`)
  await run(`update customers set email = '${first[1]}' where id = ${second[0]}`)
  await run(`update customers set email = '${second[1]}' where id = ${first[0]}`)
}

async function connect(): Promise<Connection> {
  const { address } = options
  if (address.engine === 'sqlite') {
    const database = new Database(address.filename, { timeout: 30_000 })
    return {
      async transaction(work) {
        database.exec('begin immediate')
        try {
          await work(async (text) => {
            const statement = database.prepare(text)
            return statement.reader ? (statement.raw().all() as unknown[][]) : [[statement.run().changes]]
          })
          database.exec('commit')
        } catch (error) {
          if (database.inTransaction) database.exec('rollback')
          throw error
        }
      },
    }
  }
  const client = new pg.Client({ connectionString: address.url })
  await client.connect()
  return {
    async transaction(work) {
      await client.query('begin')
      try {
        await work(async (text) => (await client.query({ text, rowMode: 'array' })).rows)
        await client.query('commit')
      } catch (error) {
        await client.query('rollback')
        throw error
      }
    },
  }
}

const connection = await connect()
while (!isEnded && !isRefused) {
  const at = Date.now()
  const began = performance.now()
  try {
    await change(connection)
  } catch (error) {
    const text = error instanceof Error ? error.message : 'unknown'
    if (text.startsWith('strongroom:')) isRefused = true
    else if (error !== ROLLED_BACK) errors[text.slice(0, 100)] = (errors[text.slice(0, 100)] ?? 0) + 1
  }
  changes.push([at, performance.now() - began])
  await pause(options.thinkMs * (0.5 + Math.random()))
}
const report: WriterReport = { changes, isRefused, errors }
process.stdout.write(JSON.stringify(report), () => process.exit(0))
