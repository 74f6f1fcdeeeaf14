/** A process that adopts customers up to a step, and ends itself by kill -9 at a fault point. Prints each state that it enters. */
import { writeSync } from 'node:fs'
import Database from 'better-sqlite3'
import pg from 'pg'
import { adoptTable } from '../../../src/adopt/index.ts'
import type { SchemaDefinition } from '../../../src/index.ts'
import type { StorageAddress } from '../storages/open-storage.ts'
import { CUSTOMERS, openHostVault } from './customers.ts'

/** Where the process is killed: before or after the n-th statement with this text, or with a parameter equal to it. */
export interface FaultPoint {
  readonly at: string
  readonly nth?: number
  readonly when: 'before' | 'after'
  /** Only after this state was reported. */
  readonly in?: string
}

export interface AdoptProcessOptions {
  readonly address: StorageAddress
  readonly steps: readonly ('run' | 'switchOver' | 'finish' | 'back')[]
  readonly fault?: FaultPoint
  readonly maxRows?: number
}

const options: AdoptProcessOptions = JSON.parse(process.argv[2] ?? '')
let seen = 0
let last = ''

function isAtFault(text: string, parameters: unknown): boolean {
  const { fault } = options
  if (fault === undefined || (fault.in !== undefined && fault.in !== last)) return false
  const isHere = text.includes(fault.at) || (Array.isArray(parameters) && parameters.flat().includes(fault.at))
  return isHere && ++seen === (fault.nth ?? 1)
}

function die(): void {
  process.kill(process.pid, 'SIGKILL')
}

/** Runs a statement that may be a fault point. */
async function awaited<T>(text: string, parameters: unknown, run: () => Promise<T>): Promise<T> {
  const isHere = isAtFault(text, parameters)
  if (isHere && options.fault?.when === 'before') die()
  const result = await run()
  if (isHere) die()
  return result
}

function direct<T>(text: string, parameters: unknown, run: () => T): T {
  const isHere = isAtFault(text, parameters)
  if (isHere && options.fault?.when === 'before') die()
  const result = run()
  if (isHere) die()
  return result
}

/** The object, with some of its methods replaced. Others run on the object itself, as native ones must. */
function withMethods<T extends object>(target: T, methods: Readonly<Record<string, (...given: never[]) => unknown>>): T {
  return new Proxy(target, {
    get(object, name) {
      if (typeof name === 'string' && Object.hasOwn(methods, name)) return methods[name]
      const member: unknown = Reflect.get(object, name, object)
      return typeof member === 'function' ? member.bind(object) : member
    },
  })
}

function faultyFile(filename: string): Database.Database {
  const database = new Database(filename, { timeout: 20 })
  const statement = (text: string, target: Database.Statement): Database.Statement =>
    withMethods(target, {
      safeIntegers: (...given: [boolean?]) => statement(text, target.safeIntegers(...given)),
      raw: (...given: [boolean?]) => statement(text, target.raw(...given)),
      pluck: (...given: [boolean?]) => statement(text, target.pluck(...given)),
      all: (...given: unknown[]) => direct(text, given, () => target.all(...given)),
      run: (...given: unknown[]) => direct(text, given, () => target.run(...given)),
    })
  return withMethods(database, {
    prepare: (text: string) => statement(text, database.prepare(text)),
    exec: (text: string) => direct(text, undefined, () => database.exec(text)),
  })
}

function faultyPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 3 })
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (given: { text: string; values?: unknown[] }) => Promise<unknown>
    const replaced = (given: { text: string; values?: unknown[] }) => awaited(given.text, given.values, () => query(given))
    Object.assign(client, { query: replaced })
  })
  return pool
}

const { address, maxRows = 1000 } = options
const vault = await openHostVault(address)
const database = address.engine === 'sqlite' ? faultyFile(address.filename) : faultyPool(address.url)
const adoption = await adoptTable<SchemaDefinition>({ vault, schema: CUSTOMERS, database, table: 'customers', maxRows })
const say = (state: string, more: object = {}): void => {
  if (state !== last) writeSync(1, `${JSON.stringify({ state, at: Date.now(), ...more })}\n`)
  last = state
}
const onProgress = ({ state }: { readonly state: string }): void => say(state)
for (const step of options.steps) {
  say(`before ${step}`)
  if (step === 'switchOver') say('switched', await adoption.switchOver())
  else await adoption[step]({ onProgress })
}
say('ended', await adoption.status())
process.exit(0)
