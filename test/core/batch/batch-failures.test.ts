/** Batches whose input is malformed, whose storage or commit fails, and which meet others. */
import { expect, test } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/index.ts'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column, defineSchema, VaultError } from '../../../src/index.ts'
import { eventsOf, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import { interposedStorage } from '../../support/storages/interposed-storage.ts'
import { hostileInputs } from '../../support/vaults/hostile-inputs.ts'
import { asLoose, openLoose } from '../../support/vaults/open-untyped.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const post = (email: string) => ({ insert: 'clients', fields: { name: 'Ann', email } }) as const
const addresses = (count: number) => Array.from({ length: count }, (_, index) => `p${index}@acme.example`)

onEachStorage('a batch', (engine) => {
  test('whose commit fails is no success, and nothing is visible', async () => {
    const faulty = faultyStorage(engine.fresh().open())
    const vault = await openClients(faulty.storage)
    const session = vault.as(OWNER)
    let commits = 0
    faulty.fail(({ method }) => {
      // The transaction itself commits last: after its savepoints.
      if (method !== 'commit') return undefined
      commits++
      return commits >= 3 ? new VaultError('unavailable', 'The storage is gone.') : undefined
    })
    const missing = { get: 'clients', id: 'missing' } as const
    const items = [...addresses(2).map(post), missing]
    await expect(session.batch(items, { continueOnError: true })).rejects.toMatchObject({ code: 'unavailable' })
    expect(commits).toBeGreaterThanOrEqual(3)
    faulty.mend()
    expect((await session.get('clients')).records).toEqual([])
  })

  test('whose commit is in doubt is a success if its event is stored', async () => {
    const faulty = faultyStorage(engine.fresh().open())
    const vault = await openClients(faulty.storage)
    let depth = 0
    faulty.fail(({ method }) => {
      if (method === 'begin') depth++
      if (method === 'committed') depth--
      const isOutermost = method === 'committed' && depth === 0
      return isOutermost ? new VaultError('outcome_unknown', 'The connection was lost during COMMIT.') : undefined
    })
    const { responses } = await vault.as(OWNER).batch(addresses(2).map(post))
    faulty.mend()
    expect(responses.map(({ ok }) => ok)).toEqual([true, true])
    expect((await vault.as(OWNER).get('clients')).records).toHaveLength(2)
  })

  test('of 1,000 items has one of each result, and 1,001 are refused', async () => {
    const vault = await openClients(engine.fresh().open())
    const session = vault.as(OWNER)
    const { responses } = await session.batch(addresses(1000).map(post))
    const ids = responses.map(({ value }) => value.id)
    expect(new Set(ids).size).toBe(1000)
    const read = await session.batch(ids.map((id) => ({ get: 'clients', id }) as const))
    expect(read.responses.map(({ value }) => value.fields.email)).toEqual(addresses(1000))
    const [, last] = (await eventsOf(vault)).map(({ nested }) => nested)
    expect(last).toHaveLength(1)
    const listed = await session.listEvents({ filterOps: { accountID: 'v1', resourceIDs: [`RECORD/${ids[999]}`] } })
    expect(listed.events.map(({ response }) => response.nestedResponse?.[999]?.identifier)).toEqual([
      `RECORD/${ids[999]}`,
      `RECORD/${ids[999]}`,
    ])
    await expect(session.batch(addresses(1001).map(post))).rejects.toMatchObject({ code: 'limit_exceeded' })
  })

  test('gives every hostile item an error of the vault, and stores the others', async () => {
    const vault = await openClients(engine.fresh().open())
    const session = asBatching(vault.as(OWNER))
    for (const [name, input] of hostileInputs()) {
      for (const item of [input, { ...post('x@acme.example'), fields: input }, { get: input }, { get: 'clients', id: input }]) {
        const { responses } = await session.batch([item, { get: 'clients', id: 'none' }], {
          continueOnError: true,
        })
        const [first] = responses
        const isPlain = first?.ok === true || first?.error instanceof VaultError
        expect(isPlain, `${name}: ${String(Object.keys(Object(first)))}`).toBe(true)
      }
    }
    for (const [name, input] of hostileInputs()) {
      const refusal = await session.batch(input, {}).catch((error: unknown) => error)
      expect(refusal, name).toBeInstanceOf(VaultError)
    }
    expect((await vault.verifyAudit()).ok).toBe(true)
  })

  test('reads each member once, and records the columns that it stores', async () => {
    const vault = await openClients(engine.fresh().open())
    let reads = 0
    const item = {
      ...post('a@acme.example'),
      get fields() {
        reads++
        return reads < 3 ? { name: 'Ann' } : { name: 'Ann', salary: 5 }
      },
    }
    const session = asBatching(vault.as(OWNER))
    const pending = session.batch([item, { insert: 'orders', fields: {} }], {})
    await pending
    const [event] = await eventsOf(vault)
    const { records } = await vault.as(OWNER).get('clients')
    const named = JSON.parse(event?.nested?.[0]?.content ?? '').records[0].fields
    expect(Object.keys(named)).toEqual(
      Object.entries(records[0]?.fields ?? {}).flatMap(([name, value]) => (value === null ? [] : [name])),
    )
  })

  test('takes a list with holes and own __proto__ members as malformed items', async () => {
    const vault = await openClients(engine.fresh().open())
    const holes = new Array(3)
    holes[1] = post('a@acme.example')
    const polluted = JSON.parse('{"insert":"clients","fields":{"name":"Ann"},"__proto__":{"upsert":"email"}}')
    const { responses } = await asBatching(vault.as(OWNER)).batch([...holes, polluted], { continueOnError: true })
    expect(responses.map(({ ok }) => ok)).toEqual([false, true, false, false])
    await expect(asBatching(vault.as(OWNER)).batch([], {})).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test('refuses members that do not belong to a method, and names the item', async () => {
    const vault = await openClients(engine.fresh().open())
    const session = asBatching(vault.as(OWNER))
    const wrong = [
      { id: 'x' },
      { get: 'clients', insert: 'clients', id: 'x' },
      { get: 'clients' },
      { update: 'clients', fields: {} },
      { delete: 'clients', id: '' },
      { delete: 'clients', id: 'x', fields: {} },
      { insert: 'clients', id: 'x', fields: {} },
      { update: 'clients', id: 'x', fields: {}, upsert: 'email' },
      { get: 'clients', id: 'x', downloadTickets: 'yes' },
      { get: 'clients', id: 'x', other: 1 },
      { get: 7, id: 'x' },
    ]
    for (const item of wrong) {
      await expect(session.batch([post('a@acme.example'), item], {})).rejects.toMatchObject({
        code: 'invalid_request',
        details: [{ index: 1 }],
      })
    }
    expect((await vault.as(OWNER).get('clients')).records).toEqual([])
  })

  test('runs again as a whole if another process changed the schema meanwhile', async () => {
    const place = engine.fresh()
    const moved = interposedStorage(place.open())
    const tables = { notes: { text: column.string({ redaction: 'PLAIN_TEXT' }) } }
    const { session } = await openLoose(moved.storage, tables)
    const wasDone = moved.interpose({
      isDue: ({ method }) => method === 'begin',
      async work() {
        await openLoose(place.open(), { notes: { ...tables.notes, more: column.string() } })
      },
    })
    const { responses } = await asBatching(session).batch([{ insert: 'notes', fields: { text: 'a' } }], {})
    expect(wasDone()).toBe(true)
    expect(responses).toMatchObject([{ ok: true }])
    expect((await session.get('notes')).records).toHaveLength(1)
  })

  test('two batches that write the same records in opposite order both succeed', async () => {
    const place = engine.fresh()
    const [left, right] = [await openClients(place.open()), await openClients(place.open())]
    const { records } = await left.as(OWNER).insert(
      'clients',
      addresses(2).map((email) => ({ fields: { name: 'Ann', email } })),
    )
    const rename = (id: string, name: string) => ({ update: 'clients', id, fields: { name } }) as const
    const read = (id: string) => ({ get: 'clients', id }) as const
    const ids = records.map(({ id }) => id)
    for (let round = 0; round < 10; round++) {
      // A read after each write keeps the writes apart.
      const inOrder = (name: string, order: readonly string[]) => order.flatMap((id) => [rename(id, name), read(id)])
      await Promise.all([
        left.as(OWNER).batch(inOrder(`left ${round}`, ids)),
        right.as(OWNER).batch(inOrder(`right ${round}`, ids.toReversed())),
      ])
      const { records: now } = await left.as(OWNER).get('clients', { ids, redaction: 'PLAIN_TEXT' })
      expect(new Set(now.map(({ fields }) => fields.name)).size).toBe(1)
    }
    const events = (await eventsOf(left)).filter(({ action }) => action === 'BATCH')
    expect(events.map(({ code }) => code)).toEqual(events.map(() => 200))
    expect(events).toHaveLength(20)
  })
})

/** A session whose batches are not typed. */
interface Batching {
  batch(items: unknown, options: object): Promise<{ responses: { ok: boolean; value?: unknown; error?: unknown }[] }>
}

function asBatching(session: unknown): Batching {
  return asLoose(session) as unknown as Batching // The tests pass invalid items on purpose.
}

/** Milliseconds that each look at the clock takes in the next test: more than work goes on without a turn of the event loop. */
const SLOW_MS = 20

test('a batch gives the event loop its turns between its groups, and between items that run alone', async () => {
  const { clock, scheduler } = SYSTEM_PORTS
  let now = clock.now()
  let yields = 0
  const vault = await openVault({
    ...SYSTEM_PORTS,
    clock: {
      now() {
        now += BigInt(SLOW_MS) * 1_000_000n
        return now
      },
    },
    scheduler: {
      async yield() {
        yields++
        await scheduler.yield()
      },
    },
    id: 'v1',
    schema: defineSchema({ clients: { name: column.string(), email: column.string() } }),
    storage: memoryStorage(),
    keys: localKeys({ key: TEST_SECRET }),
  })
  const session = vault.as(OWNER)
  const { responses } = await session.batch(addresses(8).map((email, index) => ({ ...post(email), tokenization: index < 4 })))
  // Before the part, and after each of its groups.
  expect(yields).toBe(3)
  yields = 0
  const missing = responses.map(() => ({ get: 'clients', id: 'missing' }) as const)
  await session.batch(missing, { continueOnError: true })
  // One group of all, of each half, of each quarter, and each item.
  expect(yields).toBe(15)
})
