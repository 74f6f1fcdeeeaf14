/** Storage failures at any step: nothing is returned, changed or half recorded, and the vault works afterwards. */
import { createHash } from 'node:crypto'
import { inspect } from 'node:util'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { VaultError } from '../../../src/core/errors.ts'
import type { Log, Vault } from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { type ClientSession, type Clients, eventsOf, openClients } from '../../support/audit/audited-clients.ts'
import { queryServer } from '../../support/postgres/query-server.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { type Call, type FaultOf, type FaultyStorage, faultyStorage } from '../../support/storages/faulty-storage.ts'
import type { StorageAddress } from '../../support/storages/open-storage.ts'
import { CLERK, OWNER } from '../../support/vaults/test-vault.ts'

const CANARY = 'Quetzalcoatl'
const EMAIL = `${CANARY}@acme.example`

/** The input of the operations below. */
interface Given {
  readonly session: ClientSession
  readonly id: string
  readonly token: string
}

type CallOf = (given: Given) => Promise<unknown>

/** One call of every verb that succeeds each time. */
const CALLS: Readonly<Record<string, CallOf>> = {
  insert: ({ session }) =>
    session.insert('clients', [{ fields: { name: CANARY } }, { fields: { name: 'b' } }], { tokenization: true }),
  'insert of many': ({ session }) =>
    session.insert(
      'clients',
      Array.from({ length: 40 }, () => ({ fields: { name: CANARY } })),
    ),
  upsert: ({ session }) => session.insert('clients', [{ fields: { name: CANARY, email: EMAIL } }], { upsert: 'email' }),
  get: ({ session, id }) => session.get('clients', { ids: [id], redaction: 'PLAIN_TEXT' }),
  'get by value': ({ session }) => session.get('clients', { where: { email: [EMAIL] } }),
  'get one': ({ session, id }) => session.getOne('clients', id),
  update: ({ session, id }) => session.updateOne('clients', id, { country: CANARY, salary: 7 }),
  tokenize: ({ session }) => session.tokenize([{ table: 'clients', column: 'email', value: EMAIL }]),
  detokenize: ({ session, token }) => session.detokenize([{ token }]),
  'get by tokens': ({ session, token }) => session.getByTokens([token], {}),
  query: ({ session }) => session.query(`SELECT name FROM clients WHERE email = '${EMAIL}'`),
  'list events': ({ session }) => session.listEvents({ filterOps: { accountID: 'v1' } }),
  'delete one': ({ session, id }) => session.deleteOne('clients', id),
  'delete all': ({ session }) => session.delete('orders', '*'),
}

/** Verbs whose success would remove what the next round needs. */
const CONSUMING = new Set(['delete one'])

const AUDIT_TABLES = new Set(['audit_events', 'audit_chains'])
const down = (): VaultError => new VaultError('unavailable', 'The storage cannot be reached. Try again.')

/** A failure, and whether it occurred. */
interface Fault {
  readonly faultOf: FaultOf
  hasFailed(): boolean
}

/** Fails the nth of the selected calls, from 1: only that one, or also all later ones. */
function nth(n: number, isAsked: (call: Call) => boolean, { forGood = false } = {}): Fault {
  let count = 0
  return {
    faultOf(call) {
      if (!isAsked(call)) return undefined
      count++
      return count === n || (forGood && count > n) ? down() : undefined
    },
    hasFailed: () => count >= n,
  }
}

/** A digest of everything in storage except the audit trail. */
async function recordsIn(faulty: FaultyStorage): Promise<string> {
  const tables = [...(await faulty.dump())].filter(([table]) => !AUDIT_TABLES.has(table))
  const text = JSON.stringify(tables, (_, cell) => (typeof cell === 'bigint' ? String(cell) : cell))
  return createHash('sha256').update(text).digest('hex')
}

/** A vault on a faulty storage. */
interface Opened {
  readonly faulty: FaultyStorage
  readonly vault: Vault<Clients>
  given: Given
}

/** The same with one record. */
async function open(sound: StorageHandle, log?: Log): Promise<Opened> {
  const faulty = faultyStorage(sound)
  const vault = await openClients(faulty.storage, log === undefined ? {} : { log })
  return { faulty, vault, given: await standing(vault.as(OWNER)) }
}

async function standing(session: ClientSession): Promise<Given> {
  const { records } = await session.insert('clients', [{ fields: { name: CANARY, email: EMAIL } }], { tokenization: true })
  return { session, id: records[0]?.id ?? '', token: records[0]?.tokens.email ?? '' }
}

