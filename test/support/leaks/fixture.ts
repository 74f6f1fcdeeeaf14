/** A vault full of canaries, one limited caller, and a record of everything that leaves it: results, errors, logs, spans, events, storage. */
import { inspect } from 'node:util'
import type { PolicyDefinition } from '../../../src/core/policy/statement.ts'
import type { Tracing } from '../../../src/core/ports/observability.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { type Caller, isVaultError } from '../../../src/index.ts'
import { type RandomPolicy, randomCaller, randomPolicy, textOf } from '../policies/random-policies.ts'
import { INDEXES_ONLY } from '../queries/read-costs.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import { type LooseSession, openLoose } from '../vaults/open-untyped.ts'
import { errorsOfBatch, itemsOfBatch } from './batch-requests.ts'
import { type Canaries, type CanaryForm, createCanaries } from './canaries.ts'
import { faultsOf } from './expectations.ts'
import { type KnownValues, type LeakRequest, notePage, type ReadPage } from './known-values.ts'
import { type Apart, apartIn, type Model, readModel, type Sightings, sight, spelt } from './model.ts'
import { createOracle, type Oracle } from './oracle.ts'
import { auditOf, dumpOf, naming } from './outlets.ts'
import { GRADES, type LeakTable, REGIONS, randomTables, schemaOf } from './schemas.ts'
import { inProcess, type Layer, type OpenTransport, senderOf, type Transport } from './send.ts'

/** Options of a fixture: the way of its requests, and what negative controls change. */
export interface FixtureOptions {
  /** Default: calls in process. */
  readonly transport?: OpenTransport
  readonly layer?: Layer
  /** Replaces the caller, as a careless application would. */
  readonly host?: (caller: Caller, secret: string) => Caller
}

/** One observed vault. */
export interface LeakFixture {
  readonly known: KnownValues
  readonly caller: Caller
  /** Sends one request of the caller. Returns one line for each fault in its result. */
  step(request: LeakRequest): Promise<string[]>
  /** Returns one line for each canary in logs, spans, events and storage. `others` are stored bytes that the port does not show. */
  faultsAtRest(others: () => Promise<string> | string): Promise<string[]>
  close(): Promise<void>
}

const ROWS = 6
const MIN_ROWS = 3

/** The state of a running fixture. */
interface State {
  readonly random: SeededRandom
  readonly tables: readonly LeakTable[]
  readonly canaries: Canaries
  readonly oracle: Oracle
  readonly owner: LooseSession
  readonly transport: Transport
  /** Log lines, spans and errors so far. */
  readonly noise: readonly string[]
  readonly apart: Apart[]
  readonly ownTokens: string[]
  readonly pages: ReadPage[]
  /** Canaries that the caller has used as tokens. */
  readonly asTokens: Set<number>
  /** Canaries that were ever stored in a plain column. */
  readonly everPlain: Set<number>
  model: Model
  sightings: Sightings
}

/** Opens a random vault on an empty storage and inserts records as the owner. */
export async function openFixture(
  random: SeededRandom,
  storage: StorageHandle,
  { transport: open = inProcess, layer, host }: FixtureOptions = {},
): Promise<LeakFixture> {
  const tables = randomTables(random)
  const policy = randomPolicy(random, tables)
  const canaries = createCanaries(random)
  const drawn = randomCaller(random)
  const caller = host === undefined ? drawn : host(drawn, String(canaries.make('STRING').value))
  const oracle = createOracle(policy, caller)
  const names = new Set<string>()
  const noise: string[] = []
  const { vault, session: owner } = await openLoose(naming(storage, names), schemaOf(tables), {
    policy: asWritten(random, policy),
    ...(random.chance(0.7) ? { readCosts: INDEXES_ONLY } : {}),
    log: recordingLog(noise),
    tracing: recordingTracing(noise),
  })
  const direct = await open(vault, { caller, noise })
  const send = layer === undefined ? direct.send : layer(direct.send, senderOf(vault, owner, caller))
  const transport = { ...direct, send }
  const state: State = {
    ...{ random, tables, canaries, oracle, owner, transport, noise },
    ...{ apart: [], ownTokens: [], pages: [], asTokens: new Set(), everPlain: new Set() },
    model: { rows: [], homes: new Map() },
    sightings: { visible: new Set(), plain: new Set() },
  }
  await look(state)
  return {
    known: knownValuesOf(state),
    caller,
    async step(request) {
      const sent = transport.carried(request)
      return sent === undefined ? [] : stepOf(state, noise, sent)
    },
    faultsAtRest: async (others) => {
      const stored = [await dumpOf(storage, names), await others()].join('\n')
      return faultsAtRest(state, { events: await auditOf(vault), stored })
    },
    async close() {
      await transport.close()
      await vault.close()
    },
  }
}

