/** Two vaults with the same entropy and clock that differ only in what one caller may not see, and the caller's transcripts of both. */
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { StatementDefinition } from '../../../src/core/policy/statement.ts'
import type { Caller } from '../../../src/index.ts'
import { type RandomPolicy, randomCaller, randomPolicy } from '../policies/random-policies.ts'
import { INDEXES_ONLY } from '../queries/read-costs.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import { type SharedEntropy, sharedEntropy } from '../random/shared-entropy.ts'
import { type LooseSession, openLoose } from '../vaults/open-untyped.ts'
import { STOPPED_TIMER } from '../vaults/system-ports.ts'
import { errorsOfBatch } from './batch-requests.ts'
import { type CanaryForm, freshValue } from './canaries.ts'
import { type KnownValues, type LeakRequest, notePage, type ReadPage } from './known-values.ts'
import { createOracle, type Oracle } from './oracle.ts'
import { type PairedRow, randomPairedRows } from './paired-rows.ts'
import { type LeakTable, randomTables, schemaOf, tokenKindOf } from './schemas.ts'
import { type Layer, type Send, senderOf } from './send.ts'

/** What negative controls change: the real policy of the vaults, or a layer between the caller and them. */
export interface PairedVaultOptions {
  readonly layer?: Layer
  readonly granted?: readonly StatementDefinition[]
}

/** A pair of vaults. */
export interface PairedVaults {
  readonly known: KnownValues
  readonly caller: Caller
  readonly policy: RandomPolicy
  /** Number of cells and rows that differ. */
  readonly differences: number
  /** Sends the request to both. Returns both outcomes as text. */
  step(request: LeakRequest): Promise<readonly [left: string, right: string]>
}

/** One of the two. */
interface PairedVault {
  readonly send: Send
  readonly random: SharedEntropy
  readonly stored: readonly { readonly row: PairedRow; readonly id: string; readonly tokens: Readonly<Record<string, string>> }[]
}

/** Opens a random pair; undefined if the caller sees so much that nothing can differ. */
export async function openPairedVaults(
  random: SeededRandom,
  seed: string,
  { layer, granted = [] }: PairedVaultOptions = {},
): Promise<PairedVaults | undefined> {
  const tables = randomTables(random)
  const policy = randomPolicy(random, tables)
  const caller = randomCaller(random)
  const oracle = createOracle(policy, caller)
  const fresh = (form: CanaryForm) => freshValue(random, form)
  const mayAudit = caller.roles.some((role) => policy[role]?.some(mentionsAudit))
  const kin = [fresh('STRING'), fresh('STRING'), fresh('STRING')]
  const rows = tables.flatMap((table) => randomPairedRows({ random, table, oracle, fresh, kin, mayBeAbsent: !mayAudit }))
  const differences = rows.reduce((sum, row) => sum + row.differences, 0)
  if (differences === 0) return undefined
  const really = Object.fromEntries(Object.entries(policy).map(([role, statements]) => [role, [...statements, ...granted]]))
  const audit = random.chance(0.3) || mayAudit ? 'on' : 'off'
  const costs = random.chance(0.7) ? { readCosts: INDEXES_ONLY } : {}

  async function openPairedVault(side: 'left' | 'right'): Promise<PairedVault> {
    const shared = sharedEntropy(seed)
    const { vault, session } = await openLoose(memoryStorage(), schemaOf(tables), {
      policy: really,
      entropy: shared,
      timer: STOPPED_TIMER,
      audit,
      ...costs,
    })
    const direct = senderOf(vault, vault.as(caller), caller)
    const send = layer === undefined ? direct : layer(direct, senderOf(vault, session, caller))
    return { send, random: shared, stored: await fill(session, shared, { tables, rows, side }) }
  }

  const [left, right] = [await openPairedVault('left'), await openPairedVault('right')]
  const taken: string[] = []
  const pages: ReadPage[] = []
  const step = inBoth([left, right], tables.length, { taken, pages })
  return { known: knownValuesOf({ tables, oracle, left, right, taken, pages, fresh }), caller, policy, differences, step }
}

/** Sends requests to both, each with the entropy of its step. */
function inBoth(vaults: readonly PairedVault[], first: number, noted: Noted): PairedVaults['step'] {
  let number = first
  return async (request) => {
    const outcomes = vaults.map(({ send, random }) => {
      random.begin(number)
      return outcomeOf(send, request, noted)
    })
    number++
    const [left = '', right = ''] = await Promise.all(outcomes)
    return [left, right]
  }
}

