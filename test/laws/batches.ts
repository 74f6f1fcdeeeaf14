/** Law: a batch leaves what a model leaves, item by item, and answers what it answers, with one event. */
import { expect } from 'vitest'
import type { PolicyDefinition } from '../../src/core/policy/statement.ts'
import { column, isVaultError, type Vault } from '../../src/index.ts'
import { callerOf, eventsOf } from '../support/audit/audited-clients.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { onFresh, openPlaces, type Place, type Places } from '../support/storages/places.ts'
import {
  type ModelEnd,
  type ModelItem,
  type ModelRecord,
  type ModelResult,
  methodOf,
  type Records,
  runModel,
} from '../support/vaults/batch-model.ts'
import { openLoose } from '../support/vaults/open-untyped.ts'
import { OWNER } from '../support/vaults/test-vault.ts'
import type { Law } from './law.ts'

/** Batches of one case, on a vault of its own. */
const BATCHES = 6
const MAX_ITEMS = 24
/** Inserts of a long batch, which is prepared before its transaction begins. */
const LONG = 64
/** Few, so that values meet. */
const EMAILS = Array.from({ length: 14 }, (_, index) => `p${index}@acme.example`)
const REGIONS = ['north', 'north', 'north', 'east', 'south', null] as const
const UNKNOWN_ID = '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11'
const UNWANTED: readonly ((item: ModelItem) => object)[] = [
  () => ({ insert: 'people', get: 'people' }),
  (item) => ({ [methodOf(item) ?? 'get']: 'nowhere' }),
  () => ({ stray: true }),
  () => ({ fields: { nothing: 1 } }),
  () => ({ id: undefined }),
]

const tableOf = () => ({
  name: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }),
  email: column.string({ required: true, unique: true, token: 'deterministic', redaction: 'PLAIN_TEXT' }),
  region: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
  grade: column.integer({ redaction: 'PLAIN_TEXT' }),
})

const POLICY: PolicyDefinition = {
  clerk: ['people.*', 'friends.*'].flatMap((on) => [
    { effect: 'ALLOW', actions: ['READ'], on: [on], where: "NOT region = 'south'", redaction: 'PLAIN_TEXT' } as const,
    { effect: 'ALLOW', actions: ['CREATE', 'UPDATE', 'DELETE'], on: [on], where: "region = 'north'" } as const,
  ]),
}

/** Runs a batch, as the vault or a negative control does. */
export type RunBatch = (vault: Vault, items: readonly ModelItem[], options: object) => Promise<unknown>

export const batches: Law = {
  name: 'batches',
  statement: 'A random batch leaves what a model leaves, answers what it answers, and records one event',
  unit: 'batches',
  figures: { test: 90, soak: 20_000 },
  weight: 2,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      async check({ number, random }) {
        await onFresh(engineOf(places, number), (place) => checkBatches(place, random))
        return BATCHES
      },
      close: () => places.close(),
    }
  },
}

function engineOf({ memory, sqlite, postgres }: Places, number: number) {
  return [memory, sqlite, postgres][number % 3] ?? memory
}

const runInVault: RunBatch = (vault, items, options) =>
  vault.as(callerOf('clerk')).perform('batch', { items: items as never, options })

/** Runs random batches on one vault, each compared with the model. */
export async function checkBatches(place: Place, random: SeededRandom, run: RunBatch = runInVault): Promise<void> {
  const { vault, session } = await openLoose(place.open(), { people: tableOf(), friends: tableOf() }, { policy: POLICY })
  let records: Records = new Map()
  for (const table of ['people', 'friends']) {
    const fields = random.sample(EMAILS, 8).map((email) => ({ ...fieldsFor(random), email }))
    const inserted = await session.insert(
      table,
      fields.map((one) => ({ fields: one })),
    )
    const entries = inserted.records.map(({ id }, index): [string, ModelRecord] => [
      id,
      { table, token: undefined, ...(fields[index] as Omit<ModelRecord, 'table' | 'token'>) },
    ])
    records = new Map([...records, ...entries])
  }
  const removed: string[] = []
  for (let number = 0; number < BATCHES; number++) {
    const known = [...records.keys(), ...removed.slice(-3), UNKNOWN_ID]
    const items = drawItems(random, records, known)
    const continueOnError = random.chance(0.5)
    const expected = runModel(records, items, continueOnError)
    const before = new Set((await eventsOf(vault)).map(({ changeID }) => changeID))
    const outcome = await outcomeOf(run(vault, items, { continueOnError, byot: 'ENABLE' }))
    const ids = idsOf(outcome)
    assertAnswer(outcome, expected, ids)
    const after = new Map([...expected.records].map(([id, record]) => [ids.get(id) ?? id, record]))
    removed.push(...[...records.keys()].filter((id) => !after.has(id)))
    records = after
    await assertStored(vault, records)
    await assertEvent(vault, { before, expected, ids })
  }
  expect((await vault.verifyRecords()).ok).toBe(true)
  expect((await vault.verifyAudit()).ok).toBe(true)
  await vault.close()
}

