/** A process of the drill: it changes the schema, or writes and reads people of its own by a model until it is ended by SIGTERM, and prints what it saw. */
import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { isVaultError, type Vault } from '../../../src/index.ts'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { BEFORE, clockAfter, openChanging, type Person, person, sessionOf } from './changing-vault.ts'
import { DRILLED } from './drill-kinds.ts'
import { type Hold, measuringHolds } from './held-writers.ts'

/** What a process is started with, as JSON in its first argument. */
export interface DrillOptions {
  readonly address: StorageAddress
  readonly kind: string
  readonly role: 'older' | 'newer' | 'change'
  /** Of the change: how many were killed before it. Its clock is ahead by their leases. */
  readonly kills?: number
  /** Of a writer: its number from 0, how many there are, and how many people were there before. */
  readonly writer?: number
  readonly writers?: number
  readonly rows?: number
  readonly thinkMs?: number
}

/** What a writer saw. */
export interface DrillReport {
  /** What is stored of its people. */
  readonly people: readonly Person[]
  /** When each write began, in milliseconds of the epoch, and how long it took. */
  readonly writes: readonly (readonly [number, number])[]
  /** Errors after which it tried again, by their code. */
  readonly retries: Readonly<Record<string, number>>
}

const options: DrillOptions = JSON.parse(process.argv[2] ?? '')
const kind = DRILLED.find(({ name }) => name === options.kind)
if (kind === undefined) throw new Error(`no kind ${options.kind}`)
const {
  before = BEFORE,
  after,
  moves = {},
  renamed = {},
  finds = [],
  findsNot = [],
  sizeIsText = false,
  endsOlder = false,
} = kind
const isNewer = options.role === 'newer'
let isEnded = false
process.on('SIGTERM', () => {
  isEnded = true
})

async function change(): Promise<void> {
  // Lines, and at once: this process can be killed.
  const longest = new Map<Hold, number>()
  const storage = measuringHolds(openStorage(options.address), (hold, cpuMs) => {
    if (!isApplying || cpuMs <= (longest.get(hold) ?? 0)) return
    longest.set(hold, cpuMs)
    writeSync(1, `${hold} ${cpuMs}\n`)
  })
  let isApplying = false
  const vault = await openChanging(storage, before, { clock: clockAfter(options.kills ?? 0) })
  const plan = await vault.planSchemaChange(after, moves)
  isApplying = true
  writeSync(1, 'applies\n')
  await vault.applySchemaChange(plan)
  await vault.close()
}

/** Opens with the newer schema as soon as it is stored. */
async function openNewer(): Promise<Vault | undefined> {
  while (!isEnded) {
    const storage = openStorage(options.address)
    try {
      return await openChanging(storage, after, { schemaChanges: 'refuse' })
    } catch (error) {
      await storage.close()
      if (!isVaultError(error, 'failed_precondition')) throw error
      await pause(100)
    }
  }
  return undefined
}

const { writer = 0, writers = 1, rows = 0, thinkMs = 10 } = options
const model = new Map<string, Person>()
const ids = new Map<string, string>()
const writes: [number, number][] = []
const retries: Record<string, number> = {}
const nameOf = (column: string): string => (isNewer ? (renamed[column] ?? column) : column)
let takesText = isNewer && sizeIsText

function givenValue(fields: Person, column: string): string | number | undefined {
  const { [column as keyof Person]: value } = fields
  return column === 'size' && takesText ? String(value) : value
}

/** True after an error after which the write is tried again. */
function isToRepeat(error: unknown): boolean {
  const code = isVaultError(error) ? error.code : ''
  if (sizeIsText && !takesText && code === 'unprocessable') takesText = true
  else if (code === 'aborted' || code === 'unavailable') retries[code] = (retries[code] ?? 0) + 1
  else return false
  return true
}

async function timed<T>(work: () => Promise<T>): Promise<T> {
  const [at, began] = [Date.now(), performance.now()]
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isToRepeat(error)) throw error
    } finally {
      writes.push([at, performance.now() - began])
    }
  }
}

/** What a writer works with. */
interface Work {
  readonly session: ReturnType<typeof sessionOf>
  readonly table: string
  /** The columns that it knows, by their older names. */
  readonly known: readonly string[]
}

/** Throws unless a record is found by each look-up, and is as the model says. */
async function check({ session, table, known }: Work, person: Person): Promise<void> {
  const newly = finds.map((one) => Object.keys(renamed).find((own) => renamed[own] === one) ?? one)
  for (const column of new Set(['key', 'found', 'once', ...(isNewer ? newly : [])])) {
    if (isNewer && findsNot.includes(column)) continue
    const where = { [nameOf(column)]: [givenValue(person, column)] }
    const { records } = await session.get(table, { where, redaction: 'PLAIN_TEXT' }).catch((error: unknown) => {
      if (isVaultError(error, 'invalid_request') && findsNot.includes(column)) return { records: undefined }
      throw error
    })
    if (records === undefined) continue
    if (records.length !== 1) throw new Error(`${records.length} records by ${column}`)
    for (const own of known) {
      const [one, other] = [records[0]?.fields[nameOf(own)], person[own as keyof Person]]
      if (String(one) !== String(other)) throw new Error(`by ${column}: ${own} is ${String(one)}, and not ${String(other)}`)
    }
  }
}

async function writeRound(work: Work, round: number): Promise<void> {
  const { session, table, known } = work
  const given = (fields: Person) => Object.fromEntries(known.map((column) => [nameOf(column), givenValue(fields, column)]))
  const fresh = person(`${writer + 1}00${String(round).padStart(5, '0')}`)
  const { id } = await timed(() => session.insertOne(table, given(fresh)))
  model.set(fresh.key, fresh)
  ids.set(fresh.key, id)
  const keys = [...model.keys()]
  const key = keys[Math.floor(Math.random() * keys.length)] ?? ''
  const next = { ...person(key.slice(4), round + 1), key }
  await timed(() => session.updateOne(table, ids.get(key) ?? '', given(next)))
  model.set(key, next)
  await check(work, next)
  if (round % 5 !== 4) return
  await timed(() => session.delete(table, [ids.get(key) ?? '']))
  model.delete(key)
}

/** True where the change ends the writes of older processes. */
function endsWork(error: unknown): boolean {
  return !isNewer && endsOlder && isVaultError(error, 'failed_precondition')
}

async function write(): Promise<DrillReport> {
  for (let k = writer; k < rows; k += writers) model.set(`key ${k}`, person(k))
  const vault = isNewer ? await openNewer() : await openChanging(openStorage(options.address), before)
  if (vault !== undefined) {
    const session = sessionOf(vault)
    const table = isNewer ? (kind?.table ?? 'people') : 'people'
    const columns = Object.keys(vault.schema[table] ?? {})
    const known = Object.keys(person(0)).filter((column) => columns.includes(nameOf(column)))
    for (const people = [...model.values()]; people.length > 0; ) {
      const where = { key: people.splice(0, 100).map(({ key }) => key) }
      for (const { id, fields } of (await session.get(table, { where, limit: 100 })).records) ids.set(String(fields.key), id)
    }
    try {
      for (let round = 0; !isEnded || round < 10; round++) {
        await writeRound({ session, table, known }, round)
        await pause(Math.random() * 2 * thinkMs)
      }
    } catch (error) {
      if (!endsWork(error)) throw error
    }
    await vault.close()
  }
  return { people: [...model.values()], writes, retries }
}

if (options.role === 'change') await change()
else process.stdout.write(`${JSON.stringify(await write())}\n`)
