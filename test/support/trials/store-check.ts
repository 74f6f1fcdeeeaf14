/** Compares a vault with the ledgers of its writers: nothing acknowledged is lost, nothing torn, nothing twice, and every change and every read has its event. */
import { type AccountTokens, isInDoubt, isStored, type LedgerEntry } from './ledger.ts'
import { type AccountState, fieldsOf, type TrialVault, trialCaller } from './trial-vault.ts'

/** What is known to be stored of one account. */
interface KnownAccount {
  readonly state: AccountState
  readonly tokens: AccountTokens | undefined
}

/** A request that ended: whether it is stored, and the least number of its events of success. */
interface KnownRequest {
  readonly kind: string
  readonly isStored: boolean
  readonly events: number
}

/** What is known to be stored after all rounds so far. */
export interface KnownState {
  readonly accounts: Map<string, KnownAccount>
  /** For each counter, the lowest and highest value that it can have. */
  readonly counters: Map<string, { low: number; high: number }>
  /** The request that each id was given to. */
  readonly ids: Map<string, string>
  /** The requests that ended. */
  readonly requests: Map<string, KnownRequest>
  /** Number of acknowledged requests, and of those in doubt. */
  acknowledged: number
  inDoubt: number
}

export function nothingKnown(): KnownState {
  return { accounts: new Map(), counters: new Map(), ids: new Map(), requests: new Map(), acknowledged: 0, inDoubt: 0 }
}

/** One stored account, as the vault shows it. */
type StoredAccount = Readonly<Record<string, unknown>>

const PAGE = 1000

/**
 * Resolves the requests of a round and returns what is wrong, one sentence each; empty if nothing is. Names logins and requests, which
 * are made up.
 */
export async function compareRound(vault: TrialVault, entries: readonly LedgerEntry[], known: KnownState): Promise<string[]> {
  const findings: string[] = []
  const stored = await storedAccounts(vault, findings)
  for (const entry of entries) compareEntry(entry, { stored, known, findings })
  for (const [login, { state }] of known.accounts) {
    if (!isInState(stored.get(login), state)) findings.push(`${login}: acknowledged, but lost or changed`)
  }
  for (const login of stored.keys()) if (!known.accounts.has(login)) findings.push(`${login}: stored, but no writer wrote it`)
  await compareCounters(vault, known, findings)
  const records = await vault.verifyRecords()
  if (!records.ok) findings.push(`records: ${JSON.stringify(records)}`)
  const trail = await vault.verifyAudit()
  if (!trail.ok) findings.push(`audit trail: ${JSON.stringify(trail.firstFailure)}`)
  return findings
}

async function storedAccounts(vault: TrialVault, findings: string[]): Promise<Map<string, StoredAccount>> {
  const session = vault.as(trialCaller('check'))
  const stored = new Map<string, StoredAccount>()
  const fields = ['login', 'amount', 'note', 'card', 'reference'] as const
  for (let offset = 0; ; offset += PAGE) {
    const { records } = await session.get('accounts', { offset, limit: PAGE, fields })
    for (const record of records) {
      const login = String(record.fields.login)
      if (stored.has(login)) findings.push(`${login}: two records of one unique value`)
      stored.set(login, record.fields)
    }
    if (records.length < PAGE) return stored
  }
}

function isInState(stored: StoredAccount | undefined, state: AccountState | null): boolean {
  if (state === null || stored === undefined) return state === null && stored === undefined
  const { code: _, ...expected } = fieldsOf(state)
  return Object.entries(expected).every(([column, value]) => String(stored[column]) === String(value))
}

/** The dependencies of comparing one request. */
interface Comparison {
  readonly stored: ReadonlyMap<string, StoredAccount>
  readonly known: KnownState
  readonly findings: string[]
}

function compareEntry(entry: LedgerEntry, { stored, known, findings }: Comparison): void {
  const { attempt, end } = entry
  const { request, kind, changes, counter, reads = 0 } = attempt
  if (end?.step === 'failed' && end.unexpected !== undefined) findings.push(`${request} (${kind}): ${end.unexpected}`)
  let applied = isStored(entry)
  if (isInDoubt(entry)) {
    known.inDoubt++
    applied = compareInDoubt(entry, { stored, known, findings })
  } else if (applied) known.acknowledged++
  if (counter !== undefined) {
    const range = known.counters.get(counter) ?? { low: 0, high: 0 }
    known.counters.set(counter, {
      low: range.low + Number(applied && !isInDoubt(entry)),
      high: range.high + Number(applied || isInDoubt(entry)),
    })
  }
  if (applied) applyChanges(entry, { stored, known, findings })
  // The event of a read that failed can be stored all the same.
  const isKnown = reads > 0 ? applied : counter === undefined ? Object.keys(changes).length > 0 : !isInDoubt(entry)
  if (isKnown) known.requests.set(request, { kind, isStored: applied, events: applied ? Math.max(reads, 1) : 0 })
}

