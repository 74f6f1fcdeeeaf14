/** A key for each subject: which key seals which record, what a change of a reference does, and that a rotation seals the keys again and not the records. */
import { expect, it } from 'vitest'
import { onEachStorage } from '../../support/storages/engines.ts'
import { fillCustomers, keysIn, openCustomers, PHYSICAL, scanOf } from '../../support/subjects/own-keys-vault.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

onEachStorage('keys of subjects', (engine) => {
  it('seal what references say, and everything reads as before', async () => {
    const place = engine.fresh()
    const storage = place.open()
    const vault = await openCustomers(storage)
    const { session, ann, bob, order, item, pins } = await fillCustomers(vault)
    const [a = 0, b = 0, e = 0] = await keysIn(storage, PHYSICAL.customers)
    expect(new Set([0, a, b, e]).size).toBe(4)
    const sealed = { transients: [a, b, e], [PHYSICAL.orders]: [a, 0], [PHYSICAL.items]: [a], [PHYSICAL.notes]: [0] }
    for (const [table, keys] of Object.entries(sealed)) expect([table, await keysIn(storage, table)]).toEqual([table, keys])
    // Another process, whose caches are empty, reads the same.
    const other = (await openCustomers(place.open())).as(OWNER)
    for (const reader of [session, other]) {
      expect((await reader.getOne('customers', ann)).fields).toMatchObject({ name: 'ann', email: 'ann@acme.example' })
      expect((await reader.get('customers', {})).records.map(({ fields }) => fields.name)).toEqual(['ann', 'bob', 'eve'])
      const found = await reader.get('orders', { where: { customer_id: [ann] } })
      expect(found.records.map(({ fields }) => fields.memo)).toEqual(['of ann'])
      const shown = await reader.detokenize(pins.map((token) => ({ token })))
      expect(shown.records.map(({ value }) => value)).toEqual(['pin of ann', 'pin of bob', 'pin of eve'])
      const queried = await reader.query(`SELECT name FROM customers WHERE name LIKE '%b%'`)
      expect(queried.records.map(({ fields }) => fields)).toEqual([{ name: 'bob' }])
      expect(await scanOf(reader, 'customers', ann)).toBe('scan of customers')
    }
    // A change keeps the key, but for that of a reference: what refers to the record follows it.
    await session.updateOne('customers', ann, { name: 'anna', pin: 'new' })
    await session.updateOne('orders', order, { memo: 'changed' })
    expect([await keysIn(storage, PHYSICAL.customers), await keysIn(storage, PHYSICAL.orders)]).toEqual([
      [a, b, e],
      [a, 0],
    ])
    await session.updateOne('orders', order, { customer_id: bob })
    expect([await keysIn(storage, PHYSICAL.orders), await keysIn(storage, PHYSICAL.items)]).toEqual([[b, 0], [b]])
    expect((await other.getOne('items', item)).fields.memo).toBe('item of ann')
    expect(await scanOf(other, 'orders', order)).toBe('scan of orders')
    expect(await vault.verifyRecords()).toMatchObject({ ok: true, forgottenCount: 0 })
    // A rotation seals the keys again, and of the records only those of no one.
    const { resealed } = await vault.rotateKeys()
    expect(resealed).toMatchObject({ 'system.subject_keys': 4, notes: 1, orders: 1 })
    expect([resealed.customers, resealed.items, resealed['system.transients']]).toEqual([undefined, undefined, undefined])
    expect(await vault.destroyKey(2)).toEqual({ version: 2, lost: 0 })
    for (const reader of [session, other, (await openCustomers(place.open())).as(OWNER)])
      expect((await reader.get('customers', {})).records.map(({ fields }) => fields.name)).toEqual(['anna', 'bob', 'eve'])
  })
})
