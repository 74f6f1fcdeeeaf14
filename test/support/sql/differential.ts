/** Runs the same queries on the vault and on reference engines, and lists the differences. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import type { ColumnTypeName, JsonValue } from '../../../src/core/values/column-type.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { defineSchema } from '../../../src/index.ts'
import { INDEXES_ONLY } from '../queries/read-costs.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import { asLoose, type LooseRecord, type LooseSession } from '../vaults/open-untyped.ts'
import { SYSTEM_PORTS } from '../vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../vaults/test-vault.ts'
import { drawFixture, type Fixture, schemaOf, toInput } from './fixture.ts'
import { type Answer, asQueryable } from './known-vault.ts'
import { outputKeys, outputsOf, outputType } from './output-keys.ts'
import { printQuery } from './print-query.ts'
import type { RandomQuery } from './query-tree.ts'
import { drawQuery } from './random-query.ts'
import { type Comparable, canonicalJson, isJson, type Reference, type ReferenceEngine } from './reference-engine.ts'
import { vaultDialect } from './vault-dialect.ts'

/** What is queried: a vault, which gets the text, or a faulty one, which may also read the tree. */
export interface Subject {
  ask(query: RandomQuery, print: (query: RandomQuery) => string): Promise<Answer>
  /** Closes what was opened for it. */
  close(): Promise<void>
}

/** Opens a subject with the rows of a fixture. */
export type OpenSubject = (fixture: Fixture) => Promise<Subject>

/** What a run compares. */
export interface Contest {
  readonly random: SeededRandom
  readonly open: OpenSubject
  readonly referenceEngines: readonly ReferenceEngine[]
  /** Comparisons of one result with that of one engine, at least. */
  readonly comparisons: number
  /** Queries per fixture. */
  readonly queries: number
  /** Differences after which the run ends. */
  readonly maxFaults: number
  /** Fixtures after which the run ends, whatever it compared; default no limit. */
  readonly maxFixtures?: number
}

/** The result of a run. */
export interface Outcome {
  readonly comparisons: number
  readonly byEngine: Readonly<Record<string, number>>
  readonly fixtures: number
  readonly faults: readonly string[]
}

/** A vault of a fixture, filled. */
export async function openFixture(fixture: Fixture, storage: StorageHandle): Promise<Subject> {
  const schema = defineSchema(schemaOf(fixture))
  const keys = localKeys({ key: TEST_SECRET })
  // Every other vault uses an index wherever there is one.
  const costs = fixture.usesIndexes ? { readCosts: INDEXES_ONLY } : {}
  const vault = await openVault({ ...SYSTEM_PORTS, id: 'fixture', storage, schema, keys, ...costs })
  const session = vault.as(OWNER)
  for (const { name, columns, rows } of fixture.tables) {
    const records = rows.map((row) => ({
      fields: Object.fromEntries(columns.map((column, at) => [column.name, toInput(row[at] ?? null)])),
    }))
    if (records.length > 0) await storeAround(asLoose(session), name, records)
  }
  const queryable = asQueryable(session)
  return { ask: (query, print) => queryable.query(print(query)), close: () => vault.close() }
}

/** Stores records in two requests, with others around them that are deleted again, and one that is changed to what it was. */
async function storeAround(session: LooseSession, table: string, records: readonly LooseRecord[]): Promise<void> {
  const half = records.length >> 1
  const before = await session.insert(table, records.slice(0, 3))
  const first = half === 0 ? { records: [] } : await session.insert(table, records.slice(0, half))
  await session.insert(table, records.slice(half))
  const [one] = first.records
  const [fields, others] = [records[0]?.fields, records.at(-1)?.fields]
  if (one !== undefined && fields !== undefined && others !== undefined) {
    await session.updateOne(table, one.id, others)
    await session.updateOne(table, one.id, fields)
  }
  const after = await session.insert(table, records.slice(-2))
  await session.delete(
    table,
    [...before.records, ...after.records].map(({ id }) => id),
  )
}

/** Draws fixtures and queries until enough results are compared, or too many differ. */
export async function compareEngines(contest: Contest): Promise<Outcome> {
  const tally: Tally = { byEngine: {}, comparisons: 0, faults: [] }
  const { maxFixtures = Number.POSITIVE_INFINITY } = contest
  let fixtures = 0
  while (fixtures < maxFixtures && tally.comparisons < contest.comparisons && tally.faults.length < contest.maxFaults) {
    const fixture = drawFixture(contest.random)
    fixtures++
    const subject = await contest.open(fixture)
    const references = await Promise.all(contest.referenceEngines.map((engine) => engine.load(fixture)))
    const scene = { fixture, subject, references: references.filter((reference) => reference !== undefined) }
    for (let asked = 0; asked < contest.queries && tally.faults.length < contest.maxFaults; asked++) {
      await compareOnce(contest.random, scene, tally)
    }
    await subject.close()
  }
  return { ...tally, fixtures }
}

