/** Trial: four processes of eight callers change the same records at once. No change is lost, none is stored in part. */
import { join } from 'node:path'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import type { ContentionProcess, ContentionResult } from './contention-process.ts'
import { hostDatabase } from './host-database.ts'
import { MAX_FAILURES, type TrialReport } from './report.ts'
import { runTogether } from './run-together.ts'
import { fieldsOf, openTrialVault, type TrialVault, trialCaller } from './trial-vault.ts'

/** Where the trial runs, and how long. */
export interface ContentionTrial {
  readonly address: StorageAddress
  readonly seed: string
  readonly milliseconds: number
  /** Default: four. */
  readonly processes?: number
  /** Breaks the promise on purpose, for the negative control. */
  readonly isTorn?: boolean
}

const PROCESSES = ['a', 'b', 'c', 'd'] as const
const CALLERS = 8
const ACCOUNTS = 6
const DEPOSIT = 1000
const PAGE = 1000

/** Runs the trial. Its figure is the number of operations that succeeded. */
export async function runContentionTrial({
  address,
  seed,
  milliseconds,
  processes = PROCESSES.length,
  isTorn = false,
}: ContentionTrial): Promise<TrialReport> {
  const storage = openStorage(address)
  const host = hostDatabase(address)
  try {
    const vault = await openTrialVault(storage)
    await host.prepare()
    const bank = await openBank(vault)
    const options = PROCESSES.slice(0, processes).map((name): ContentionProcess => {
      return { address, name, seed, callers: CALLERS, milliseconds, bank, isTorn }
    })
    const printed = await runTogether(join(import.meta.dirname, 'contention-process.ts'), options)
    const results = printed.map((text) => JSON.parse(text) as ContentionResult)
    const stored = await storedAccounts(vault)
    const failures = [
      ...results.flatMap(({ unexpected }) => unexpected),
      ...checkBank(stored),
      ...checkRaces(stored, results),
      ...checkShared(stored),
      ...checkHosted(stored, results, await host.rows()),
      ...(await checkCounters(vault, results)),
      ...(await checkTrail(vault)),
    ]
    const operations = results.reduce((sum, result) => sum + result.operations, 0)
    const summary = `${operations} operations, ${stored.size} accounts at the end`
    return { figure: operations, failures: failures.slice(0, MAX_FAILURES), summary }
  } finally {
    await storage.close()
    await host.close()
  }
}

async function openBank(vault: TrialVault): Promise<string[]> {
  const records = Array.from({ length: ACCOUNTS }, (_, index) => ({ fields: { login: `bank ${index}`, amount: DEPOSIT } }))
  const answer = await vault.as(trialCaller('bank')).insert('accounts', records)
  return answer.records.map(({ id }) => id)
}

type StoredAccounts = ReadonlyMap<string, Readonly<Record<string, unknown>>>

async function storedAccounts(vault: TrialVault): Promise<StoredAccounts> {
  const stored = new Map<string, Readonly<Record<string, unknown>>>()
  for (let offset = 0; ; offset += PAGE) {
    const { records } = await vault.as(trialCaller('check')).get('accounts', { offset, limit: PAGE })
    for (const { fields } of records) stored.set(String(fields.login), fields)
    if (records.length < PAGE) return stored
  }
}

function loginsWith(stored: StoredAccounts, prefix: string): string[] {
  return [...stored.keys()].filter((login) => login.startsWith(prefix))
}

function checkBank(stored: StoredAccounts): string[] {
  const amounts = loginsWith(stored, 'bank ').map((login) => Number(stored.get(login)?.amount))
  const sum = amounts.reduce((total, amount) => total + amount, 0)
  return sum === ACCOUNTS * DEPOSIT ? [] : [`The bank holds ${sum}, not ${ACCOUNTS * DEPOSIT}.`]
}

function checkRaces(stored: StoredAccounts, results: readonly ContentionResult[]): string[] {
  const won = results.flatMap((result) => result.won)
  const failures = new Set(won).size === won.length ? [] : ['An insert of one unique value was won twice.']
  const kept = loginsWith(stored, 'race ').length
  return kept === won.length ? failures : [...failures, `${won.length} inserts were won, and ${kept} are stored.`]
}

/** Every column of a shared account was written by one upsert. */
function checkShared(stored: StoredAccounts): string[] {
  return loginsWith(stored, 'shared ').flatMap((login) => {
    const fields = stored.get(login) ?? {}
    const { code: _, ...expected } = fieldsOf({ number: Number(fields.amount) })
    const isWhole = Object.entries(expected).every(([column, value]) => String(fields[column]) === String(value))
    return isWhole ? [] : [`${login}: stored in part`]
  })
}

/** The application's row and both accounts are stored, or none of them. */
function checkHosted(stored: StoredAccounts, results: readonly ContentionResult[], rows: readonly string[]): string[] {
  const expected = results.flatMap(({ hosted }) => hosted).sort()
  const places = {
    'the application’s table': [...rows],
    'the first account': loginsWith(stored, 'host ').filter((login) => !login.startsWith('host too ')),
    'the second account': loginsWith(stored, 'host too '),
  }
  return Object.entries(places).flatMap(([place, found]) => {
    const requests = found.map((name) => name.replace(/^host (too )?/, '')).sort()
    return requests.join() === expected.join() ? [] : [`Host transactions differ in ${place}.`]
  })
}

async function checkCounters(vault: TrialVault, results: readonly ContentionResult[]): Promise<string[]> {
  const { records } = await vault.as(trialCaller('check')).get('counters', { limit: PAGE })
  return records.flatMap(({ fields: { name, plain, sealed } }) => {
    const expected = results.reduce((sum, { increments }) => sum + (increments[String(name)] ?? 0), 0)
    const isExact = Number(plain) === expected && Number(sealed) === expected
    return isExact ? [] : [`Counter ${name} is ${plain} in plain and ${sealed} sealed, not ${expected}.`]
  })
}

async function checkTrail(vault: TrialVault): Promise<string[]> {
  const trail = await vault.verifyAudit()
  return trail.ok ? [] : [`The audit trail is broken: ${JSON.stringify(trail.firstFailure)}`]
}
