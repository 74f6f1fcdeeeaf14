/** Legal holds: what is held is neither deleted nor swept, by whatever call and in whatever process, from when the hold was placed until it is lifted. */
import { expect, it } from 'vitest'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { CATALOG, CREDENTIALS } from '../../../src/core/schema/system-tables.ts'
import { column } from '../../../src/index.ts'
import type { Place } from '../../support/storages/engines.ts'
import { memoryEngine, onEachStorage } from '../../support/storages/engines.ts'
import { interposedStorage } from '../../support/storages/interposed-storage.ts'
import { CUSTOMER_RELATIONS } from '../../support/subjects/customers.ts'
import { type LooseOptions, type LooseVault, openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const DAY = 24 * 3_600_000
const PLAIN = { redaction: 'PLAIN_TEXT' } as const
const TABLES = {
  customers: { email: column.string({ unique: true, columnGroup: 'email', ...PLAIN }), name: column.string(PLAIN) },
  orders: { customer_id: column.string({ searchable: true, ...PLAIN }), iban: column.string({ token: 'random', ...PLAIN }) },
  notes: { email: column.string({ searchable: true, columnGroup: 'email', ...PLAIN }) },
  items: { order_id: column.string({ encrypted: false, index: true, ...PLAIN }) },
}
const RULES = {
  subjects: {
    customer: {
      table: 'customers',
      relations: CUSTOMER_RELATIONS,
    },
  },
  retention: {
    orders: { expiresAfter: 'P30D' },
    'orders.iban': { expiresAfter: 'P2D', becomes: 'null' },
    notes: { expiresAfter: 'P1D' },
  },
} as const
const HELD = { code: 'failed_precondition' }

/** Two people with one record in each table. */
async function fill({ session }: LooseVault) {
  const people = []
  for (const name of ['ann', 'bob']) {
    const email = `${name}@example.org`
    const { id: customer } = await session.insertOne('customers', { email, name })
    const { id: order } = await session.insertOne('orders', { customer_id: customer, iban: 'DE1' })
    const { id: note } = await session.insertOne('notes', { email })
    const { id: item } = await session.insertOne('items', { order_id: order })
    people.push({ email, customers: customer, orders: order, notes: note, items: item })
  }
  const [ann, bob] = people
  if (ann === undefined || bob === undefined) throw new Error('two people')
  return { ann, bob }
}

onEachStorage('a legal hold', (engine) => {
  const open = (place: Place = engine.fresh(), options: LooseOptions = {}): Promise<LooseVault> =>
    openLoose(place.open(), TABLES, { rules: RULES, ...options })

  it.each(['on', 'off'] as const)(
    'of a subject keeps all its records from every deletion in every process, audit %s',
    async (audit) => {
      const place = engine.fresh()
      const [vault, other] = [await open(place, { audit }), await open(place, { audit })]
      const { ann, bob } = await fill(vault)
      const { id } = await vault.vault.holds.place(
        { subject: { name: 'customer', id: ann.customers }, reason: 'case 4711' },
        OWNER,
      )
      const late = await other.session.insertOne('orders', { customer_id: ann.customers })
      for (const { session, vault: own } of [vault, other]) {
        const typed = own.as(OWNER)
        for (const table of ['customers', 'orders', 'notes', 'items'] as const) {
          const refused = expect.objectContaining({ ...HELD, message: expect.stringContaining(id) })
          await expect(session.delete(table, [ann[table]])).rejects.toEqual(refused)
          await expect(session.delete(table, [bob[table], ann[table]])).rejects.toEqual(refused)
          await expect(session.delete(table, '*')).rejects.toEqual(refused)
          await expect(typed.deleteOne(table, ann[table])).rejects.toEqual(refused)
          const batched = await session
            .batch([{ method: 'deleteOne', table, id: ann[table] }], { continueOnError: true })
            .catch((e: unknown) => e)
          expect(JSON.stringify(batched)).not.toContain('case 4711')
          await expect(own.transaction((inner) => inner.as(OWNER).delete(table, [ann[table]]))).rejects.toEqual(refused)
        }
        await expect(session.delete('orders', [late.id])).rejects.toMatchObject(HELD)
        await expect(typed.deleteWhere('notes', { email: ann.email })).rejects.toMatchObject(HELD)
        expect((await session.get('customers')).records).toHaveLength(2)
        expect((await session.get('orders')).records).toHaveLength(3)
      }
      await other.session.delete('items', [bob.items])
      expect(await other.vault.holds.list()).toMatchObject([
        {
          id,
          of: { subject: { name: 'customer', id: ann.customers } },
          reason: 'case 4711',
          placedBy: OWNER.actor,
          hasEnded: false,
        },
      ])
      await other.vault.holds.lift(id)
      await vault.session.delete('customers', [ann.customers])
      expect(await vault.vault.holds.list()).toEqual([])
      await expect(vault.vault.holds.lift(id)).rejects.toMatchObject({ code: 'not_found' })
    },
  )

  it('of records is passed over and counted by a sweep, ends by the clock, and leaves events without its reason', async () => {
    const place = engine.fresh()
    const vault = await open(place)
    const { ann, bob } = await fill(vault)
    const until = vault.clock.ms + 40 * DAY
    const hold = { table: 'orders', ids: [ann.orders], reason: 'a secret reason' } as const
    const first = await vault.vault.holds.place({ ...hold, until })
    const second = await vault.vault.holds.place(hold, OWNER)
    vault.clock.ms += 35 * DAY
    expect(await vault.vault.sweep()).toMatchObject({ expired: { orders: 1, 'orders.iban': 0, notes: 2 }, held: 2 })
    expect((await vault.session.getOne('orders', ann.orders)).fields).toMatchObject({ iban: 'DE1' })
    await expect(vault.session.getOne('orders', bob.orders)).rejects.toMatchObject({ code: 'not_found' })
    await vault.vault.holds.lift(second.id)
    await expect(vault.session.delete('orders', [ann.orders])).rejects.toMatchObject({
      message: expect.stringContaining(first.id),
    })
    vault.clock.ms = until
    expect(await vault.vault.holds.list()).toMatchObject([{ id: first.id, hasEnded: true }])
    expect(await vault.vault.sweep()).toMatchObject({ expired: { orders: 1 }, held: 0 })
    let trail = ''
    for await (const line of vault.vault.exportAudit()) trail += line
    for (const action of ['PLACE_HOLD', 'LIFT_HOLD', 'EXPIRE']) expect(trail).toContain(`"${action}"`)
    expect(trail).not.toContain('secret reason')
    const stored = await vault.storage.find(CREDENTIALS.name, { kind: 'all' }, { order: 'asc', limit: 10 })
    expect(Buffer.concat(stored.map(({ body }) => Buffer.from(body as Uint8Array))).includes('secret reason')).toBe(false)
    expect(await vault.vault.verifyAudit()).toMatchObject({ ok: true })
  })

  it('is not placed for what does not exist, and refused calls say what to pass', async () => {
    const { vault, session } = await open()
    const { id } = await session.insertOne('notes', { email: 'a@b' })
    await session.delete('notes', [id])
    const reason = 'r'
    for (const [given, code] of [
      [{ table: 'notes', ids: [id], reason }, 'not_found'],
      [{ table: 'unknown', ids: [id], reason }, 'not_found'],
      [{ subject: { name: 'unknown', id }, reason }, 'not_found'],
      [{ table: 'notes', ids: [], reason }, 'invalid_request'],
      [{ table: 'notes', ids: [id], reason: '' }, 'invalid_request'],
      [{ table: 'notes', ids: [id], reason, why: 1 }, 'invalid_request'],
      [{ table: 'notes', ids: [id], reason, until: 5 }, 'out_of_range'],
    ] as const)
      await expect(vault.holds.place(given as never)).rejects.toMatchObject({ code })
    expect(await vault.holds.list()).toEqual([])
  })

  it.each(['on', 'off'] as const)('that is placed while a record is deleted is one of the two, audit %s', async (audit) => {
    expect(await race(engine.fresh(), audit, (storage) => storage)).toEqual({ isPlaced: true, isDeleted: false })
  })
})

/** Places a hold in one process when another one, which knows of none, begins to delete the record. Returns what came of both. */
async function race(place: Place, audit: 'on' | 'off', plant: (storage: StorageHandle) => StorageHandle) {
  const { storage, interpose } = interposedStorage(plant(place.open()))
  const [deleting, placing] = [
    await openLoose(storage, TABLES, { rules: RULES, audit }),
    await openLoose(place.open(), TABLES, { rules: RULES, audit }),
  ]
  const { id } = await deleting.session.insertOne('notes', { email: 'a@b' })
  const placed = Promise.withResolvers<unknown>()
  interpose({
    isDue: ({ method }) => method === 'begin',
    work: async () =>
      placed.resolve(await placing.vault.holds.place({ table: 'notes', ids: [id], reason: 'r' }).catch(() => undefined)),
  })
  const deleted = await deleting.session.delete('notes', [id]).then(
    () => true,
    () => false,
  )
  return { isPlaced: (await placed.promise) !== undefined, isDeleted: deleted }
}

it('is lost, and found to be, where a writer does not compare the catalog', async () => {
  const blind = (storage: StorageHandle): StorageHandle => {
    let known: Awaited<ReturnType<StorageHandle['find']>> | undefined
    const wrap = <S extends Pick<StorageHandle, 'find' | 'transaction'>>(inner: S): S => ({
      ...inner,
      async find(table, filter, page) {
        const rows = await inner.find(table, filter, page)
        if (table !== CATALOG.name || page.newest !== true) return rows
        known ??= rows
        return known
      },
      transaction: (work, options) => inner.transaction((within) => work(wrap(within)), options),
    })
    return wrap(storage)
  }
  expect(await race(memoryEngine().fresh(), 'off', blind)).toEqual({ isPlaced: true, isDeleted: true })
})
