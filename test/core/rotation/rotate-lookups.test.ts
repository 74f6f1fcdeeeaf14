/** Rotation of the look-up keys: ids, tokens, cursors, bearers and values are found by both keys until it is finished, values stay unique throughout, and readers that knew nothing of it miss nothing. */
import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { openCatalog } from '../../../src/core/catalog/open-catalog.ts'
import type { GetOptions, GetResult } from '../../../src/core/operations/get-records.ts'
import type { Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import type { Stopwatch } from '../../../src/core/ports/time.ts'
import { addLookupKey, digestBy } from '../../../src/core/rotation/change-keys.ts'
import { layoutSchema } from '../../../src/core/schema/layout.ts'
import { at } from '../../../src/core/util/lists.ts'
import { column, defineSchema, type Vault, VaultError } from '../../../src/index.ts'
import { onEachStorage, type Place } from '../../support/storages/engines.ts'
import { interposedStorage } from '../../support/storages/interposed-storage.ts'
import { killEvery } from '../../support/trials/kill-every.ts'
import { openFast, portsFaster } from '../../support/vaults/fast-ports.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const PLAIN = { redaction: 'PLAIN_TEXT' } as const
const TABLES = {
  people: {
    email: column.string({ ...PLAIN, token: 'deterministic', unique: true, columnGroup: 'mail', normalize: ['lowercase'] }),
    phone: column.string({ ...PLAIN, token: { kind: 'deterministicFormatPreserving', format: 'phone' } }),
    card: column.string({ ...PLAIN, token: { kind: 'formatPreserving', format: 'card' } }),
    name: column.string({ ...PLAIN, token: 'random' }),
    pin: column.string({ ...PLAIN, token: 'transient' }),
    note: column.string({ ...PLAIN, searchable: true }),
    badge: column.string({ ...PLAIN, unique: true }),
    team: column.string({ ...PLAIN, encrypted: false }),
    site: column.string({ ...PLAIN, searchable: true }),
    desk: column.string({ ...PLAIN, token: 'deterministic' }),
  },
  orders: { email: column.string({ ...PLAIN, token: 'deterministic', columnGroup: 'mail', normalize: ['lowercase'] }) },
}
type Tables = typeof TABLES
const SCHEMA = defineSchema(TABLES, { uniqueTogether: { people: [['team', 'site', 'desk']] } })
const { n: MODULUS = '' } = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' })
const JWK = JSON.stringify({ kty: 'RSA', n: MODULUS, e: 'AQAB' })
const KEYS = localKeys({ key: TEST_SECRET })
/** Where only one process works at a time, none waits long until others have looked: 15 ms. */
const FASTER = portsFaster(1000)

function open(storage: StorageHandle, options: { audit?: 'on' | 'off'; stopwatch?: Stopwatch } = {}) {
  return openFast(storage, SCHEMA, options)
}

function person(n: number | string) {
  const digits = String(n).padStart(4, '0')
  return {
    email: `P${n}@acme.example`,
    phone: `+4930123${digits}`,
    card: `424242424242${digits}`,
    name: `name ${n}`,
    pin: `pin ${n}`,
    note: `note ${n}`,
    badge: `badge ${n}`,
  }
}

/** Inserts people, and returns their ids and tokens. */
async function insertPeople(vault: Vault<Tables>, from: number, to: number) {
  const records = Array.from({ length: to - from }, (_, k) => ({ fields: person(from + k) }))
  return (await vault.as(OWNER).insert('people', records, { tokenization: true })).records
}

function getPeople(vault: Vault<Tables>, options: GetOptions) {
  return vault.as(OWNER).get('people', options as never) as Promise<GetResult>
}

/** Begins a rotation as another process would, and stops before the first digest of a stored row is replaced: new ones are of the new key. */
async function begin(storage: StorageHandle): Promise<void> {
  const catalog = await openCatalog({ ...SYSTEM_PORTS, storage, keys: KEYS }, 'v1', TABLES)
  const ports = { ...SYSTEM_PORTS, storage, keys: KEYS, vaultId: 'v1' }
  await addLookupKey(ports, catalog)
  await catalog.reload(storage)
  await new Promise((resolve) => setTimeout(resolve, 150))
  const { tables } = layoutSchema(catalog.state.schema)
  const physical = [...tables.values()].map((table) => table.physical)
  await storage.prepare(physical)
  await digestBy(ports, catalog, { from: catalog.state, version: 3, tables: physical.map(({ name }) => name), waitMs: 1000 })
  catalog.close()
}

type Person = Awaited<ReturnType<typeof insertPeople>>[number]

/** Expects that the texts of this person, of whichever key, find what they stand for. */
async function expectFound(vault: Vault<Tables>, n: number, { id, tokens }: Person): Promise<void> {
  const session = vault.as(OWNER)
  const { email, phone, card, name, pin } = person(n)
  const texts = [tokens.email, tokens.phone, tokens.card, tokens.name, tokens.pin]
  const { records } = await session.detokenize(texts.map((token = '') => ({ token })))
  expect(records.map(({ value }) => value)).toEqual([email, phone, card, name, pin])
  expect((await session.getOne('people', id)).fields).toMatchObject({ email, name })
  const byTokens = await session.getByTokens([tokens.email ?? ''])
  expect(byTokens).toMatchObject({ records: [{ fields: { name } }] })
}

/** Expects that values are found and are unique. */
async function expectHeld(vault: Vault<Tables>, n: number): Promise<void> {
  const session = vault.as(OWNER)
  const { email, note, badge, name } = person(n)
  const lower = email.toLowerCase()
  for (const where of [{ email: lower }, { note }, { badge }, { badge: [badge, 'none'] }])
    expect((await session.get('people', { where })).records.map(({ fields }) => fields.name)).toEqual([name])
  const joined = await session.query(`SELECT name FROM people WHERE note = '${note}' AND badge = '${badge}'`)
  expect(joined.records.map(({ fields }) => fields.name)).toEqual([name])
  for (const fields of [{ ...person(`x${n}`), phone: '+49301234999', card: '4242424242424242', email: lower }, { badge }])
    await expect(session.insertOne('people', fields)).rejects.toMatchObject({ code: 'conflict' })
  const ignored = await session.insert('people', [{ fields: { badge, name: 'ignored' } }], { onConflict: 'ignore' } as never)
  expect(ignored.records).toEqual([{ ignored: true }])
  const upserted = await session.insert('people', [{ fields: { badge, name } }], { upsert: 'badge' })
  expect(upserted.records.length).toBe(1)
  expect((await session.tokenize([{ value: email, columnGroup: 'mail' }])).records.length).toBe(1)
}

/** Expects both of these people. */
async function expectAll(
  vault: Vault<Tables>,
  found: readonly (readonly [n: number, person: Person])[],
  held: readonly number[],
): Promise<void> {
  for (const [n, texts] of found) await expectFound(vault, n, texts)
  for (const n of held) await expectHeld(vault, n)
}

const PAGES: GetOptions[] = [{ limit: 15 }, { limit: 1, where: { note: ['note 3', 'note 5'] } }]
const UNTIL = Date.now() + 3_600_000

/** A vault with what clients have of it from before a rotation. */
async function prepared(place: Place, audit: 'on' | 'off') {
  const vault = await open(place.open(), { audit })
  const people = await insertPeople(vault, 0, 40)
  const session = vault.as(OWNER)
  await session.insert('orders', [{ fields: { email: 'P1@acme.example' } }])
  const { keyId } = await session.createCredential({ kind: 'SERVICE_ACCOUNT', name: 's', roles: ['r'], verifier: JWK })
  const { bearer } = await vault.credentials.issueBearer({ keyId })
  expect(await vault.credentials.spendOnce('spent before', UNTIL)).toBe(true)
  const cursors: (string | undefined)[] = []
  for (const page of PAGES) cursors.push((await getPeople(vault, page)).next)
  const { records } = await getPeople(vault, { ids: [at(people, 7).id], version: true })
  return { vault, people, keyId, bearer, cursors, version: at(records, 0).version ?? '' }
}

type Before = Awaited<ReturnType<typeof prepared>>

/** Expects that credentials, cursors and what has served are known. */
async function expectKnown(one: Vault<Tables>, { keyId, bearer, cursors }: Before): Promise<void> {
  expect(await one.credentials.find(keyId)).toMatchObject({ name: 's', isValid: true })
  expect(await one.credentials.verifyBearer(bearer)).toMatchObject({ keyId })
  expect(await one.credentials.spendOnce('spent before', UNTIL)).toBe(false)
  for (const [k, page] of PAGES.entries()) {
    const rest = await getPeople(one, { ...page, after: cursors[k] })
    expect(rest.records[0]?.fields.name).toBe(k === 0 ? 'name 15' : 'name 5')
  }
  expect((await one.verifyRecords()).findings).toEqual([])
}

/** Expects that nothing of the key before resolves, but a token that is stored. */
async function expectGone(one: Vault<Tables>, { people, bearer }: Before): Promise<void> {
  const session = one.as(OWNER)
  const { id, tokens } = at(people, 1)
  for (const token of [tokens.email, tokens.phone, tokens.name, tokens.pin])
    await expect(session.detokenize([{ token: token ?? '' }])).rejects.toMatchObject({ code: 'not_found' })
  await expect(session.getOne('people', id)).rejects.toMatchObject({ code: 'not_found' })
  expect(await one.credentials.verifyBearer(bearer)).toBeUndefined()
  expect(await one.credentials.spendOnce('spent before', UNTIL)).toBe(false)
  expect((await session.detokenize([{ token: tokens.card ?? '' }])).records[0]?.value).toBe(person(1).card)
  expect((await one.verifyRecords()).findings).toEqual([])
  expect((await one.verifyAudit()).ok).toBe(true)
}

/** Returns the people by their ids of before, as they are named now. A token that stays is not in the map. */
async function mapped(vault: Vault<Tables>, before: readonly Person[]): Promise<Map<string, Person>> {
  const cards = new Map(before.map(({ id, tokens }) => [id, tokens.card]))
  const people = new Map<string, Person>()
  for await (const { id, tokens } of vault.tokenMap({ table: 'people' })) {
    expect(Object.keys(tokens).sort()).toEqual(['email', 'name', 'phone', 'pin'])
    const now = Object.fromEntries(Object.entries(tokens).map(([name, [, text]]) => [name, text]))
    people.set(id[0], { id: id[1], tokens: { ...now, card: cards.get(id[0]) } } as Person)
  }
  return people
}

for (const audit of ['on', 'off'] as const) {
  onEachStorage(`a rotation of look-up keys, audit ${audit},`, (engine) => {
    it('is met by all kinds of ids and tokens, and ends them when it is finished', async () => {
      const place = engine.fresh()
      const before = await prepared(place, audit)
      const { vault, people } = before
      const [early, reader] = [await open(place.open(), { audit }), await open(place.open(), { audit })]
      await expectHeld(reader, 2)
      await begin(place.open())
      // Rows have the older digests still, and new ones the newest.
      const between = await insertPeople(vault, 40, 44)
      const opened = await open(place.open(), { audit })
      for (const one of [vault, early, opened]) {
        await expectAll(
          one,
          [
            [1, at(people, 1)],
            [41, at(between, 1)],
          ],
          [3, 41],
        )
        await expectKnown(one, before)
      }
      const tooEarly = { code: 'failed_precondition' }
      await expect(vault.tokenMap({ table: 'people' })[Symbol.asyncIterator]().next()).rejects.toMatchObject(tooEarly)
      await expect(vault.finishLookups()).rejects.toMatchObject(tooEarly)
      const result = await vault.rotateLookups()
      expect(result).toMatchObject({ version: 3, before: 1, unreadable: 0 })
      expect(result.replaced).toMatchObject({ tokens: expect.any(Number), credentials: expect.any(Number) })
      const later = await insertPeople(early, 44, 46)
      const map = await mapped(vault, [...people, ...between])
      expect(map.size).toBe(46)
      const newest = [1, 7, 41].map((n) => [n, map.get(at([...people, ...between], n).id) as Person] as const)
      for (const one of [reader, vault, early, opened]) {
        const earlier = [
          [1, at(people, 1)],
          [7, at(people, 7)],
          [41, at(between, 1)],
          [44, at(later, 0)],
        ] as const
        await expectAll(one, [...earlier, ...newest], [4, 41, 45])
        await expectKnown(one, before)
      }
      const { id } = at(people, 7)
      const changed = vault.as(OWNER).updateOne('people', id, { name: 'name 7' }, { ifVersion: before.version })
      await expect(changed).rejects.toMatchObject({ code: 'aborted' })
      expect(await vault.finishLookups()).toMatchObject({ destroyed: 1, tokens: expect.any(Number) })
      for (const one of [reader, early, vault, await open(place.open(), { audit })]) {
        await expectAll(one, newest, [1, 42, 45])
        await expectGone(one, before)
      }
      expect((await vault.keys()).destroyed).toEqual([{ version: 1, at: expect.any(Number) }])
      await expect(vault.finishLookups()).rejects.toMatchObject(tooEarly)
    })
  })
}

/** What writers do while a rotation runs, and what must be there at its end: the note of each badge. */
function createWriters(vaults: readonly Vault<Tables>[]) {
  const notes = new Map<string, string>()
  const sessions = vaults.map((vault) => vault.as(OWNER))
  let next = 1000
  const written = { rounds: 0 }
  const fieldsOf = (n: number) => ({ ...person(n), pin: 'x' })
  async function round(turn: number): Promise<void> {
    await SYSTEM_PORTS.scheduler.yield()
    const [one, other] = [at(sessions, turn % sessions.length), at(sessions, (turn + 1) % sessions.length)]
    const n = next++
    const fields = fieldsOf(n)
    // Of two that insert one value, one is refused.
    const both = await Promise.allSettled([one, other].map((session) => session.insertOne('people', fields)))
    expect(both.filter(({ status }) => status === 'fulfilled').length).toBe(1)
    for (const ended of both)
      if (ended.status === 'rejected') expect(['conflict', 'aborted']).toContain(Reflect.get(ended.reason as object, 'code'))
    notes.set(fields.badge, fields.note)
    // A value of before is taken, and is found by an upsert.
    const old = 50 + (turn % 100)
    await expect(other.insertOne('people', { badge: `badge ${old}` })).rejects.toMatchObject({ code: 'conflict' })
    await one.insert('people', [{ fields: { badge: `badge ${old}`, note: `upserted ${n}` } }], { upsert: 'badge' })
    notes.set(`badge ${old}`, `upserted ${n}`)
    if (turn % 3 === 0) {
      await other.deleteWhere('people', { badge: fields.badge })
      notes.delete(fields.badge)
    } else
      await other
        .updateWhere('people', { email: fields.email.toLowerCase() }, { note: 'changed' })
        .then(() => notes.set(fields.badge, 'changed'))
    written.rounds++
  }
  return { notes, written, round }
}

onEachStorage('beside a rotation of look-up keys', (engine) => {
  it('writers and readers in several vaults find and refuse what they would without it', async () => {
    const place = engine.fresh()
    const vaults = [await open(place.open()), await open(place.open()), await open(place.open(), { audit: 'off' })]
    const [vault, , reader] = vaults as [Vault<Tables>, Vault<Tables>, Vault<Tables>]
    const old = await insertPeople(vault, 0, 200)
    const { notes, round, written } = createWriters(vaults)
    for (let n = 0; n < 200; n++) notes.set(`badge ${n}`, `note ${n}`)
    let isOver = false
    const write = async (): Promise<void> => {
      for (let turn = 0; !isOver || turn < 4; turn++) await round(turn)
    }
    const read = async (): Promise<void> => {
      for (let n = 0; !isOver || n < 10; n++) {
        const k = n % 50
        await SYSTEM_PORTS.scheduler.yield()
        const found = await reader.as(OWNER).get('people', { where: { note: `note ${k}` } })
        expect(found.records.map(({ fields }) => fields.badge)).toEqual([`badge ${k}`])
        await expectFound(reader, k, old[k] as Person)
      }
    }
    const busy = Promise.all([write(), read()])
    await vault.rotateLookups({ settleMs: 40_000 }).finally(() => {
      isOver = true
    })
    await busy
    expect(written.rounds).toBeGreaterThan(3)
    for (const stage of ['rotated', 'finished'] as const) {
      if (stage === 'finished') await vault.finishLookups()
      for (const one of vaults) {
        const badges = [...notes.keys()]
        const { records } = await getPeople(one, { where: { badge: badges }, limit: 1000 })
        const held = records.map(({ fields }) => [fields.badge, fields.note])
        expect(new Map(held as [string, string][])).toEqual(notes)
        expect(records.length).toBe(notes.size)
      }
    }
    for (const one of vaults) expect((await one.verifyRecords()).findings).toEqual([])
    expect((await vault.verifyAudit()).ok).toBe(true)
  })

  it('keeps what is unique together, whatever a write names of it', async () => {
    const place = engine.fresh()
    const before = await open(place.open())
    const seatOf = (site: string, desk: string) => ({ team: 'a', site, desk })
    const seats = ['11', '12', '21', '33'].map(([site, desk]) => ({ fields: seatOf(`s${site}`, `d${desk}`) }))
    const { records } = await before.as(OWNER).insert('people', seats)
    await begin(place.open())
    const people = (await open(place.open())).as(OWNER)
    const idOf = (n: number) => at(records, n).id
    const isTaken = { code: 'conflict', details: [{ column: 'team' }, { column: 'site' }, { column: 'desk' }] }
    await expect(people.insertOne('people', seatOf('s1', 'd1'))).rejects.toMatchObject(isTaken)
    await expect(people.updateOne('people', idOf(2), { site: 's1' })).rejects.toMatchObject(isTaken)
    await expect(people.updateOne('people', idOf(1), { desk: 'd1' })).rejects.toMatchObject(isTaken)
    await people.updateOne('people', idOf(0), { desk: 'd9' })
    await expect(people.insertOne('people', seatOf('s1', 'd9'))).rejects.toMatchObject(isTaken)
    const upserted = await people.insertOne('people', seatOf('s3', 'd3'), { upsert: ['team', 'site', 'desk'] })
    expect(upserted.id).toBe(idOf(3))
    await before.rotateLookups()
    expect((await before.verifyRecords()).ok).toBe(true)
  })

  const every = killEvery(engine.name, { memory: 1, sqlite: 5, postgres: 9 })
  it(`it ends when it is called again, before whichever change it stopped, of which one in ${every} is tried`, async () => {
    let stops = 0
    for (let isStopped = true; isStopped; stops += every) {
      const place = engine.fresh()
      const reader = await open(place.open(), FASTER)
      const people = await insertPeople(reader, 0, 8)
      const { storage, interpose } = interposedStorage(place.open())
      const stopping = await open(storage, FASTER)
      let left = stops
      const wasStopped = interpose({
        isDue: ({ method }) => (method === 'begin' || method === 'update') && left-- === 0,
        work: () => Promise.reject(new VaultError('data_loss', 'The process was killed.')),
      })
      // What only notes who has the vault open ends without an error. What counts is what is there afterwards.
      await stopping.rotateLookups().catch(() => {})
      isStopped = wasStopped()
      await expectFound(reader, 5, at(people, 5))
      await expect(reader.as(OWNER).insertOne('people', { badge: 'badge 6' })).rejects.toMatchObject({ code: 'conflict' })
      expect(await reader.rotateLookups()).toMatchObject({ version: 3, before: 1, unreadable: 0 })
      await expectFound(reader, 7, at(people, 7))
      await reader.finishLookups()
      expect((await reader.verifyRecords()).findings).toEqual([])
      expect((await reader.keys()).keys.filter(({ state }) => state === 'lookup').map(({ version }) => version)).toEqual([3])
    }
    expect(stops).toBeGreaterThan(8)
  })

  it('a writer that knows one key alone would be found, and so would a reader that never looks', async () => {
    const place = engine.fresh()
    const vault = await open(place.open(), { audit: 'off' })
    await insertPeople(vault, 0, 5)
    const blind = await open(place.open(), { audit: 'off', stopwatch: { now: () => 0 } })
    const reader = await open(place.open(), { audit: 'off' })
    await begin(place.open())
    const faulty = await open(withoutOlder(place.open()), { audit: 'off' })
    await faulty.as(OWNER).insertOne('people', { badge: 'badge 3', note: 'a second one' })
    expect((await vault.verifyRecords()).counts).toMatchObject({ duplicate_value: expect.any(Number) })
    await expect(vault.rotateLookups()).rejects.toMatchObject({ code: 'data_loss' })
    await vault.as(OWNER).deleteWhere('people', { note: 'a second one' })
    await vault.rotateLookups()
    const foundBy = async (one: Vault<Tables>) =>
      (await one.as(OWNER).get('people', { where: { note: 'note 2' } })).records.length
    expect([await foundBy(blind), await foundBy(reader)]).toEqual([0, 1])
  })
})

/** A storage whose writers find no row by an older digest. */
function withoutOlder(sound: StorageHandle): StorageHandle {
  const blind = (inner: Storage): Storage => ({
    ...inner,
    async find(table, filter, page) {
      const isOfDigests = filter.kind === 'in' && page.columns?.length === 1 && page.columns[0] === filter.column
      return isOfDigests ? [] : inner.find(table, filter, page)
    },
  })
  return { ...sound, transaction: (work, options) => sound.transaction((inner) => work(blind(inner)), options) }
}