/** The responses, or the error. */
type BatchOutcome = { readonly responses: readonly unknown[] } | { readonly error: unknown }

async function outcomeOf(running: Promise<unknown>): Promise<BatchOutcome> {
  try {
    return (await running) as BatchOutcome // The members are compared with the model.
  } catch (error) {
    if (!isVaultError(error)) throw error
    return { error }
  }
}

function fieldsFor(random: SeededRandom) {
  return { name: random.pick(['Ann', 'Bo', null]), region: random.pick(REGIONS), grade: random.pick([1, 7, null]) }
}

/** Items of every kind; about one in fifteen is malformed, at any position, and in half of the batches none. */
function itemsFor(random: SeededRandom, ids: readonly string[]): ModelItem[] {
  const isClean = random.chance(0.5)
  const reading = random.chance(0.2)
  const items: ModelItem[] = []
  for (let rest = 1 + random.below(MAX_ITEMS); rest > 0; rest--) {
    const item = itemFor(random, ids, reading ? 'get' : random.pick(['insert', 'insert', 'update', 'get', 'delete'] as const))
    const isBad = !isClean && random.chance(0.15)
    const own = isBad ? withoutUndefined({ ...item, ...random.pick(UNWANTED)(item) }) : item
    items.push(random.chance(0.3) ? withReference(random, own, isClean ? items : [...items, own]) : own)
  }
  return items
}

/** The items of one batch: random ones, a few that cross, or many, of which each can succeed. */
function drawItems(random: SeededRandom, records: Records, known: readonly string[]): ModelItem[] {
  const kind = random.below(10)
  if (kind < 2) return longItems(random, records)
  return kind < 5 ? crossingItems(random, records) : itemsFor(random, known)
}

/** A long batch that names each record once: inserts beside changes and reads of records, or beside upserts. */
function longItems(random: SeededRandom, records: Records): ModelItem[] {
  const inserts = Array.from({ length: LONG }, (_, index): ModelItem => {
    const fields = { ...fieldsFor(random), region: 'north', email: `${random.below(1e9)}.${index}@long.example` }
    return { insert: 'people', fields }
  })
  const reached = random.sample(
    [...records].filter(([, { region }]) => region === 'north'),
    random.below(8),
  )
  const tokenization = random.chance(0.5)
  const beside = random.chance(0.5)
    ? reached.map(([, { email }]): ModelItem => {
        return { insert: 'people', fields: { region: 'north', email }, upsert: 'email', tokenization }
      })
    : reached.map(([id, { table }]): ModelItem => {
        const method = random.pick(['update', 'get', 'delete'] as const)
        return { [method]: table, id, ...(method === 'update' ? { fields: { grade: random.below(9) } } : {}) }
      })
  return random.shuffle([...inserts, ...beside])
}

/** The item, for the record of one of these items in place of its own: if they are not its own, of an earlier one that leaves a record. */
function withReference(random: SeededRandom, item: ModelItem, targets: readonly ModelItem[]): ModelItem {
  const isOwn = targets.includes(item)
  const positions = targets.flatMap((one, index) => (isOwn || one.delete === undefined ? [index] : []))
  return typeof item.id === 'string' && positions.length > 0 ? { ...item, id: { response: random.pick(positions) } } : item
}

/** A few items in random order that want the value of one record: it is deleted, or gets another value, before or after. */
function crossingItems(random: SeededRandom, records: Records): ModelItem[] {
  const table = random.pick(['people', 'friends'])
  const own = [...records].filter(([, record]) => record.table === table && record.region === 'north')
  const [wanted, second, third] = random.sample(own, 3)
  const id = wanted?.[0] ?? UNKNOWN_ID
  const email = wanted?.[1].email ?? 'none@acme.example'
  const asked = () => (random.chance(0.5) ? { tokenization: true } : {})
  const fresh = `${random.below(1e9)}@new.example`
  const giving = random.pick([
    { delete: table, id },
    { update: table, id, fields: { email: fresh }, ...asked() },
  ])
  const taking = random.pick([
    { insert: table, fields: { region: 'north', email } },
    { insert: table, fields: { region: 'north', email }, upsert: 'email' },
    { update: table, id: second?.[0] ?? UNKNOWN_ID, fields: { email }, ...asked() },
  ])
  const beside = [
    { insert: table, fields: { region: 'north', email: `${fresh}.example` } },
    { update: table, id: third?.[0] ?? UNKNOWN_ID, fields: { grade: 3 }, ...asked() },
    { insert: table, fields: { region: 'north', email: fresh } },
  ]
  return random.shuffle([giving, taking, ...random.sample(beside, random.below(3))])
}

function withoutUndefined(item: ModelItem): ModelItem {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined))
}