/** The policy with some statements typed and the others as text. */
function asWritten(random: SeededRandom, policy: RandomPolicy): PolicyDefinition {
  const roles = Object.entries(policy)
  return Object.fromEntries(
    roles.map(([role, statements]) => [role, statements.map((one) => (random.chance(0.3) ? textOf(one) : one))]),
  )
}

function knownValuesOf(state: State): KnownValues {
  const { tables, oracle, canaries, ownTokens, pages } = state
  const rowsOf = (table: LeakTable) => state.model.rows.filter((row) => row.table === table)
  const tokens = () => [...state.model.homes.keys(), ...ownTokens]
  return {
    tables,
    oracle,
    idsOf: (table) => rowsOf(table).map(({ id }) => id),
    tokens,
    suppliableTokens: tokens,
    guessesFor: (table, { name }) =>
      rowsOf(table)
        .flatMap(({ values }) => ((values[name] ?? null) === null ? [] : [[values[name]]]))
        .flat(1),
    pages: () => pages,
    fresh: (form) => canaries.make(form).value,
  }
}

/** Reads the current state, and refills tables that have no records. */
async function look(state: State): Promise<void> {
  const { tables, owner, canaries, oracle, apart, everPlain } = state
  for (const table of tables) {
    const { records } = await owner.get(table.name, { limit: MIN_ROWS })
    if (records.length < MIN_ROWS) await fill(state, table)
  }
  state.model = await readModel(owner, tables)
  state.sightings = sight(state.model, apart, { canaries, oracle })
  for (const id of state.sightings.plain) everPlain.add(id)
}

async function fill({ random, owner, canaries, apart, ownTokens }: State, table: LeakTable): Promise<void> {
  const records = Array.from({ length: ROWS }, () => ({ fields: ownRecord(random, table, (form) => canaries.make(form).value) }))
  apart.push(...apartIn(table, records, canaries))
  const { records: stored } = await owner.insert(table.name, records, { tokenization: true })
  ownTokens.push(...stored.flatMap(({ tokens }) => Object.values(tokens)))
}

function note(state: State, request: LeakRequest): void {
  for (const item of itemsOfBatch(request)) note(state, item.request)
  const { tables, canaries, apart, asTokens } = state
  const table = tables.find(({ name }) => name === request.args[0])
  apart.push(...apartIn(table, request.args, canaries))
  // A token supplied by the caller is returned as it is, even if it was made from a canary.
  if (!/^(insert|insertOne|updateOne)$/.test(request.method)) return
  for (const id of canaries.findIn(spelt(tokensIn(request.args)))) asTokens.add(id)
}

async function stepOf(state: State, noise: string[], request: LeakRequest): Promise<string[]> {
  note(state, request)
  let answer: unknown
  try {
    answer = await state.transport.send(request)
    notePage(state.pages, request, answer)
  } catch (error) {
    const text = inspect(error, { depth: 12, showHidden: true })
    noise.push(text)
    if (!isVaultError(error)) return [`no VaultError was thrown but ${text}`]
    return state.canaries.findIn(text).size === 0 ? [] : [`the error holds a canary: ${text}`]
  }
  // The result of a change is compared with the state after it.
  if (/^(insert|update|delete|batch)/.test(request.method)) await look(state)
  const errors = errorsOfBatch(answer).map((error) => inspect(error, { depth: 12, showHidden: true }))
  noise.push(...errors)
  const inErrors =
    state.canaries.findIn(errors.join('\n')).size === 0 ? [] : [`an error in the answer holds a canary: ${errors.join()}`]
  return [...inErrors, ...faultsOfAnswer(state, request, answer)]
}

