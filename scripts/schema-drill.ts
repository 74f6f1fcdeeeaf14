/**
 * Each kind of change of a schema is made beside processes with the older and the newer schema, killed at random times, and compared with a model.
 * `npm run schema-drill -- [--engine sqlite|postgres] [--rounds N] [--rows N] [--older N] [--newer N] [--kills N] [--think MS] [--kind NAME]...`
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { builtProcess } from '../test/support/cli/built-command.ts'
import { freshDatabase } from '../test/support/postgres/fresh-database.ts'
import { startPostgres } from '../test/support/postgres/server.ts'
import { BEFORE, fillPeople, openChanging, type Person, sessionOf } from '../test/support/schema-change/changing-vault.ts'
import { DRILLED, type DrilledKind } from '../test/support/schema-change/drill-kinds.ts'
import type { DrillOptions, DrillReport } from '../test/support/schema-change/drill-process.ts'
import { openStorage, type StorageAddress } from '../test/support/storages/open-storage.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'postgres' },
    rounds: { type: 'string', default: '1' },
    rows: { type: 'string', default: '1000' },
    older: { type: 'string', default: '4' },
    newer: { type: 'string', default: '4' },
    kills: { type: 'string', default: '3' },
    think: { type: 'string', default: '20' },
    kind: { type: 'string', multiple: true },
  },
})
const [rows, older, newer, kills] = [values.rows, values.older, values.newer, values.kills].map(Number) as [
  number,
  number,
  number,
  number,
]
/** Milliseconds of CPU that a transaction of a change may keep writers waiting. Indexes that SQLite builds take longer: the plan says how long. */
const MAX_HOLD_MS = 200
const SCRIPT = join(import.meta.dirname, '../test/support/schema-change/drill-process.ts')

