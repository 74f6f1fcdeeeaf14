/** A writer of the trials: random requests on accounts of its own, reads among them, each noted in a ledger before and after. */
import { isVaultError, type Vault } from '../../../src/index.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import type { AccountTokens, Acknowledged, Changes, Failed, LedgerWriter } from './ledger.ts'
import { type AccountState, fieldsOf, type TrialTables, type TrialVault, trialCaller } from './trial-vault.ts'

/** The names of the counters that all writers increment. */
export const COUNTERS = ['first', 'second', 'third'] as const

/** How a writer works. */
export interface WriterOptions {
  /** Unique among all writers of a trial. */
  readonly name: string
  readonly random: SeededRandom
  readonly ledger: LedgerWriter
  /** Asked before each request. */
  isOver(): boolean
  /** Breaks the promise on purpose, for negative controls: notes a request as acknowledged before the vault acknowledged it. */
  readonly acknowledgeEarly?: boolean
}

/** An account as its writer knows it. */
interface Account {
  readonly state: AccountState
  readonly id: string
}

/** What one request did, as the vault answered. */
interface Answer {
  readonly ids?: Readonly<Record<string, string>>
  readonly tokens?: Readonly<Record<string, AccountTokens>>
  readonly rolledBack?: boolean
}

/** A request before it is sent. */
interface Plan {
  readonly kind: string
  readonly changes: Changes
  readonly counter?: string
  readonly reads?: number
  send(requestID: string): Promise<Answer>
}

/** Failures that a trial may cause. After all but `outcome_unknown` nothing is stored. */
const EXPECTED = new Set(['unavailable', 'outcome_unknown', 'aborted', 'storage_full'])

class RolledBack extends Error {}

/** Sends requests until `isOver`. Accounts of a request in doubt are left alone from then on. */
export async function write(vault: TrialVault, options: WriterOptions): Promise<void> {
  const accounts = new Map<string, Account>()
  for (let count = 0; !options.isOver(); count++) {
    const request = `${options.name}#${count}`
    const plan = planRequest(vault, accounts, { ...options, request })
    const { send: _, ...attempt } = plan
    const { changes } = attempt
    options.ledger.write({ step: 'attempt', request, writer: options.name, ...attempt })
    if (options.acknowledgeEarly === true) options.ledger.write({ step: 'acknowledged', request, ids: {}, tokens: {} })
    const end = await endOf(plan, request)
    // What was acknowledged early stays acknowledged.
    if (end.step === 'acknowledged' || options.acknowledgeEarly !== true) options.ledger.write(end)
    apply(accounts, changes, end)
  }
}

async function endOf(plan: Plan, request: string): Promise<Acknowledged | Failed> {
  try {
    const answer = await plan.send(request)
    return { step: 'acknowledged', request, ids: {}, tokens: {}, ...answer }
  } catch (error) {
    const code = isVaultError(error) ? error.code : 'none'
    const unexpected = EXPECTED.has(code) ? {} : { unexpected: `${code}: ${String(error)}` }
    return { step: 'failed', request, code, ...unexpected }
  }
}

/** Updates what the writer knows of its accounts. */
function apply(accounts: Map<string, Account>, changes: Changes, end: Acknowledged | Failed): void {
  if (end.step === 'failed') {
    if (end.code === 'outcome_unknown') for (const login of Object.keys(changes)) accounts.delete(login)
    return
  }
  if (end.rolledBack === true) return
  for (const [login, state] of Object.entries(changes)) {
    const id = end.ids[login] ?? accounts.get(login)?.id
    if (state === null || id === undefined) accounts.delete(login)
    else accounts.set(login, { state, id })
  }
}

/** Everything a request is planned from. */
interface Planning extends WriterOptions {
  readonly request: string
}

function planRequest(vault: TrialVault, accounts: ReadonlyMap<string, Account>, options: Planning): Plan {
  const { random, request } = options
  const known = [...accounts]
  const fresh = (): string => `${request}/${random.below(2 ** 32)}`
  const state = (): AccountState => ({ number: random.below(1_000_000_000) })
  const parts = { vault, random, known, fresh, state }
  if (known.length < 4) return planInsert(parts)
  return random.pick(known.length > 60 ? [planDelete, ...PLANNERS] : PLANNERS)(parts)
}

/** What a plan is made from. */
interface Parts {
  readonly vault: TrialVault
  readonly random: SeededRandom
  readonly known: readonly (readonly [string, Account])[]
  fresh(): string
  state(): AccountState
}

type TrialSession = ReturnType<Vault<TrialTables>['as']>

async function insert(session: TrialSession, changes: Readonly<Record<string, AccountState>>, upsert: boolean): Promise<Answer> {
  const logins = Object.keys(changes)
  const records = Object.entries(changes).map(([login, state]) => ({ fields: { login, ...fieldsOf(state) } }))
  const answer = await session.insert('accounts', records, {
    tokenization: true,
    ...(upsert ? { upsert: 'login' as const } : {}),
  })
  const ids: Record<string, string> = {}
  const tokens: Record<string, AccountTokens> = {}
  for (const [index, record] of answer.records.entries()) {
    const login = String(logins[index])
    ids[login] = record.id
    tokens[login] = tokensOf(record.tokens)
  }
  return { ids, tokens }
}

async function update(session: TrialSession, account: readonly [string, Account], state: AccountState): Promise<Answer> {
  const [login, { id }] = account
  const answer = await session.updateOne('accounts', id, fieldsOf(state), { tokenization: true })
  return { tokens: { [login]: tokensOf(answer.tokens) } }
}

