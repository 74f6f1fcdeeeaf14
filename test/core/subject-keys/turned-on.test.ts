/** Keys for subjects that have records already: the change seals these with them, beside what is written meanwhile, and is never taken back. */
import { expect, it } from 'vitest'
import { onEachStorage } from '../../support/storages/engines.ts'
import { customerSchema, fillCustomers, keysIn, openCustomers, PHYSICAL, scanOf } from '../../support/subjects/own-keys-vault.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

onEachStorage('keys that are turned on', (engine) => {
  it('seal the records that are stored, and cannot be turned off', async () => {
    const place = engine.fresh()
    const storage = place.open()
    const vault = await openCustomers(storage, { ownKeys: false })
    const { ann, order } = await fillCustomers(vault)
    expect(await keysIn(storage, PHYSICAL.customers)).toEqual([0, 0, 0])
    await expect(openCustomers(place.open())).rejects.toMatchObject({ code: 'failed_precondition' })
    const plan = await vault.planSchemaChange(customerSchema())
    expect(plan.refusals).toEqual([])
    expect(plan.steps.filter(({ kind }) => kind === 'fill').map(({ table, rows }) => [table, rows])).toEqual([
      ['customers', 3],
      ['orders', 2],
      ['items', 1],
    ])
    await vault.applySchemaChange(plan)
    const keys = await keysIn(storage, PHYSICAL.customers)
    expect(new Set([...keys, 0]).size).toBe(4)
    expect([await keysIn(storage, PHYSICAL.orders), await keysIn(storage, PHYSICAL.items)]).toEqual([[keys[0], 0], [keys[0]]])
    // The process that was open before, and another one.
    for (const one of [vault, await openCustomers(place.open())]) {
      const session = one.as(OWNER)
      expect((await session.get('customers', {})).records.map(({ fields }) => fields.name)).toEqual(['ann', 'bob', 'eve'])
      expect([await scanOf(session, 'customers', ann), await scanOf(session, 'orders', order)]).toEqual([
        'scan of customers',
        'scan of orders',
      ])
      await session.insertOne('orders', { customer_id: ann, memo: 'later' })
      expect(await one.verifyRecords()).toMatchObject({ ok: true })
    }
    expect((await keysIn(storage, PHYSICAL.orders)).slice(2)).toEqual([keys[0], keys[0]])
    const off = await vault.planSchemaChange(customerSchema(false))
    expect(off.refusals.map(({ reason }) => reason)).toEqual([
      'ownKeys of subject "customer" cannot be turned off, because its records are sealed with keys of their own.',
    ])
    // Once more it only reads.
    const again = await vault.applySchemaChange(await vault.planSchemaChange(customerSchema()))
    expect(again.generation).toBeGreaterThan(0)
  })
})