interface Tally {
  readonly byEngine: Record<string, number>
  readonly faults: string[]
  comparisons: number
}

interface Scene {
  readonly fixture: Fixture
  readonly subject: Subject
  readonly references: readonly Reference[]
}

/** Runs one query on the subject and all reference engines. */
async function compareOnce(random: SeededRandom, { fixture, subject, references }: Scene, tally: Tally): Promise<void> {
  const query = drawQuery(random, fixture)
  let sql = ''
  const print = (asked: RandomQuery): string => {
    sql = printQuery(vaultDialect(random, asked), asked)
    return sql
  }
  const answer = await subject.ask(query, print).catch((error: unknown) => `is not answered: ${String(error)}`)
  for (const { name, ask } of references) {
    const rows = await ask(query)
    if (rows === undefined) continue
    tally.comparisons++
    tally.byEngine[name] = 1 + (tally.byEngine[name] ?? 0)
    const difference = typeof answer === 'string' ? answer : differenceOf(query, answer, rows)
    if (difference !== undefined) tally.faults.push(described(fixture, { sql, engine: name, difference }))
  }
}

/** Returns how a result differs from the rows of another engine, in order; undefined if it does not. */
export function differenceOf(
  query: RandomQuery,
  { records }: Answer,
  rows: readonly (readonly Comparable[])[],
): string | undefined {
  if (records.length !== rows.length) return `${records.length} records, not ${rows.length}: ${JSON.stringify(rows)}`
  const keys = outputKeys(query)
  const outputs = outputsOf(query)
  for (const [at, { fields }] of records.entries()) {
    const entries = Object.entries(fields)
    if (String(entries.map(([key]) => key)) !== String(keys))
      return `record ${at} has keys ${entries.map(([key]) => key)}, not ${keys}`
    const cells = entries.map(([, value], place) => ({
      value,
      type: outputType(outputs[place] ?? { name: '', fullName: '', item: undefined }),
    }))
    const wrongId = cells.some(({ value, type }) => type === 'id' && value !== null && typeof value !== 'string')
    if (wrongId) return `record ${at} has an id that is no text`
    const shown = cells.filter(({ type }) => type !== 'id')
    const place = shown.findIndex(({ value, type }, position) => !isSame(type, value, rows[at]?.[position]))
    if (place >= 0) return `record ${at} has ${JSON.stringify(shown[place]?.value)}, not ${rows[at]?.[place]}, as output ${place}`
  }
  return undefined
}

type OutputType = ColumnTypeName | 'approximate' | 'id'

function isSame(type: OutputType, value: JsonValue, wanted: Comparable | undefined): boolean {
  if (value === null || wanted === null || wanted === undefined) return value === null && wanted === null
  if (isJson(type)) return canonicalJson(value) === wanted
  switch (type) {
    case 'approximate':
      return typeof value === 'number' && isNear(value, Number(wanted))
    case 'FLOAT':
      return typeof value === 'number' && value === Number(wanted)
    case 'INTEGER':
      return typeof value === (Number.isSafeInteger(Number(wanted)) ? 'number' : 'string') && String(value) === wanted
    case 'BOOL':
      return typeof value === 'boolean' && String(value) === wanted
    default:
      return value === wanted
  }
}

/** Doubles summed in another order. */
function isNear(value: number, wanted: number): boolean {
  return Math.abs(value - wanted) <= 1e-9 * Math.max(1, Math.abs(wanted))
}

/** Everything needed to reproduce a difference. */
export function described(
  fixture: Fixture,
  { sql, engine, difference }: { readonly sql: string; readonly engine: string; readonly difference: string },
): string {
  const plain = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)
  const tables = fixture.tables.map(({ name, columns, rows }) => {
    const declared = columns.map((column) => `${column.name} ${JSON.stringify(column.definition)}`).join('\n      ')
    return `  ${name}\n      ${declared}\n      ${rows.map((row) => JSON.stringify(row, plain)).join('\n      ')}`
  })
  return `${sql}\n  ${difference} (${engine})\n${tables.join('\n')}`
}