/** Moves all heads as another process does, so that they are read. */
async function moveHeads({ storage }: FaultyStorage): Promise<void> {
  const heads = await storage.find('audit_chains', { kind: 'all' }, { order: 'asc', limit: 100 })
  await storage.update(
    'audit_chains',
    heads.map(({ id, version }) => ({ id, version, set: {} })),
  )
}

/** One failure to test. */
interface Trial {
  readonly fault: Fault
  readonly place: string
  /** Events of the failure itself that may be stored. */
  readonly mostEvents: number
}

const isAnyCall = ({ method }: Call): boolean => method !== 'committed'

/** Asserts what holds for every failed call. */
async function assertFailsClean(
  { faulty, vault, given }: Opened,
  call: CallOf,
  { fault, place, mostEvents }: Trial,
): Promise<boolean> {
  const [before, events] = [await recordsIn(faulty), await eventsOf(vault)]
  faulty.fail(fault.faultOf)
  const [outcome] = await Promise.allSettled([call(given)])
  faulty.mend()
  if (!fault.hasFailed()) return false
  expect(outcome, place).toMatchObject({ status: 'rejected', reason: { name: 'VaultError', code: 'unavailable' } })
  expect(inspect(outcome, { depth: 9, showHidden: true }), place).not.toContain(CANARY)
  expect(await recordsIn(faulty), place).toBe(before)
  const recorded = (await eventsOf(vault)).slice(events.length)
  expect(recorded.length, place).toBeLessThanOrEqual(mostEvents)
  for (const event of recorded) expect(event, place).toMatchObject({ code: 500 })
  return true
}