function mentionsAudit({ effect, actions, on }: StatementDefinition): boolean {
  return effect === 'ALLOW' && on.includes('*') && actions.some((action) => action === 'AUDIT' || action === 'ALL')
}

interface Filling {
  readonly tables: readonly LeakTable[]
  readonly rows: readonly PairedRow[]
  readonly side: 'left' | 'right'
}

/** Inserts the rows of one side, and deletes those that are absent on it. */
async function fill(owner: LooseSession, random: SharedEntropy, { tables, rows, side }: Filling): Promise<PairedVault['stored']> {
  const stored: { row: PairedRow; id: string; tokens: Readonly<Record<string, string>> }[] = []
  for (const [step, table] of tables.entries()) {
    random.begin(step)
    const own = rows.filter((row) => row.table === table)
    const { records } = await owner.insert(
      table.name,
      own.map((row) => ({ fields: row[side] })),
      { tokenization: true },
    )
    stored.push(...own.flatMap((row, index) => (records[index] === undefined ? [] : [{ row, ...records[index] }])))
    const absent = stored.filter(({ row }) => row.table === table && row.absent === side).map(({ id }) => id)
    if (absent.length > 0) await owner.delete(table.name, absent)
  }
  return stored
}

interface Known {
  readonly tables: readonly LeakTable[]
  readonly oracle: Oracle
  readonly left: PairedVault
  readonly right: PairedVault
  /** Tokens that the caller received so far. */
  readonly taken: readonly string[]
  readonly pages: readonly ReadPage[]
  fresh(form: CanaryForm): unknown
}

/** The caller guesses values of either vault, and knows every id and token that both have at the same position. */
function knownValuesOf({ tables, oracle, left, right, taken, pages, fresh }: Known): KnownValues {
  const shared = left.stored.flatMap(({ row, tokens }, index) =>
    Object.entries(tokens).flatMap(([name, token]) =>
      right.stored[index]?.tokens[name] === token ? [{ row, name, token }] : [],
    ),
  )
  const tokens = shared.map(({ token }) => token)
  const suppliable = shared.filter(({ row, name }) => !isMetBySupplying(row, name)).map(({ token }) => token)
  return {
    tables,
    oracle,
    idsOf: (table) => left.stored.flatMap(({ row, id }) => (row.table === table ? [id] : [])),
    tokens: () => [...tokens, ...taken],
    suppliableTokens: () => [...suppliable, ...taken],
    guessesFor: (table, { name }) =>
      left.stored
        .filter(({ row }) => row.table === table && !row.unguessed.has(name))
        .flatMap(({ row }) => [[row.left[name]], [row.right[name]]])
        .flat(1)
        .filter((value) => value !== null),
    pages: () => pages,
    fresh,
  }
}

/**
 * A drawn token is stored, and unique in the vault: a caller who supplies it gets a conflict while its record exists, on one side only.
 * Source: docs/security.md. Deterministic tokens of such records are supplied, because they reveal nothing.
 */
function isMetBySupplying({ table, absent }: PairedRow, name: string): boolean {
  const column = table.columns.find((one) => one.name === name)
  return absent !== undefined && column !== undefined && tokenKindOf(column) === 'formatPreserving'
}

/** What a caller has of earlier results: tokens, and pages with a cursor. */
interface Noted {
  readonly taken: string[]
  readonly pages: ReadPage[]
}

/** The result as text, or the error with all its members. Tokens and cursors of the result are noted. */
export async function outcomeOf(send: Send, request: LeakRequest, noted: Noted = { taken: [], pages: [] }): Promise<string> {
  const { taken, pages } = noted
  try {
    const answer = await send(request)
    notePage(pages, request, answer)
    const next: unknown = Object(answer).next
    // A cursor of values is sealed, and no two are equal: what they say is compared by what they are used for.
    if (typeof next === 'string' && next.length > 22) Object(answer).next = 'a cursor'
    if (/^(insert|insertOne|update|updateOne|updateWhere|batch)$/.test(request.method)) taken.push(...tokensIn(answer))
    return [JSON.stringify(answer), ...errorsOfBatch(answer).map(String)].join('\n')
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return `${error.name} ${error.message} ${JSON.stringify({ ...error })} ${String(error.cause)}`
  }
}

function tokensIn(answer: unknown): string[] {
  if (typeof answer !== 'object' || answer === null) return []
  return Object.entries(answer).flatMap(([name, part]) =>
    name === 'tokens' ? Object.values(Object(part)).map(String) : tokensIn(part),
  )
}
