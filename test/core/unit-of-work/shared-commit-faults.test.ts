/** Calls that share storage calls and commits, with a storage that fails at random: each answer has its event, and each event its change. */
import { expect, it } from 'vitest'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { column, VaultError } from '../../../src/index.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { type SeededRandom, seededRandom } from '../../support/random/seeded-random.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { type Call, faultyStorage } from '../../support/storages/faulty-storage.ts'
import { asLoose, type LooseSession, type LooseVault, openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const CALLS = 60
const ROUNDS = 12

/** A table with a column for each call, so that every change can be seen in the end. */
const TABLES = {
  wide: {
    key: column.string({ unique: true }),
    code: column.string({ token: 'deterministic' }),
    ...Object.fromEntries(Array.from({ length: CALLS }, (_, n) => [`c${n}`, column.string({ redaction: 'PLAIN_TEXT' })])),
  },
}

const METHODS = ['begin', 'commit', 'committed', 'get', 'find', 'update', 'insert'] as const satisfies readonly Call['method'][]
const LOST = [new VaultError('unavailable', 'Lost.'), new VaultError('outcome_unknown', 'Lost during COMMIT.')]
const REFUSED = [
  LOST[0],
  new Error('a defect'),
  new VaultError('storage_full', 'Full.'),
  new VaultError('aborted', 'Lost to others.'),
]

/** Returns faults of some calls of one method, at first or later. After a commit only a lost storage is possible. */
function randomFaults(random: SeededRandom): (call: Call) => Error | undefined {
  const method = random.pick(METHODS)
  const error = random.pick(method === 'committed' ? LOST : REFUSED)
  const first = random.below(30)
  const last = first + random.pick([1, 2, 20, 1000])
  let count = 0
  return (call) => {
    if (call.method !== method) return undefined
    count++
    return count > first && count <= last ? error : undefined
  }
}

/** One call, and how it ended. */
interface Ended {
  readonly n: number
  readonly isChange: boolean
  readonly error: unknown
}

/** The record that all calls are about, and the caller of one of them. */
interface RandomCall {
  readonly session: LooseSession
  readonly random: SeededRandom
  readonly record: { readonly id: string; readonly token: string }
}

async function runRandom({ session, random, record }: RandomCall, n: number): Promise<Ended> {
  const value = { [`c${n}`]: `value ${n}` }
  const [isChange, run] = random.pick<readonly [boolean, () => Promise<unknown>]>([
    [true, () => session.updateOne('wide', record.id, value)],
    [true, () => session.insert('wide', [{ fields: { key: 'key', ...value } }], { upsert: 'key' })],
    [true, () => session.updateOne('wide', record.id, { key: 'taken', ...value })],
    [false, () => session.getOne('wide', record.id)],
    [false, () => session.detokenize([{ token: record.token }])],
    [false, () => session.tokenize([{ table: 'wide', column: 'code', value: 'code' }])],
  ])
  try {
    await run()
    return { n, isChange, error: undefined }
  } catch (error) {
    return { n, isChange, error }
  }
}

/** True for an error after which a change may be stored. */
function isUnknown(error: unknown): boolean {
  return error instanceof VaultError && (error.code === 'unavailable' || error.code === 'outcome_unknown')
}

/** Number of successes in the events of each request. */
async function successesOf(vault: LooseVault['vault']): Promise<Map<string, number>> {
  const successes = new Map<string, number>()
  for (const { code, context } of await eventsOf(vault)) {
    if (code === 200) successes.set(context.requestID, (successes.get(context.requestID) ?? 0) + 1)
  }
  return successes
}

/** Checks one call against the number of its events of success, and the value of its column in the end. */
function assertRecorded({ isChange, error, n }: Ended, successes: number, stored: unknown): void {
  if (error === undefined) expect(successes).toBe(1)
  else expect(error).toBeInstanceOf(VaultError)
  if (error !== undefined && !isUnknown(error)) expect(successes).toBe(0)
  if (isChange) expect(stored).toBe(successes === 1 ? `value ${n}` : null)
}

/** Runs the calls of one round, and returns how many failed. */
async function runRound(opened: StorageHandle, random: SeededRandom): Promise<number> {
  const { storage, fail, mend } = faultyStorage(opened)
  const { vault, session } = await openLoose(storage, TABLES)
  const { records } = await session.insert('wide', [{ fields: { key: 'key', code: 'code' } }], { tokenization: true })
  await session.insert('wide', [{ fields: { key: 'taken' } }])
  const record = { id: records[0]?.id ?? '', token: records[0]?.tokens.code ?? '' }
  const sessionOf = (n: number) => asLoose(vault.as({ ...OWNER, request: { requestID: `call ${n}` } }))
  fail(randomFaults(random))
  const ends = await Promise.all(Array.from({ length: CALLS }, (_, n) => runRandom({ session: sessionOf(n), random, record }, n)))
  mend()
  const { fields } = await session.getOne('wide', record.id)
  const successes = await successesOf(vault)
  for (const end of ends) assertRecorded(end, successes.get(`call ${end.n}`) ?? 0, fields[`c${end.n}`])
  expect((await vault.verifyAudit()).ok).toBe(true)
  return ends.filter(({ error }) => error !== undefined).length
}

onEachStorage('calls that share commits', (engine) => {
  it('answer only with their event, and store a change only with its event, whatever call of the storage fails', async () => {
    const random = seededRandom(`shared-commit-faults ${engine.name}`)
    let failures = 0
    for (let round = 0; round < ROUNDS; round++) failures += await runRound(engine.fresh().open(), random)
    expect(failures).toBeGreaterThan(CALLS)
  })
})