function tokensOf(tokens: Partial<AccountTokens>): AccountTokens {
  const { card = '', code = '', reference = '' } = tokens
  return { card, code, reference }
}

function planInsert({ vault, random, fresh, state }: Parts): Plan {
  const changes = Object.fromEntries(Array.from({ length: 1 + random.below(3) }, () => [fresh(), state()]))
  return { kind: 'insert', changes, send: (requestID) => insert(vault.as(trialCaller(requestID)), changes, false) }
}

function planUpsert({ vault, random, known, fresh, state }: Parts): Plan {
  const [login] = random.pick(known)
  const changes = { [login]: state(), [fresh()]: state() }
  return { kind: 'upsert', changes, send: (requestID) => insert(vault.as(trialCaller(requestID)), changes, true) }
}

function planUpdate({ vault, random, known, state }: Parts): Plan {
  const account = random.pick(known)
  const next = state()
  return {
    kind: 'update',
    changes: { [account[0]]: next },
    send: (requestID) => update(vault.as(trialCaller(requestID)), account, next),
  }
}

function planDelete({ vault, random, known }: Parts): Plan {
  const gone = random.sample(known, 1 + random.below(2))
  return {
    kind: 'delete',
    changes: Object.fromEntries(gone.map(([login]) => [login, null])),
    async send(requestID) {
      await vault.as(trialCaller(requestID)).delete(
        'accounts',
        gone.map(([, { id }]) => id),
      )
      return {}
    },
  }
}

/** An insert, a refused insert, an update and a delete in one transaction. */
function planTransaction(parts: Parts): Plan {
  const { vault, random, known, fresh, state } = parts
  const [changed, removed] = random.sample(known, 2)
  if (changed === undefined || removed === undefined) return planInsert(parts)
  const added = { [fresh()]: state() }
  const next = state()
  return {
    kind: 'transaction',
    changes: { ...added, [changed[0]]: next, [removed[0]]: null },
    send: (requestID) =>
      vault.transaction(async (transaction) => {
        const session = transaction.as(trialCaller(requestID))
        const { ids, tokens } = await insert(session, added, false)
        await expectConflict(insert(session, { [changed[0]]: state() }, false))
        const updated = await update(session, changed, next)
        await session.delete('accounts', [removed[1].id])
        return { ids: ids ?? {}, tokens: { ...tokens, ...updated.tokens } }
      }),
  }
}

/** A transaction that its caller undoes. */
function planRolledBack({ vault, random, known, state }: Parts): Plan {
  const account = random.pick(known)
  return {
    kind: 'rolled back transaction',
    changes: {},
    async send(requestID) {
      try {
        return await vault.transaction(async (transaction) => {
          await update(transaction.as(trialCaller(requestID)), account, state())
          throw new RolledBack()
        })
      } catch (error) {
        if (error instanceof RolledBack) return { rolledBack: true }
        throw error
      }
    },
  }
}

function planCounter({ vault, random }: Parts): Plan {
  const counter = random.pick(COUNTERS)
  return { kind: 'counter', changes: {}, counter, send: (requestID) => increment(vault, counter, requestID) }
}

/** Increments a counter in a transaction. The upsert locks its row, so that no increment is lost. */
export async function increment(vault: TrialVault, name: string, requestID: string): Promise<Answer> {
  await vault.transaction(async (transaction) => {
    const session = transaction.as(trialCaller(requestID))
    const answer = await session.insert('counters', [{ fields: { name } }], { upsert: 'name' })
    for (const { id } of answer.records) {
      const { fields } = await session.getOne('counters', id)
      const next = Number(fields.plain ?? 0) + 1
      await session.updateOne('counters', id, { plain: next, sealed: next })
    }
  })
  return {}
}

/** An insert of two records, of which the second is refused, so that neither is stored. */
function planConflict({ vault, random, known, fresh, state }: Parts): Plan {
  const [taken] = random.pick(known)
  const records = { [fresh()]: state(), [taken]: state() }
  return {
    kind: 'conflict',
    changes: {},
    async send(requestID) {
      await expectConflict(insert(vault.as(trialCaller(requestID)), records, false))
      return {}
    },
  }
}

/** Reads at once, which can run as one and share a commit of their events. */
function planReads({ vault, random, known }: Parts): Plan {
  const read = Array.from({ length: 1 + random.below(6) }, () => random.pick(known)[1])
  return {
    kind: 'reads',
    changes: {},
    reads: read.length,
    async send(requestID) {
      const session = vault.as(trialCaller(requestID))
      const answers = await Promise.allSettled(read.map(({ id }) => session.getOne('accounts', id)))
      for (const [index, answer] of answers.entries()) {
        if (answer.status === 'rejected') throw answer.reason
        if (answer.value.fields.amount !== read[index]?.state.number) throw new Error('A read returned another state.')
      }
      return {}
    },
  }
}

const PLANNERS = [
  planInsert,
  planUpdate,
  planUpsert,
  planDelete,
  planTransaction,
  planRolledBack,
  planCounter,
  planConflict,
  planReads,
]

async function expectConflict(refused: Promise<unknown>): Promise<void> {
  try {
    await refused
  } catch (error) {
    if (isVaultError(error, 'conflict')) return
    throw error
  }
  throw new Error('A unique value was stored twice.')
}
