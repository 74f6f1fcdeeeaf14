/** Two equal vaults with the same entropy and clock: one is asked over HTTP, the other by its session. */
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { type Caller, isVaultError, type Session, type Vault } from '../../../src/index.ts'
import { type CanaryForm, freshValue } from '../leaks/canaries.ts'
import type { KnownValues, LeakRequest } from '../leaks/known-values.ts'
import { createOracle } from '../leaks/oracle.ts'
import { GRADES, type LeakTable, REGIONS, randomTables, schemaOf } from '../leaks/schemas.ts'
import { senderOf } from '../leaks/send.ts'
import { randomCaller, randomPolicy } from '../policies/random-policies.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import { sharedEntropy } from '../random/shared-entropy.ts'
import { type LooseSession, type LooseStored, openLoose } from '../vaults/open-untyped.ts'
import { STOPPED_TIMER } from '../vaults/system-ports.ts'
import { OWNER } from '../vaults/test-vault.ts'
import { type ExpectedAnswer, expectedError, expectedResult } from './expected-answer.ts'
import { wireRequestOf } from './request-over-http.ts'
import { type Distortion, knownCallers, serveRouter } from './serve-router.ts'

/** Two equal vaults. */
export interface EqualVaults {
  readonly known: KnownValues
  readonly caller: Caller
  /** Sends a call to both. Returns the answer over HTTP, and what it must be. */
  step(request: LeakRequest): Promise<readonly [answer: ExpectedAnswer, expected: ExpectedAnswer]>
  /** Records, tokens and events of both, as text. */
  contents(): Promise<readonly [overHttp: string, bySession: string]>
  close(): Promise<void>
}

const ROWS = 5

/** Opens two vaults with equal random records. */
export async function openEqualVaults(random: SeededRandom, seed: string, distort?: Distortion): Promise<EqualVaults> {
  const tables = randomTables(random)
  const policy = randomPolicy(random, tables)
  const caller = randomCaller(random)
  const rows = tables.map((table) => ({ table, records: Array.from({ length: ROWS }, () => randomRecord(random, table)) }))
  async function openOne() {
    const entropy = sharedEntropy(seed)
    const { vault, session } = await openLoose(memoryStorage(), schemaOf(tables), { policy, entropy, timer: STOPPED_TIMER })
    const stored = new Map<string, readonly LooseStored[]>()
    for (const [step, { table, records }] of rows.entries()) {
      entropy.begin(step)
      stored.set(table.name, (await session.insert(table.name, records, { tokenization: true })).records)
    }
    return { vault, session, entropy, stored }
  }
  const [overHttp, bySession] = [await openOne(), await openOne()]
  // The same caller, with the same request in its events, asks both.
  let seen = caller
  const watched: Vault = {
    ...overHttp.vault,
    as(given) {
      seen = given
      return overHttp.vault.as(given)
    },
  }
  const served = await serveRouter({ vaults: watched, authenticate: knownCallers({ caller }) }, distort)
  const wire = served.wire()
  let step = rows.length
  return {
    caller,
    known: {
      tables,
      oracle: createOracle(policy, caller),
      idsOf: ({ name }) => overHttp.stored.get(name)?.map(({ id }) => id) ?? [],
      tokens: () => [...overHttp.stored.values()].flat().flatMap(({ tokens }) => Object.values(tokens)),
      suppliableTokens: () => [],
      guessesFor: (table, { name }) => valuesOf(rows, table, name),
      pages: () => [],
      fresh: (form: CanaryForm) => freshValue(random, form),
    },
    async step(request) {
      overHttp.entropy.begin(step)
      const { status, json } = await wire.send({ ...wireRequestOf(request), headers: HEADERS })
      bySession.entropy.begin(step++)
      const session = bySession.vault.as(seen)
      const sendTexts = WITH_TEXTS[request.method]
      const sent = sendTexts?.(session, request.args) ?? senderOf(bySession.vault, session, seen)(request)
      const expected = await sent.then(
        (result) => expectedResult(request.method, request.args, result),
        (error: unknown) => expectedOf(error, request.method),
      )
      const asked = request.method === 'listEvents' ? asSpeltAlike : asJson
      return [asked({ status, body: json }), asked(expected)]
    },
    contents: async () => [await contentsOf(overHttp, tables), await contentsOf(bySession, tables)],
    async close() {
      await served.close()
      await overHttp.vault.close()
      await bySession.vault.close()
    },
  }
}

/** Over HTTP values to look up are texts, and so the session is asked with texts. */
const WITH_TEXTS: Readonly<
  Record<string, (session: Pick<Session<never>, 'perform'>, args: readonly unknown[]) => Promise<unknown>>
> = {
  get: (session, [table, options = {}]) => session.perform('get', { table, options, areTexts: true } as never),
  tokenize: (session, [records]) => session.perform('tokenize', { records, areTexts: true } as never),
}

const HEADERS = { authorization: 'Bearer caller', 'content-type': 'application/json' } as const

function randomRecord(random: SeededRandom, { secrets }: LeakTable) {
  const values = secrets.map(({ name, form }) => [name, random.chance(0.15) ? null : freshValue(random, form)] as const)
  return { fields: { region: random.pick(REGIONS), grade: random.pick(GRADES), ...Object.fromEntries(values) } }
}

interface Row {
  readonly table: LeakTable
  readonly records: readonly { readonly fields: Readonly<Record<string, unknown>> }[]
}

function valuesOf(rows: readonly Row[], table: LeakTable, name: string): unknown[] {
  const records = rows.filter((row) => row.table === table).flatMap((row) => row.records)
  return records.map(({ fields }) => fields[name]).filter((value) => value !== null)
}

/** The statuses of errors that the specification documents for the route of each method. */
const STATUSES: Readonly<Record<string, readonly number[]>> = {
  insert: [400, 401, 422, 500],
  query: [400, 401, 422, 500],
  delete: [400, 401, 404, 500],
  deleteOne: [400, 401, 404, 500],
  listEvents: [400, 401, 404, 500],
}

function expectedOf(error: unknown, method: string): ExpectedAnswer {
  if (!isVaultError(error)) throw error
  return expectedError(error, STATUSES[method] ?? [400, 401, 404, 422, 500])
}

/** As JSON carries it. */
function asJson({ status, body }: ExpectedAnswer): ExpectedAnswer {
  return { status, body: JSON.parse(JSON.stringify(body)) }
}

/** As JSON carries it, without the contents of events. */
function asSpeltAlike({ status, body }: ExpectedAnswer): ExpectedAnswer {
  return { status, body: JSON.parse(JSON.stringify(body, withoutContent)) }
}

/** The content of an event is the call as it was spelt, and the two do not spell it alike. */
function withoutContent(name: string, part: unknown): unknown {
  return name === 'data' ? undefined : part
}

async function contentsOf(
  { vault, session }: { readonly vault: Vault; readonly session: LooseSession },
  tables: readonly LeakTable[],
): Promise<string> {
  const parts: unknown[] = []
  for (const { name } of tables) {
    parts.push(await session.get(name, { redaction: 'PLAIN_TEXT', limit: 1000 }))
    parts.push(await session.get(name, { tokenization: true, limit: 1000 }))
  }
  const filterOps = { accountID: 'v1', context: { actor: 'limited@acme.example' } }
  const { events } = await vault.as(OWNER).listEvents({ filterOps, limit: 100 })
  parts.push(events)
  return JSON.stringify(parts, withoutContent)
}
