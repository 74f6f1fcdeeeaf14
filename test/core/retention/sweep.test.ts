/** Sweeps: what is kept for a time is gone after it, and nothing else, by a model and a moved clock, whatever becomes of the process that sweeps. */
import { expect, it } from 'vitest'
import { checkSchema } from '../../../src/core/schema/define-schema.ts'
import { TOKENS } from '../../../src/core/schema/system-tables.ts'
import { randomFor } from '../../support/random/seeded-random.ts'
import { DAY, findMismatch, KEPT_RULES, KEPT_TABLES, type KeptWorld } from '../../support/retention/retention-model.ts'
import { memoryEngine, onEachStorage } from '../../support/storages/engines.ts'
import { interposedStorage } from '../../support/storages/interposed-storage.ts'
import { type Cells, type LooseOptions, type LooseVault, openLoose, START_MS } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const HOUR = 3_600_000

onEachStorage('a sweep', (engine) => {
  const open = (options: LooseOptions = {}, place = engine.fresh()): Promise<LooseVault> =>
    openLoose(place.open(), KEPT_TABLES, { rules: KEPT_RULES, ...options })
  const stored = async ({ session }: LooseVault, table: string): Promise<Map<string, Cells>> => {
    const { records } = await session.get(table, { limit: 1000 })
    return new Map(records.map(({ id, fields }) => [id, fields]))
  }

  it('leaves what a model has, whatever was written and when', async () => {
    const vault = await open()
    const world: KeptWorld = { vault, random: randomFor('sweeps'), model: new Map() }
    expect(await findMismatch(world, 80)).toBeUndefined()
    const tokens = Number((await vault.storage.aggregate(TOKENS.name, { kind: 'all' }, [{ kind: 'count' }]))[0])
    expect(tokens).toBe([...world.model.values()].filter(({ fields }) => (fields.phone ?? null) !== null).length)
    expect(await vault.vault.verifyRecords()).toMatchObject({ ok: true })
    expect(await vault.vault.verifyAudit()).toMatchObject({ ok: true })
  })

  it('goes in slices of 200, each with an event, and goes on where it was ended', async () => {
    const place = engine.fresh()
    const { storage, interpose } = interposedStorage(place.open())
    const first = await openLoose(storage, KEPT_TABLES, { rules: KEPT_RULES })
    await first.session.insert(
      'notes',
      Array.from({ length: 450 }, () => ({ fields: { text: 't', at: 'x' } })),
    )
    first.clock.ms += 2 * DAY
    const table = [...(await storage.snapshot(async ({ tables }) => tables))].find(({ name }) => name.endsWith('_notes'))?.name
    let slices = 0
    // The second slice ends in the middle of its transaction, as in a process that is killed there.
    const ended = first.vault.sweep({
      onProgress() {
        if (slices++ === 0)
          interpose({
            isDue: ({ method, table: name }) => method === 'delete' && name === table,
            work: () => Promise.reject(new Error('killed')),
          })
      },
    })
    await expect(ended).rejects.toMatchObject({ code: 'internal' })
    const second = await openLoose(place.open(), KEPT_TABLES, { rules: KEPT_RULES, clock: first.clock })
    expect((await stored(second, 'notes')).size).toBe(250)
    expect((await second.vault.sweep()).expired.notes).toBe(250)
    const lines: string[] = []
    for await (const line of second.vault.exportAudit()) if (line.includes('"EXPIRE"')) lines.push(line)
    expect(lines.filter((line) => line.includes('"code":200'))).toHaveLength(3)
    expect(lines.join('')).toContain('notes')
    expect(await second.vault.verifyAudit()).toMatchObject({ ok: true })
  })

  it('beside another one and writers removes everything once', async () => {
    const place = engine.fresh()
    const a = await open({}, place)
    const b = await open({ clock: a.clock }, place)
    await a.session.insert(
      'notes',
      Array.from({ length: 450 }, () => ({ fields: { at: 'x' } })),
    )
    await a.session.insert(
      'orders',
      Array.from({ length: 210 }, (_, n) => ({ fields: { iban: `DE${n}`, created: '2026-01-30T00:00:00Z' } })),
    )
    a.clock.ms += 3 * DAY
    const { records } = await b.session.get('orders', { limit: 210 })
    const kept = records.slice(0, 20)
    const write = async (): Promise<void> => {
      for (const [n, { id }] of kept.entries()) await b.session.updateOne('orders', id, { iban: `SE${n}` })
    }
    const [left, right] = await Promise.all([a.vault.sweep(), b.vault.sweep(), write()])
    expect((left.expired.notes ?? 0) + (right.expired.notes ?? 0)).toBe(450)
    const found = await stored(a, 'orders')
    // A value that was written before its slice was read is a new one.
    for (const [n, { id }] of kept.entries()) expect(found.get(id)?.iban).toBe(`SE${n}`)
    for (const { id } of records.slice(20)) expect(found.get(id)?.iban ?? null).toBeNull()
    await a.vault.sweep()
    expect((await stored(a, 'notes')).size).toBe(0)
  })

  it('counts existing records from their column, or from when the rule was added, also those that a process of before writes', async () => {
    const place = engine.fresh()
    const clock = { ms: START_MS }
    const before = await openLoose(place.open(), KEPT_TABLES, { clock })
    const { id } = await before.session.insertOne('orders', { created: '2025-12-01T00:00:00Z', iban: 'DE1', memo: 'm' })
    await before.session.insertOne('notes', { at: 'x' })
    clock.ms += 10 * DAY
    await expect(open({ clock }, place)).rejects.toMatchObject({ code: 'failed_precondition' })
    const vault = await open({ clock, schemaChanges: 'apply' }, place)
    await before.session.insertOne('notes', { at: 'y' })
    expect((await vault.vault.sweep()).expired).toEqual({
      orders: 1,
      'orders.iban': 0,
      'orders.memo': 0,
      'orders.phone': 0,
      notes: 0,
    })
    expect((await stored(vault, 'orders')).has(id)).toBe(false)
    clock.ms += DAY + HOUR
    const longer = { retention: { ...KEPT_RULES.retention, notes: { expiresAfter: 'P1M' } } }
    const changed = await openLoose(place.open(), KEPT_TABLES, { rules: longer, clock })
    expect((await changed.vault.sweep()).expired.notes).toBe(0)
    // A process that was opened with the shorter period sweeps by the stored one.
    expect((await vault.vault.sweep()).expired.notes).toBe(0)
    clock.ms += 31 * DAY
    expect((await vault.vault.sweep()).expired.notes).toBe(2)
  })

  it('goes on under the new names of tables and columns, also by what a process writes that knows the old ones', async () => {
    const place = engine.fresh()
    const old = await open({}, place)
    const { id } = await old.session.insertOne('orders', { created: '2025-12-01T00:00:00Z', iban: 'DE1' })
    await old.session.insertOne('notes', { at: 'x' })
    const { notes, orders } = KEPT_TABLES
    const { created, ...columns } = orders
    const { orders: byDate, notes: byBirth, 'orders.phone': phone, ...rules } = KEPT_RULES.retention
    const next = checkSchema(
      { remarks: notes, orders: { ...columns, ordered: created } },
      {
        retention: {
          ...rules,
          orders: { ...byDate, from: 'ordered' },
          'orders.phone': { ...phone, from: 'ordered' },
          remarks: byBirth,
        },
      },
    )
    const plan = await old.vault.planSchemaChange(next, { rename: { notes: 'remarks', 'orders.created': 'ordered' } })
    expect(plan.steps.filter(({ kind }) => kind !== 'now')).toEqual([])
    await old.vault.applySchemaChange(plan)
    await old.session.insertOne('notes', { at: 'y' })
    await old.session.updateOne('orders', id, { created: '2026-01-31T00:00:00Z' })
    old.clock.ms += 2 * DAY
    const { expired } = await old.vault.sweep()
    expect(expired).toEqual({ orders: 0, 'orders.iban': 1, 'orders.memo': 0, 'orders.phone': 0, notes: 2 })
    const renamed = await openLoose(place.open(), next.tables, { rules: next.rules, clock: old.clock })
    old.clock.ms += 60 * DAY
    expect((await renamed.vault.sweep()).expired).toMatchObject({ orders: 1, remarks: 0 })
  })

  it('leaves expired records visible until it runs', async () => {
    const vault = await open()
    await vault.session.insertOne('notes', { at: 'x' })
    vault.clock.ms += 30 * DAY
    expect((await stored(vault, 'notes')).size).toBe(1)
    expect(await vault.vault.as(OWNER).get('notes')).toMatchObject({ records: [{}] })
    expect(await vault.vault.maintenance()).toEqual([])
    expect((await vault.vault.sweep()).expired.notes).toBe(1)
  })
})

it('an hour too early is found by the model', async () => {
  const vault = await openLoose(memoryEngine().fresh().open(), KEPT_TABLES, { rules: KEPT_RULES })
  expect(await findMismatch({ vault, random: randomFor('early sweeps'), model: new Map() }, 150, HOUR)).toBeDefined()
})