function faultsOfAnswer(
  { canaries, sightings, asTokens, model, oracle, transport: { isInProcess } }: State,
  request: LeakRequest,
  answer: unknown,
): string[] {
  const isWithoutValues = request.method === 'listEvents' || request.method === 'explain'
  const found = [...canaries.findIn(withoutEchoes(request, answer))]
  const leaked = found.filter((id) => (isWithoutValues || !sightings.visible.has(id)) && !asTokens.has(id))
  const leaks = leaked.length === 0 ? [] : [`the answer holds ${leaked.length} canaries hidden from the caller: ${spelt(answer)}`]
  const items = itemsOfBatch(request, answer).flatMap((item) =>
    item.answer === undefined ? [] : faultsOf(item.request, item.answer, { model, oracle, isInProcess }),
  )
  return [...leaks, ...faultsOf(request, answer, { model, oracle, isInProcess }), ...items]
}

function faultsAtRest(
  { canaries, noise, everPlain, sightings }: State,
  { events, stored }: { readonly events: string; readonly stored: string },
): string[] {
  const inStore = canaries.findIn(stored)
  const leaked = [...inStore].filter((id) => !everPlain.has(id))
  const unseen = [...sightings.plain].filter((id) => !inStore.has(id))
  return [
    ...(canaries.findIn(noise.join('\n')).size === 0 ? [] : ['lines of the log, spans or errors hold a canary']),
    ...(canaries.findIn(events).size === 0 ? [] : ['the audit trail holds a canary']),
    ...(leaked.length === 0 ? [] : [`storage holds ${leaked.length} canaries of sealed columns`]),
    ...(unseen.length === 0 ? [] : [`the search of storage is blind: ${unseen.length} plain canaries were not found`]),
  ]
}

function ownRecord(random: SeededRandom, table: LeakTable, fresh: (form: CanaryForm) => unknown): Record<string, unknown> {
  const secrets = table.secrets.map((column) => [column.name, random.chance(0.1) ? null : fresh(column.form)] as const)
  return { region: random.pick(REGIONS), grade: random.pick(GRADES), ...Object.fromEntries(secrets) }
}

/** All values of members named `tokens`, at any depth. */
function tokensIn(part: unknown): unknown[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([name, value]) => (name === 'tokens' ? [value] : tokensIn(value)))
}

/** Members that repeat ids and tokens of a request, in results and on the wire. */
const ECHOED: readonly string[] = ['token', 'id', 'svc_id']
const ECHOED_LISTS: readonly string[] = ['ids', 'RecordIDResponse']

/** The text of the result without the ids and tokens of the request, which the caller knows already. */
function withoutEchoes(request: LeakRequest, answer: unknown): string {
  const sent = new Set(textsIn(request.args))
  const isEcho = (value: unknown) => typeof value === 'string' && sent.has(value)
  return JSON.stringify(answer, (key, value: unknown) => {
    if (ECHOED.includes(key) && isEcho(value)) return undefined
    return ECHOED_LISTS.includes(key) && Array.isArray(value) ? value.filter((one) => !isEcho(one)) : value
  })
}

function textsIn(part: unknown): string[] {
  if (typeof part === 'string') return [part]
  return typeof part === 'object' && part !== null ? Object.values(part).flatMap(textsIn) : []
}

function recordingLog(noise: string[]) {
  const line = (fields: object, message: string) => void noise.push(`${inspect(fields, { depth: 12 })} ${message}`)
  return { info: line, warn: line, error: line }
}

function recordingTracing(noise: string[]): Tracing {
  return {
    startActiveSpan(name, attributes, work) {
      noise.push(name, inspect(attributes))
      return work({ traceId: undefined, end: (attributes, failure) => void noise.push(inspect(attributes), String(failure)) })
    },
  }
}