onEachStorage('storage faults', (engine) => {
  describe('in one call or all later calls return nothing and change nothing, and work continues afterwards', () => {
    it.each(Object.entries(CALLS))('%s', async (name, call) => {
      const opened = await open(engine.fresh().open())
      for (let n = 1; ; n++) {
        const place = `call ${n}`
        const forGood = { fault: nth(n, isAnyCall, { forGood: true }), place: `${place} and all after it`, mostEvents: 0 }
        const hasFailed = await assertFailsClean(opened, call, forGood)
        if (!hasFailed) break
        expect(await assertFailsClean(opened, call, { fault: nth(n, isAnyCall), place, mostEvents: 1 }), place).toBe(true)
        expect(n, 'the call goes on for ever').toBeLessThan(100)
      }
      if (CONSUMING.has(name)) opened.given = await standing(opened.given.session)
      await call(opened.given)
      expect(await opened.vault.verifyAudit()).toMatchObject({ ok: true })
    })
  })

  describe('in an audit table or the commit withhold reads, refusals and changes', () => {
    const steps: Readonly<Record<string, (call: Call) => boolean>> = {
      'the events': ({ method, table }) => method === 'insert' && table === 'audit_events',
      'the head': ({ method, table }) => method !== 'get' && method !== 'find' && table === 'audit_chains',
      'the head being read': ({ method, table }) => method === 'get' && table === 'audit_chains',
      'the commit': ({ method }) => method === 'commit',
    }
    it.each(Object.entries(steps))('without %s', async (step, isAsked) => {
      const opened = await open(engine.fresh().open())
      const { vault, given } = opened
      const refused: CallOf = () => vault.as(CLERK).getOne('clients', given.id)
      const bad: CallOf = ({ session }) => session.getOne('clients', CANARY)
      for (const [name, call] of Object.entries({ ...CALLS, refused, bad })) {
        const fault = nth(1, isAsked, { forGood: true })
        if (step === 'the head being read') await moveHeads(opened.faulty)
        expect(await assertFailsClean(opened, call, { fault, place: `${name} without ${step}`, mostEvents: 0 }), name).toBe(true)
      }
      expect(await vault.verifyAudit()).toMatchObject({ ok: true })
    })
  })

  it("are logged as a failure, without the engine's message", async () => {
    const lines: unknown[] = []
    const line = (...said: unknown[]): unknown => lines.push(said)
    const { faulty, vault, given } = await open(engine.fresh().open(), { info: line, warn: line, error: line })
    faulty.fail(({ table }) => (table === 'audit_events' ? new Error(`near "${CANARY}"`) : undefined))
    const [outcome] = await Promise.allSettled([given.session.getOne('clients', given.id)])
    faulty.mend()
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'internal' } })
    expect(inspect([outcome, lines], { depth: 9, showHidden: true })).not.toContain(CANARY)
    expect(lines).toMatchObject([[{ operation: 'GET', code: 'internal' }, 'audit event not stored']])
    expect(await vault.verifyAudit()).toMatchObject({ ok: true, eventCount: 1 })
  })

  it('in a shared commit fail all its members, or only the member that caused it', async () => {
    const { faulty, vault, given } = await open(engine.fresh().open())
    const clerk = vault.as(CLERK)
    const refusals = async (): Promise<unknown[]> => {
      const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => clerk.getOne('clients', given.id)))
      return outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code)
    }
    faulty.fail(nth(1, ({ method }) => method === 'commit').faultOf)
    expect(new Set(await refusals())).toEqual(new Set(['unavailable']))
    let times = 0
    const odd = new VaultError('internal', 'The engine refused a statement.')
    faulty.fail(({ method }) => (method === 'commit' && ++times <= 2 ? odd : undefined))
    const codes = await refusals()
    faulty.mend()
    expect(codes.sort()).toEqual([...Array.from({ length: 19 }, () => 'forbidden'), 'internal'])
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 1 + 19 })
  })

  it('in the reply to a commit are resolved by the event: if it is stored, so is the change', async () => {
    const { faulty, vault, given } = await open(engine.fresh().open())
    faulty.fail(nth(1, ({ method }) => method === 'committed').faultOf)
    const { records } = await given.session.insert('orders', [{ fields: { memo: 'm' } }])
    faulty.mend()
    expect((await eventsOf(vault)).map(({ code }) => code)).toEqual([200, 200])
    expect((await given.session.get('orders')).records.map(({ id }) => id)).toEqual(records.map(({ id }) => id))
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 3 })
  })

  it('inside a transaction can be caught, and the commit is complete', async () => {
    const { faulty, vault, given } = await open(engine.fresh().open())
    await vault.transaction(async (inside) => {
      const session = inside.as(OWNER)
      await session.insert('orders', [{ fields: { memo: 'one' } }])
      for (const table of AUDIT_TABLES) {
        faulty.fail((call) => (call.table === table ? down() : undefined))
        await expect(session.insert('orders', [{ fields: { memo: 'two' } }])).rejects.toMatchObject({ code: 'unavailable' })
        await expect(session.getOne('clients', given.id)).rejects.toMatchObject({ code: 'unavailable' })
        faulty.mend()
      }
      await session.insert('orders', [{ fields: { memo: 'three' } }])
    })
    const { records } = await given.session.get('orders', { redaction: 'PLAIN_TEXT' })
    expect(records.map(({ fields }) => fields.memo)).toEqual(['one', 'three'])
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 1 + 2 + 1 })
  })

  it('after a commit of unknown outcome leave it unknown, though no event of the failure can be stored', async () => {
    const { faulty, given } = await open(engine.fresh().open())
    let isLost = false
    faulty.fail(({ method }) => {
      if (isLost) return down()
      isLost = method === 'committed'
      return isLost ? new VaultError('outcome_unknown', 'The connection was lost during COMMIT.') : undefined
    })
    await expect(given.session.insert('orders', [{ fields: { memo: 'perhaps' } }])).rejects.toMatchObject({
      code: 'outcome_unknown',
    })
    faulty.mend()
    const { records } = await given.session.get('orders', { redaction: 'PLAIN_TEXT' })
    expect(records.map(({ fields }) => fields.memo)).toEqual(['perhaps'])
  })

  it('that are lost to other writers do not send the caller to the storage', async () => {
    const { faulty, given } = await open(engine.fresh().open())
    const lost = 'The transaction lost to others. Run it again.'
    faulty.fail(({ table }) => (table === 'audit_events' ? new VaultError('aborted', lost) : undefined))
    const message = `Get failed. The audit event could not be stored, so no result is returned. ${lost}`
    await expect(given.session.getOne('clients', given.id)).rejects.toMatchObject({ code: 'aborted', message })
  })

  it('that no retry mends are internal, and the error does not say to retry', async () => {
    const place = engine.fresh()
    const address = place.address()
    const { faulty, vault, given } = await open(place.open())
    const { session } = given
    if (address === undefined) {
      faulty.fail(({ table }) => (table === 'audit_events' ? new VaultError('unprocessable', 'The row is too long.') : undefined))
    } else await dropEvents(address)
    for (const call of [() => session.getOne('clients', given.id), () => vault.as(CLERK).getOne('clients', given.id)]) {
      const failure: unknown = await call().catch((error: unknown) => error)
      expect(failure).toMatchObject({ code: 'internal', message: expect.stringContaining('event could not be stored') })
      expect(String(failure)).not.toMatch(/retry/i)
    }
    await expect(session.insert('orders', [{ fields: { memo: 'm' } }])).rejects.toMatchObject({ code: 'internal' })
  })
})

/** Takes the table of events away, behind the vault's back. */
async function dropEvents(address: StorageAddress): Promise<void> {
  if (address.engine === 'sqlite') new Database(address.filename).exec('drop table audit_events').close()
  else await queryServer(address.url, `drop table ${address.schema}.audit_events`)
}