function start(options: DrillOptions): {
  readonly child: ChildProcess
  readonly output: Promise<string>
  readonly end: Promise<number | null>
} {
  const child = spawn(process.execPath, [builtProcess(SCRIPT), JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const output = (async () => {
    let text = ''
    if (child.stdout !== null) for await (const part of child.stdout) text += String(part)
    return text
  })()
  return { child, output, end: once(child, 'close').then(([code]) => code as number | null) }
}

/** A change that was made. */
interface Changed {
  readonly killed: number
  /** The longest that each kind of work kept writers waiting, in milliseconds of CPU. */
  readonly held: ReadonlyMap<string, number>
}

/** Makes the change in processes of which the first ones are killed. */
async function change(address: StorageAddress, kind: string): Promise<Changed> {
  const held = new Map<string, number>()
  for (let killed = 0; ; ) {
    const { child, output, end } = start({ address, kind, role: 'change', kills: killed })
    if (killed < kills) {
      await Promise.race([child.stdout === null ? end : once(child.stdout, 'data'), end])
      await Promise.race([pause(Math.random() * Math.random() * 1500), end])
      child.kill('SIGKILL')
    }
    const code = await end
    for (const line of (await output).split('\n')) {
      const [hold = '', cpuMs] = line.split(' ')
      if (cpuMs !== undefined) held.set(hold, Math.max(held.get(hold) ?? 0, Number(cpuMs)))
    }
    if (code === 0) return { killed, held }
    if (code !== null) throw new Error(`the change ended with ${code}`)
    killed++
  }
}

/** Returns in how much the vault differs from the model; empty if in nothing. */
async function differences(address: StorageAddress, kind: DrilledKind, model: ReadonlyMap<string, Person>): Promise<string[]> {
  const { after, table = 'people', renamed = {}, moves } = kind
  const vault = await openChanging(openStorage(address), after, { schemaChanges: 'refuse' })
  const found: string[] = []
  const stored = new Map<string, Readonly<Record<string, unknown>>>()
  for (let size = -1, offset = 0; size !== 0; offset += size) {
    const { records } = await sessionOf(vault).get(table, { offset, limit: 1000, redaction: 'PLAIN_TEXT' })
    for (const { fields } of records) stored.set(String(fields.key), fields)
    size = records.length
  }
  if (stored.size !== model.size) found.push(`${stored.size} records, and not ${model.size}`)
  const columns = Object.keys(vault.schema[table] ?? {})
  for (const [key, person] of model)
    for (const [column, value] of Object.entries(person)) {
      const name = renamed[column] ?? column
      if (columns.includes(name) && String(stored.get(key)?.[name]) !== String(value)) found.push(`${key}: ${column}`)
    }
  const records = await vault.verifyRecords()
  if (!records.ok) found.push(`verifyRecords: ${JSON.stringify(records.findings.slice(0, 3))}`)
  if (!(await vault.verifyAudit()).ok) found.push('verifyAudit')
  const { steps } = await vault.planSchemaChange(after, moves?.drop === undefined ? {} : { drop: moves.drop })
  if (steps.length > 0) found.push(`steps are left: ${JSON.stringify(steps)}`)
  await vault.close()
  return found
}

function longest(writes: readonly (readonly [number, number])[]): number {
  return Math.round(writes.reduce((most, [, ms]) => Math.max(most, ms), 0))
}

async function drill(address: StorageAddress, kind: DrilledKind): Promise<boolean> {
  const founder = await openChanging(openStorage(address), kind.before ?? BEFORE)
  await fillPeople(founder, rows)
  await founder.close()
  const writers = older + newer
  const running = Array.from({ length: writers }, (_, writer) =>
    start({
      address,
      kind: kind.name,
      role: writer < older ? 'older' : 'newer',
      writer,
      writers,
      rows,
      thinkMs: Number(values.think),
    }),
  )
  await pause(3000)
  const began = Date.now()
  const { killed, held } = await change(address, kind.name)
  const ended = Date.now()
  await pause(3000)
  for (const { child } of running) child.kill('SIGTERM')
  const model = new Map<string, Person>()
  const writes: (readonly [number, number])[] = []
  const retries: Record<string, number> = {}
  const problems: string[] = []
  for (const { output, end } of running) {
    const [text, code] = await Promise.all([output, end])
    if (code !== 0) {
      problems.push(`a writer ended with ${code}`)
      continue
    }
    const report = JSON.parse(text) as DrillReport
    for (const person of report.people) model.set(person.key, person)
    for (const write of report.writes) writes.push(write)
    for (const [code, count] of Object.entries(report.retries)) retries[code] = (retries[code] ?? 0) + count
  }
  if (problems.length === 0) for (const problem of await differences(address, kind, model)) problems.push(problem)
  const during = writes.filter(([at, ms]) => at + ms >= began && at <= ended)
  const apart = writes.filter(([at, ms]) => at + ms < began || at > ended)
  const above = during.filter(([, ms]) => ms > 200).length
  console.log(
    `${kind.name.padEnd(32)} ${ended - began} ms, killed ${killed}; ${during.length} writes during it, longest ${longest(during)} ms, above 200 ms: ${above}; apart ${apart.length}, longest ${longest(apart)} ms; retries ${JSON.stringify(retries)}`,
  )
  console.log(`  longest holds of the change, ms of CPU: ${[...held].map(([hold, ms]) => `${hold} ${ms.toFixed(1)}`).join(', ')}`)
  const longestHold = Math.max(0, held.get('transaction') ?? 0)
  if (longestHold > MAX_HOLD_MS) problems.push(`a transaction of the change held writers for ${longestHold.toFixed(0)} ms of CPU`)
  for (const problem of problems.slice(0, 10)) console.log(`  ${problem}`)
  return problems.length === 0
}

const server = values.engine === 'sqlite' ? undefined : await startPostgres({ durable: true })
const folder = mkdtempSync(join(tmpdir(), 'strongroom-drill-'))
let failed = 0
let done = 0
for (let round = 0; round < Number(values.rounds); round++) {
  for (const kind of DRILLED) {
    if (values.kind !== undefined && !values.kind.includes(kind.name)) continue
    const database = server === undefined ? undefined : await freshDatabase(server.url)
    const address: StorageAddress =
      database === undefined
        ? { engine: 'sqlite', filename: join(folder, `${done}.db`) }
        : { engine: 'postgres', url: database.url }
    if (!(await drill(address, kind))) failed++
    done++
    await database?.drop()
  }
}
console.log(`${done} changes, ${failed} with problems`)
await server?.stop()
rmSync(folder, { recursive: true, force: true })
if (failed > 0) process.exitCode = 1
