/** Law 11: nothing of a forgotten person is found in any way, and no other person loses anything. */
import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { localSigner } from '../../../src/adapters/keys/local-signer.ts'
import { isReceiptSigned } from '../../../src/audit-verifier/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { openShop, shopSchema, storeCustomer } from '../../support/subjects/customers.ts'
import { storedCells, waysToFind } from '../../support/subjects/find-anything.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const WHY = { reason: 'request 7' }
/** What the vault has of one person. */
const COUNTS = { customers: 1, orders: 3, items: 6, shipments: 6, notes: 2 }

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

onEachStorage('a forgotten person', (engine) => {
  it('is found in no way and in no cell, with a receipt, and no other person is touched', async () => {
    const storage = engine.fresh().open()
    const { vault, blobs } = await openShop(storage)
    const bo = await storeCustomer(vault, 'Bo')
    const before = await storedCells(storage)
    const files = blobs.keys()
    const ann = await storeCustomer(vault, 'Ann')
    const all = await storedCells(storage)
    const ways = await waysToFind(vault, ann)
    expect(ways.length).toBeGreaterThan(30)
    expect(await vault.subjects.find(OWNER, 'customer', ann.id)).toEqual({ tables: COUNTS })
    const { privateKey, publicKey } = generateKeyPairSync('ed25519', {
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    })
    const signer = localSigner({ keyId: 'k1', privateKey })

    const receipt = await vault.subjects.forget(OWNER, 'customer', ann.id, { ...WHY, signer })

    expect(receipt).toMatchObject({ v: 1, vaultID: 'v1', kind: 'customer', reason: 'request 7', tables: COUNTS, files: 1 })
    expect(receipt.notReached.join()).toContain('backups')
    expect(await waysToFind(vault, ann)).toEqual([])
    expect(blobs.keys()).toEqual(files)
    const after = await storedCells(storage)
    expect([...all].filter((cell) => !before.has(cell) && after.has(cell))).toEqual([])
    expect([...before].filter((cell) => !after.has(cell))).toEqual([])
    expect(await waysToFind(vault, bo)).toEqual(ways)
    expect(isReceiptSigned(JSON.parse(JSON.stringify(receipt)), [{ keyId: 'k1', publicKey }])).toBe(true)
    expect(isReceiptSigned({ ...receipt, files: 2 }, [{ keyId: 'k1', publicKey }])).toBe(false)
    const { events } = await vault.as(OWNER).listEvents({ filterOps: { accountID: 'v1', actionType: 'FORGET' } })
    expect(events.map(({ context }) => context.changeID)).toEqual([receipt.changeID])
    expect(events[0]?.request.resources).toEqual(['TABLE/customers', `RECORD/${ann.id}`])
    expect(JSON.stringify(events)).not.toContain('request 7')
    expect(await vault.verifyRecords()).toMatchObject({ ok: true })
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
    expect(await allOf(vault.subjects.forgotten())).toEqual([{ kind: 'customer', id: ann.id, receipt }])
    await vault.close()
  })

  it('is forgotten again with what was inserted since, also when the record itself is gone', async () => {
    const { vault } = await openShop(engine.fresh().open())
    const ann = await storeCustomer(vault, 'Ann')
    const first = await vault.subjects.forget(OWNER, 'customer', ann.id, WHY)
    await vault.as(OWNER).insertOne('orders', { customer_id: ann.id, number: 'late' })
    const again = await vault.subjects.forget(OWNER, 'customer', ann.id, WHY)
    expect(again.tables).toEqual({ customers: 0, orders: 1, items: 0, shipments: 0, notes: 0 })
    expect(again.subject).toBe(first.subject)
    expect(again.previous).toMatch(/^[0-9a-f]{64}$/)
    const third = await vault.subjects.forget(OWNER, 'customer', ann.id, WHY)
    expect(third.tables).toEqual({ customers: 0, orders: 0, items: 0, shipments: 0, notes: 0 })
    expect(third.previous).not.toBe(again.previous)
    const listed = await allOf(vault.subjects.forgotten({ since: Date.parse(again.at) }))
    expect(listed.map(({ receipt }) => receipt)).toEqual([again, third])
    await vault.close()
  })

  it.each(['notes', 'items'] as const)('is found if the relation of %s is missing: a planted fault', async (table) => {
    const storage = engine.fresh().open()
    const { vault } = await openShop(storage, { schema: shopSchema(table) })
    const ann = await storeCustomer(vault, 'Ann')
    await vault.subjects.forget(OWNER, 'customer', ann.id, WHY)
    expect(await waysToFind(vault, ann)).toContain(`pages of ${table}`)
    await vault.close()
  })

  it('is found by transient tokens after deletions that leave them: a planted fault, and the default of delete', async () => {
    const { vault } = await openShop(engine.fresh().open())
    const session = vault.as(OWNER)
    const { id, orders, transientTokens } = await storeCustomer(vault, 'Ann')
    const live = async () => {
      const { records } = await session.getByTokens(transientTokens, { columnOnly: true })
      return records.map((one) => !('error' in one))
    }
    const [first = '', second = '', third = ''] = orders
    await session.deleteOne('orders', first)
    expect(await live()).toEqual([true, true, true, true])
    await session.deleteOne('orders', second, { transients: true })
    expect(await live()).toEqual([true, true, false, true])
    await session.deleteWhere('orders', { customer_id: id }, { transients: true })
    expect(await live()).toEqual([true, true, false, false])
    expect(third).not.toBe('')
    await session.batch([{ delete: 'customers', id, transients: true }])
    expect(await live()).toEqual([false, true, false, false])
    const { records } = await session.insert('customers', [{ fields: { pin: '1' } }, { fields: { pin: '2' } }], {
      tokenization: true,
    })
    await session.delete('customers', '*', { transients: true })
    const tokens = records.flatMap((one) => one.tokens.pin ?? [])
    expect(tokens).toHaveLength(2)
    await expect(session.detokenize(tokens.map((token) => ({ token })))).rejects.toMatchObject({ code: 'not_found' })
    await vault.close()
  })
})
