/** A process whose callers all change the same records. Started by contention-trial.ts; prints what it did as JSON. */
import { isVaultError } from '../../../src/index.ts'
import { randomFor, type SeededRandom } from '../random/seeded-random.ts'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { beginTogether } from './begin-together.ts'
import { hostDatabase } from './host-database.ts'
import { fieldsOf, openTrialVault, type TrialVault, trialCaller } from './trial-vault.ts'
import { COUNTERS, increment } from './writer.ts'

/** What a process is started with, as JSON in its first argument. */
export interface ContentionProcess {
  readonly address: StorageAddress
  readonly name: string
  readonly seed: string
  readonly callers: number
  readonly milliseconds: number
  /** Ids of the accounts of the bank, whose sum no transfer changes. */
  readonly bank: readonly string[]
  /** Breaks the promise on purpose, for the negative control: transfers outside of a transaction. */
  readonly isTorn: boolean
}

/** What a process did. */
export interface ContentionResult {
  operations: number
  /** How often each counter was incremented. */
  readonly increments: Record<string, number>
  /** Logins whose insert this process won. */
  readonly won: string[]
  /** Rows of host transactions that committed. */
  readonly hosted: string[]
  /** Errors that no caller should get. */
  readonly unexpected: string[]
}

const options: ContentionProcess = JSON.parse(process.argv[2] ?? '')
const vault = await openTrialVault(openStorage(options.address))
const host = hostDatabase(options.address)
const result: ContentionResult = { operations: 0, increments: {}, won: [], hosted: [], unexpected: [] }
await beginTogether()
const until = performance.now() + options.milliseconds

type Step = (random: SeededRandom, request: string) => Promise<void>

async function count(random: SeededRandom, request: string): Promise<void> {
  const name = random.pick(COUNTERS)
  await increment(vault, name, request)
  result.increments[name] = (result.increments[name] ?? 0) + 1
}

/** One of all callers can insert a login. */
async function race(_: SeededRandom, request: string): Promise<void> {
  const login = `race ${Math.floor(Date.now() / 40)}`
  try {
    await vault.as(trialCaller(request)).insert('accounts', [{ fields: { login, ...fieldsOf({ number: 7 }) } }])
    result.won.push(login)
  } catch (error) {
    if (!isVaultError(error, 'conflict')) throw error
  }
}

/** Upserts of the same two logins, in a list. */
async function share(random: SeededRandom, request: string): Promise<void> {
  const state = { number: random.below(1_000_000_000) }
  const logins = [`shared ${random.below(10)}`, `shared ${10 + random.below(10)}`]
  const records = logins.map((login) => ({ fields: { login, ...fieldsOf(state) } }))
  await vault.as(trialCaller(request)).insert('accounts', records, { upsert: 'login' })
}

class RolledBack extends Error {}

/** Moves an amount between two accounts. Each is locked by an update before it is read. */
async function transfer(random: SeededRandom, request: string): Promise<void> {
  const [from = '', to = ''] = random.sample(options.bank, 2).sort()
  const amount = random.below(50)
  if (options.isTorn) return move(vault, request, { [from]: -amount, [to]: amount })
  try {
    await vault.transaction(async (transaction) => {
      const session = transaction.as(trialCaller(request))
      for (const id of [from, to]) await session.updateOne('accounts', id, { note: request })
      await move(transaction, request, { [from]: -amount, [to]: amount })
      if (amount % 10 === 3) throw new RolledBack()
    })
  } catch (error) {
    if (!(error instanceof RolledBack)) throw error
  }
}

async function move(place: Pick<TrialVault, 'as'>, request: string, changes: Readonly<Record<string, number>>): Promise<void> {
  const session = place.as(trialCaller(request))
  for (const [id, change] of Object.entries(changes)) {
    const { fields } = await session.getOne('accounts', id)
    await session.updateOne('accounts', id, { amount: Number(fields.amount) + change })
  }
}

/** A row of the application and two accounts, in one transaction of the application. */
async function join(random: SeededRandom, request: string): Promise<void> {
  const undo = random.chance(0.25)
  await host.transaction(request, undo, async (handle) => {
    const session = vault.withTransaction(handle).as(trialCaller(request))
    for (const login of [`host ${request}`, `host too ${request}`]) {
      await session.insert('accounts', [{ fields: { login, ...fieldsOf({ number: 3 }) } }])
    }
  })
  if (!undo) result.hosted.push(request)
}

async function read(random: SeededRandom, request: string): Promise<void> {
  await vault.as(trialCaller(request)).get('accounts', { offset: random.below(50), limit: 25 })
}

const STEPS: readonly Step[] = [count, race, share, share, transfer, join, read]

await Promise.all(
  Array.from({ length: options.callers }, async (_, caller) => {
    const random = randomFor(`${options.seed} ${options.name} ${caller}`)
    for (let number = 0; performance.now() < until; number++) {
      const step = random.pick(STEPS)
      const request = `${options.name}.${caller}#${number}`
      try {
        await step(random, request)
        result.operations++
      } catch (error) {
        result.unexpected.push(`${request} (${step.name}): ${String(error)}`)
      }
    }
  }),
)
await vault.close()
await host.close()
process.stdout.write(JSON.stringify(result))