/** Returns whether a request in doubt is stored: whole or not at all. */
function compareInDoubt({ attempt }: LedgerEntry, { stored, known, findings }: Comparison): boolean {
  const changes = Object.entries(attempt.changes)
  if (changes.length === 0) return false
  const isBefore = changes.every(([login]) => isInState(stored.get(login), known.accounts.get(login)?.state ?? null))
  const isAfter = changes.every(([login, state]) => isInState(stored.get(login), state))
  if (isBefore === isAfter) findings.push(`${attempt.request} (${attempt.kind}): stored in part`)
  return isAfter
}

function applyChanges({ attempt, end }: LedgerEntry, { known, findings }: Comparison): void {
  const answer = end?.step === 'acknowledged' ? end : undefined
  for (const [login, state] of Object.entries(attempt.changes)) {
    if (state === null) known.accounts.delete(login)
    else known.accounts.set(login, { state, tokens: answer?.tokens[login] })
  }
  const isNew = attempt.kind === 'insert'
  for (const [login, id] of Object.entries(answer?.ids ?? {})) {
    const before = known.ids.get(id)
    if (before !== undefined && (isNew || before !== login)) findings.push(`${attempt.request}: an id was given twice`)
    known.ids.set(id, login)
  }
}

async function compareCounters(vault: TrialVault, { counters }: KnownState, findings: string[]): Promise<void> {
  const { records } = await vault.as(trialCaller('check')).get('counters', { limit: PAGE })
  for (const { fields } of records) {
    const name = String(fields.name)
    const { low, high } = counters.get(name) ?? { low: 0, high: 0 }
    const plain = Number(fields.plain ?? 0)
    const sealed = Number(fields.sealed ?? 0)
    if (plain !== sealed) findings.push(`counter ${name}: ${plain} in plain and ${sealed} sealed`)
    if (plain < low || plain > high) findings.push(`counter ${name}: ${plain}, not between ${low} and ${high}`)
    counters.set(name, { low: plain, high: plain })
  }
}

/** Compares what `compareRound` does not read each round: look-ups by digest, tokens, and the events of every request. */
export async function checkWhole(vault: TrialVault, known: KnownState): Promise<string[]> {
  return [...(await checkLookups(vault, known)), ...(await checkTokens(vault, known)), ...(await checkEvents(vault, known))]
}

const LOOKUPS = 200

async function checkLookups(vault: TrialVault, { accounts }: KnownState): Promise<string[]> {
  const session = vault.as(trialCaller('check'))
  const findings: string[] = []
  const logins = [...accounts.keys()]
  for (let start = 0; start < logins.length; start += LOOKUPS) {
    const asked = logins.slice(start, start + LOOKUPS)
    const { records } = await session.get('accounts', { where: { login: asked }, limit: PAGE, fields: ['login'] })
    const found = new Set(records.map(({ fields }) => fields.login))
    for (const login of asked) if (!found.has(login)) findings.push(`${login}: not found by its unique value`)
    if (records.length !== asked.length) findings.push('A look-up by unique values returned other records.')
  }
  return findings
}

async function checkTokens(vault: TrialVault, { accounts }: KnownState): Promise<string[]> {
  const session = vault.as(trialCaller('check'))
  const findings: string[] = []
  for (const [login, { state, tokens }] of accounts) {
    if (tokens === undefined) continue
    const { card, code, reference } = fieldsOf(state)
    const asked = [tokens.card, tokens.code, tokens.reference].map((token) => ({ token, redaction: 'PLAIN_TEXT' as const }))
    const answer = await session.detokenize(asked, { continueOnError: true }).catch(() => ({ records: [] }))
    const values = answer.records.map((record) => ('value' in record ? record.value : undefined))
    if (values.join() !== [card, code, reference].join()) findings.push(`${login}: its tokens do not return its values`)
  }
  return findings
}

/** Kinds of requests that are one operation, and so have exactly one event. */
const SINGLE = new Set(['insert', 'update', 'upsert', 'delete'])

async function checkEvents(vault: TrialVault, { requests }: KnownState): Promise<string[]> {
  const codes = new Map<string, number[]>()
  for await (const line of vault.exportAudit()) {
    const { event }: { readonly event?: { readonly code: number; readonly context: { readonly requestID: string } } } =
      JSON.parse(line)
    if (event === undefined) continue
    const known = codes.get(event.context.requestID)
    if (known === undefined) codes.set(event.context.requestID, [event.code])
    else known.push(event.code)
  }
  const findings: string[] = []
  for (const [request, { kind, isStored, events }] of requests) {
    const successes = (codes.get(request) ?? []).filter((code) => code === 200).length
    if (successes < events) findings.push(`${request} (${kind}): ${successes} events of success in place of ${events}`)
    if (SINGLE.has(kind) && successes > Number(isStored)) findings.push(`${request} (${kind}): ${successes} events of success`)
  }
  return findings
}