function itemFor(random: SeededRandom, ids: readonly string[], method: 'insert' | 'update' | 'get' | 'delete'): ModelItem {
  const item = { [method]: random.pick(['people', 'people', 'friends']) }
  const fields = { ...fieldsFor(random), email: random.chance(0.7) ? `${random.below(1e9)}@new.example` : random.pick(EMAILS) }
  const isNorth = random.chance(0.85)
  if (method === 'insert') {
    const own = { ...item, fields: isNorth ? { ...fields, region: 'north' } : fields }
    if (random.chance(0.15)) return { ...own, upsert: 'email' }
    const isSupplied = random.chance(0.25) && fields.name !== null
    return isSupplied ? { ...own, tokens: { name: `supplied ${random.below(12)}` } } : own
  }
  const id = random.pick(ids)
  if (method !== 'update') return { ...item, id }
  const named = random.pick([{ grade: fields.grade }, { email: fields.email }, { region: isNorth ? 'north' : fields.region }])
  return { ...item, id, fields: named, ...(random.chance(0.2) ? { tokenization: true } : {}) }
}

/** The ids of inserted records, by their position: `#3`. */
function idsOf(outcome: BatchOutcome): Map<string, string> {
  const responses = 'responses' in outcome ? outcome.responses : []
  return new Map(
    responses.flatMap((response, index): [string, string][] => {
      const id: unknown = Reflect.get(Object(Reflect.get(Object(response), 'value')), 'id')
      return typeof id === 'string' ? [[`#${index}`, id]] : []
    }),
  )
}

function assertAnswer(outcome: BatchOutcome, { ends, stopped }: ModelResult, ids: ReadonlyMap<string, string>): void {
  if (stopped === undefined) {
    const responses = 'responses' in outcome ? outcome.responses : outcome.error
    expect(Array.isArray(responses) ? responses.map(endOf) : responses).toEqual(ends.map((end) => withId(end, ids)))
    return
  }
  const error = 'error' in outcome ? outcome.error : undefined
  if (!isVaultError(error)) throw new Error('a batch whose item failed is a success')
  expect([{ code: error.code }]).toEqual(ends.slice(-1))
  expect(error.message).toMatch(new RegExp(`^Batch failed\\. Item ${stopped}: `))
  expect(error.details.map(({ index }) => index)).toEqual(error.details.map(() => stopped))
  expect(error.details.length).toBeGreaterThan(0)
}

/** A response as the model has it: a read by its fields, a change by the id of its record. */
function endOf(response: unknown): unknown {
  const { ok, value, error } = Object(response)
  if (ok === false) return isVaultError(error) ? { code: error.code } : error
  const { id, fields } = Object(value)
  return fields === undefined ? { id } : { id, fields }
}

function withId(end: ModelEnd, ids: ReadonlyMap<string, string>): ModelEnd {
  return 'code' in end ? end : { ...end, id: ids.get(end.id) ?? end.id }
}

async function assertStored(vault: Vault, records: Records): Promise<void> {
  for (const table of ['people', 'friends']) {
    const found = await asRecord(vault.as(OWNER), table)
    const expected = [...records].filter(([, record]) => record.table === table)
    const own = expected.map(([id, { table: _table, token: _token, ...fields }]): [string, object] => [id, fields])
    expect(found).toEqual(new Map(own))
  }
}

async function asRecord(session: ReturnType<Vault['as']>, table: string): Promise<Map<string, unknown>> {
  const { records } = await session.get(table, { redaction: 'PLAIN_TEXT', limit: 1000 })
  return new Map(records.map(({ id, fields }) => [id, fields]))
}

/** What the event is compared with. */
interface EventExpectation {
  readonly before: ReadonlySet<string>
  readonly expected: ModelResult
  readonly ids: ReadonlyMap<string, string>
}

const STATUS: Readonly<Record<string, number>> = {
  not_found: 404,
  forbidden: 401,
  invalid_request: 400,
  conflict: 422,
  unprocessable: 422,
}

/** There is one event of the batch, and it names the outcome and the record of each item. */
async function assertEvent(vault: Vault, { before, expected, ids }: EventExpectation): Promise<void> {
  const recorded = (await eventsOf(vault)).filter(({ changeID, action }) => !before.has(changeID) && action !== 'GET')
  expect(recorded.map(({ action }) => action)).toEqual(['BATCH'])
  const filterOps = { accountID: 'v1', context: { changeID: recorded[0]?.changeID ?? '' } }
  const { events } = await vault.as(OWNER).listEvents({ filterOps })
  const nested = events[0]?.response.nestedResponse ?? []
  for (const [index, end] of expected.ends.entries()) {
    const { code, identifier } = nested[index] ?? { code: 0, identifier: '' }
    if ('code' in end) {
      // An unknown table is 400 for an insert.
      expect([STATUS[end.code], end.code === 'not_found' ? 400 : 0]).toContain(code)
      continue
    }
    const isRolledBack = expected.stopped !== undefined && end.fields === undefined
    expect(code).toBe(isRolledBack ? 500 : 200)
    const id = ids.get(end.id) ?? end.id
    if (id.startsWith('#')) expect(identifier).toMatch(/^RECORD\//)
    else expect(identifier).toBe(`RECORD/${id}`)
  }
  const rest = nested.slice(expected.ends.length)
  for (const { code, message, identifier } of rest) {
    expect({ code, message, identifier }).toEqual({
      code: 500,
      message: 'Not run: the batch failed before this item.',
      identifier: '',
    })
  }
}
