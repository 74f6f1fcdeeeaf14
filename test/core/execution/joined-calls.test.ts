/** Calls that come together: whatever runs as one answers and records as if it were alone, on every storage. */
import { expect, it } from 'vitest'
import type { Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { type Caller, column, mask, VaultError } from '../../../src/index.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { type SeededRandom, seededRandom } from '../../support/random/seeded-random.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { asLoose, type LooseSession, type LooseStored, type LooseVault, openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const TABLES = {
  people: {
    name: column.string({ token: 'random', redaction: 'MASKED', mask: mask.keepFirst(1) }),
    ssn: column.string({ token: 'deterministic', redaction: 'PLAIN_TEXT' }),
    region: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
  },
  pets: { name: column.string({ token: 'deterministic', redaction: 'PLAIN_TEXT' }) },
}

const POLICY = {
  north: [{ effect: 'ALLOW', actions: ['READ', 'DETOKENIZATION', 'TOKENIZATION'], on: ['people.*'], where: "region = 'north'" }],
  own: [{ effect: 'ALLOW', actions: ['READ', 'DETOKENIZATION', 'TOKENIZATION'], on: ['people.*'], where: 'region = ctx.region' }],
  plain: [{ effect: 'ALLOW', actions: ['READ', 'DETOKENIZATION'], on: ['*'], redaction: 'PLAIN_TEXT' }],
} as const

const ROLES = ['VAULT_OWNER', 'VAULT_VIEWER', 'VAULT_EDITOR', 'north', 'own', 'plain', 'none']

const COUNT = 24

interface Opened extends LooseVault {
  readonly people: readonly LooseStored[]
  readonly pets: readonly LooseStored[]
}

async function open(storage: StorageHandle, audit: 'on' | 'off' = 'on'): Promise<Opened> {
  const opened = await openLoose(storage, TABLES, { policy: POLICY, audit })
  const numbers = Array.from({ length: COUNT }, (_, number) => number)
  const people = numbers.map((number) => ({
    fields: { name: `name ${number}`, ssn: `${number % 5}`, region: number % 2 === 0 ? 'north' : 'south' },
  }))
  const pets = numbers.map((number) => ({ fields: { name: `pet ${number}` } }))
  const options = { tokenization: true }
  return {
    ...opened,
    people: (await opened.session.insert('people', people, options)).records,
    pets: (await opened.session.insert('pets', pets, options)).records,
  }
}

/** One call, by a caller of its own. */
interface Call {
  readonly caller: Caller
  run(session: LooseSession): Promise<unknown>
}

/** Returns a random call. Some of them are refused. */
function randomCall({ people, pets }: Opened, random: SeededRandom, requestID: string): Call {
  const caller: Caller = {
    actor: random.pick(['ann@acme.example', 'bo@acme.example']),
    actorType: 'USER',
    roles: random.sample(ROLES, 1 + random.below(2)),
    context: { region: random.pick(['north', 'south']) },
    request: { requestID },
  }
  const table = random.pick(['people', 'people', 'pets', 'no table'])
  const records = table === 'pets' ? pets : people
  const idOf = () => (random.chance(0.1) ? random.pick(['', 'no id', ...pets.map(({ id }) => id)]) : random.pick(records).id)
  const tokenOf = () => (random.chance(0.1) ? 'no token' : (random.pick(Object.values(random.pick(records).tokens)) ?? ''))
  const redaction = random.pick([undefined, 'PLAIN_TEXT', 'MASKED', 'REDACTED', 'wrong'])
  const several = <T>(one: () => T): T[] => Array.from({ length: 1 + random.below(random.chance(0.1) ? 20 : 3) }, one)
  const onLowered = random.chance(0.1) ? { onLowered: 'throw' } : {}
  const show = { redaction, ...onLowered, ...(random.chance(0.2) ? { fields: ['name'] } : {}) }
  const [id, ids, downloadTickets] = [idOf(), several(idOf), random.chance(0.1)]
  const parameters = several(() => ({ token: tokenOf(), redaction }))
  const continueOnError = random.chance(0.5)
  const values = several(() => ({ value: `${random.below(7)}`, table: 'people', column: random.pick(['ssn', 'ssn', 'name']) }))
  return {
    caller,
    run: random.pick<Call['run']>([
      (session) => session.getOne(table, id, show),
      (session) => session.getOne(table, id, { tokenization: true, downloadTickets }),
      (session) => session.get(table, { ids, ...show }),
      (session) => session.get(table, { ids, limit: 1, orderBy: 'DESCENDING' }),
      (session) => session.detokenize(parameters, { continueOnError, ...onLowered }),
      (session) => session.tokenize(values),
    ]),
  }
}

/** How a call ended: its result, or what its caller sees of the error. */
async function endOf(opened: Opened, { caller, run }: Call): Promise<unknown> {
  try {
    return await run(asLoose(opened.vault.as(caller)))
  } catch (error) {
    if (!VaultError.isGenuine(error)) throw error
    const { code, message, details } = error
    return { code, message, details }
  }
}

/** The events of the requests with these ids, by code, without what differs between two runs. */
async function recordedFor(opened: Opened, requestIDs: readonly string[]): Promise<unknown[]> {
  const byRequest = new Map<string, unknown[]>()
  const events = await eventsOf(opened.vault)
  // The events of one call can be in two chains, with equal times.
  for (const event of events.sort((left, right) => left.code - right.code)) {
    const { timestamp: _timestamp, changeID: _changeID, position: _position, ...recorded } = event
    const { requestID, traceID: _traceID, ...context } = recorded.context
    byRequest.set(requestID, [...(byRequest.get(requestID) ?? []), { ...recorded, context }])
  }
  return requestIDs.map((requestID) => byRequest.get(requestID))
}

/** A storage that counts reads of rows by their ids outside transactions, and can fail them. */
function countingStorage(sound: StorageHandle) {
  const reads = { count: 0, fails: false }
  const get: Storage['get'] = async (table, ids) => {
    reads.count++
    if (reads.fails) throw new VaultError('unavailable', 'The storage cannot be reached.')
    return sound.get(table, ids)
  }
  return { reads, storage: { ...withoutReadingCommits(sound), get } satisfies StorageHandle }
}

/** The storage, which stores no changes with a row that is read: a record that is read and recorded in one call and fails authentication has two events. */
function withoutReadingCommits(storage: StorageHandle): StorageHandle {
  return { ...storage, commit: async (changes, { read } = {}) => read === undefined && storage.commit(changes) }
}

/** Changes rows as a writer of the database could: bodies and digests of other rows, plain cells, and rows that are gone. */
async function tamper(storage: StorageHandle, random: SeededRandom): Promise<void> {
  const table = 'records_1_people'
  const rows = await storage.find(table, { kind: 'all' }, { order: 'asc', limit: COUNT })
  const [bodies, digests, cells, deleted, source] = random.sample(rows, 5)
  if (source === undefined || deleted === undefined) throw new Error('too few rows')
  const patches = [
    { row: bodies, set: { body: source.body ?? null } },
    { row: digests, set: { digest_3_ssn: source.digest_3_ssn ?? null } },
    { row: cells, set: { plain_4_region: 'changed' } },
  ]
  for (const { row, set } of patches) {
    if (row !== undefined) await storage.update(table, [{ id: row.id, version: row.version, set }])
  }
  await storage.delete(table, { ids: [deleted.id] })
}

onEachStorage('calls that come together', (engine) => {
  it.each(['sound', 'tampered'])(
    'answer and record what each answers and records alone, with any caller and any input, in a %s database',
    async (state) => {
      const storage = engine.fresh().open()
      const opened = await open(state === 'tampered' ? withoutReadingCommits(storage) : storage)
      const random = seededRandom(`joined-calls ${state}`)
      if (state === 'tampered') await tamper(opened.storage, random)
      const indexes = Array.from({ length: 300 }, (_, index) => index)
      const callsOf = (run: string) => indexes.map((index) => randomCall(opened, random.fork(`call ${index}`), `${run}-${index}`))
      const alone: unknown[] = []
      for (const call of callsOf('alone')) alone.push(await endOf(opened, call))
      const together = await Promise.all(callsOf('together').map((call) => endOf(opened, call)))
      expect(together.map(withoutTickets)).toEqual(alone.map(withoutTickets))
      const [first, second] = await Promise.all(
        ['alone', 'together'].map((run) =>
          recordedFor(
            opened,
            indexes.map((index) => `${run}-${index}`),
          ),
        ),
      )
      expect(second).toEqual(first)
      expect(new Set(together.map((end) => Object(end).code)).size).toBeGreaterThan(4)
    },
  )

  it('read the rows of many callers with few calls of the storage, and those of one caller at once', async () => {
    const { reads, storage } = countingStorage(engine.fresh().open())
    const { vault, people, pets } = await open(storage, 'off')
    const callers = Array.from({ length: 60 }, (_, index) => ({ ...OWNER, actor: `caller-${index}@acme.example` }))
    reads.count = 0
    await Promise.all(callers.map((caller, index) => asLoose(vault.as(caller)).getOne('people', people[index % COUNT]?.id ?? '')))
    await Promise.all(
      callers.map((caller, index) =>
        asLoose(vault.as(caller)).detokenize([{ token: pets[index % COUNT]?.tokens.name, redaction: 'PLAIN_TEXT' }]),
      ),
    )
    expect(reads.count).toBeLessThan(20)
  })

  it('join from the first one on, if those before came together', async () => {
    const { reads, storage } = countingStorage(engine.fresh().open())
    const { session, people } = await open(storage, 'off')
    const readsOf = async (count: number): Promise<number> => {
      reads.count = 0
      await Promise.all(people.slice(0, count).map(({ id }) => session.getOne('people', id)))
      return reads.count
    }
    expect(await readsOf(3)).toBe(3)
    await readsOf(24)
    expect(await readsOf(3)).toBe(1)
    // Three are few again.
    expect(await readsOf(3)).toBe(3)
  })

  it('fail alone: a damaged record is the error of its own caller', async () => {
    const storage = engine.fresh().open()
    const { vault, people } = await open(storage)
    const [damaged, ...sound] = await storage.find('records_1_people', { kind: 'all' }, { order: 'asc', limit: 8 })
    if (damaged === undefined) throw new Error('no rows')
    await storage.update('records_1_people', [{ id: damaged.id, version: damaged.version, set: { body: new Uint8Array(64) } }])
    const ids = people.slice(0, 1 + sound.length).map(({ id }) => id)
    const ends = await Promise.allSettled(ids.map((id) => asLoose(vault.as(OWNER)).getOne('people', id)))
    expect(ends.map(({ status }) => status)).toEqual(['rejected', ...sound.map(() => 'fulfilled')])
    expect(ends[0]).toMatchObject({ reason: { code: 'data_loss', details: [{ id: ids[0] }] } })
  })

  it('all fail if the storage cannot be reached, each with its event, and later ones succeed', async () => {
    const { reads, storage } = countingStorage(engine.fresh().open())
    const opened = await open(storage)
    const ids = opened.people.map(({ id }) => id)
    const readAll = (run: string) =>
      Promise.allSettled(
        ids.map((id, index) =>
          asLoose(opened.vault.as({ ...OWNER, request: { requestID: `${run}-${index}` } })).getOne('people', id),
        ),
      )
    reads.fails = true
    const failed = await readAll('failed')
    reads.fails = false
    for (const end of failed) expect(end).toMatchObject({ reason: { code: 'unavailable' } })
    const recorded = await recordedFor(
      opened,
      ids.map((_, index) => `failed-${index}`),
    )
    for (const events of recorded) expect(events).toMatchObject([{ action: 'GET', code: 500 }])
    expect((await readAll('later')).every(({ status }) => status === 'fulfilled')).toBe(true)
  })

  it('end with their results if the vault is closed meanwhile, also when they are more than run as one', async () => {
    const { vault, people } = await open(engine.fresh().open())
    const session = asLoose(vault.as(OWNER))
    const reads = Array.from({ length: 600 }, (_, index) => session.getOne('people', people[index % COUNT]?.id ?? ''))
    const closing = vault.close()
    await expect(session.getOne('people', people[0]?.id ?? '')).rejects.toMatchObject({ code: 'failed_precondition' })
    const read = await Promise.all(reads)
    expect(read.map(({ id }) => id)).toEqual(read.map((_, index) => people[index % COUNT]?.id))
    await closing
  })

  it('in a transaction see its changes, also beside calls outside', async () => {
    const { vault, people } = await open(engine.fresh().open())
    const [{ id }] = people.slice(0, 1) as [LooseStored] // There are 24.
    const inside = await vault.transaction(async (within) => {
      const session = asLoose(within.as(OWNER))
      await session.updateOne('people', id, { region: 'changed' })
      return Promise.all(Array.from({ length: 8 }, () => session.getOne('people', id)))
    })
    expect(inside.map(({ fields }) => fields.region)).toEqual(inside.map(() => 'changed'))
  })
})

/** Tickets are sealed with fresh random bytes, so two of them are never equal. */
function withoutTickets(end: unknown): unknown {
  return typeof end === 'object' && end !== null && 'downloadTickets' in end ? { ...end, downloadTickets: 'tickets' } : end
}
