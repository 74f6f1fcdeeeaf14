/** Old and new instances of the application write at the same time: the new version by the helper, in transactions of its own. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Adoption } from '../../src/adopt/index.ts'
import { plainRows, vaultRows } from '../support/adopt/customers.ts'
import { type Host, onEachHost, openHost } from '../support/adopt/host.ts'

onEachHost('the helper of the new version', (engine) => {
  let host: Host
  let adoption: Adoption
  beforeEach(async () => {
    host = await openHost(engine)
    await host.script(`insert into customers (id, name, email) values (1, 'A', 'a@x'), (2, 'B', 'b@x')`)
    adoption = await host.adopt()
    await adoption.run()
  })
  afterEach(() => host.close())

  /** Inserts a row and changes another, as the new version does it in every state. */
  const write = (id: number, mail: string) =>
    host.transaction(async (handle, run) => {
      const rows = await adoption.within(handle)
      await rows.own(() => run(`insert into customers (id, note) values (${id}, 'new')`))
      const ids = await rows.put([
        { key: id, fields: { name: 'New', email: mail } },
        { key: 1, fields: { phone: mail } },
      ])
      return { ids, writesPlaintext: rows.writesPlaintext }
    })

  it('writes row and record together before the switch, and nothing that old instances would have noted', async () => {
    const { ids, writesPlaintext } = await write(5, 'five@x')
    expect([ids.length, writesPlaintext]).toEqual([2, true])
    expect((await plainRows(host)).get('5')).toBe('["New","five@x",null]')
    expect(await vaultRows(host)).toMatchObject({ rows: await plainRows(host), records: 3 })
    await adoption.run()
    await adoption.switchOver({ quietSeconds: 0 })
    expect(await vaultRows(host)).toMatchObject({ rows: await plainRows(host), records: 3 })
  })

  it('writes to the vault alone after the switch, through the guard, and both again on the way back', async () => {
    await adoption.switchOver()
    expect((await write(5, 'five@x')).writesPlaintext).toBe(false)
    expect((await plainRows(host)).get('5')).toBe('[null,null,null]')
    await adoption.finish()
    await write(6, 'six@x')
    await adoption.back()
    expect([...(await plainRows(host)).values()]).toEqual([
      '["A","a@x","six@x"]',
      '["B","b@x",null]',
      '["New","five@x",null]',
      '["New","six@x",null]',
    ])
    await write(7, 'seven@x')
    expect((await plainRows(host)).get('7')).toBe('["New","seven@x",null]')
  })

  it('rolls back with the transaction of the application', async () => {
    const failed = host.transaction(async (handle, run) => {
      const rows = await adoption.within(handle)
      await rows.own(() => run('delete from customers where id = 1'))
      await rows.remove([1])
      throw new Error('changed its mind')
    })
    await expect(failed).rejects.toThrow('changed its mind')
    expect(await vaultRows(host)).toMatchObject({ rows: await plainRows(host), records: 2 })
  })

  it('returns and removes records by the keys of rows', async () => {
    await host.transaction(async (handle, run) => {
      const rows = await adoption.within(handle)
      expect(await rows.ids([1, 99])).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), undefined])
      await rows.own(() => run('delete from customers where id = 1'))
      await rows.remove([1])
    })
    expect(await adoption.status()).toMatchObject({ notes: 0 })
    expect(await vaultRows(host)).toMatchObject({ rows: await plainRows(host), records: 1 })
  })

  it('gives way to values that were exchanged since the switch, on the way back', async () => {
    await adoption.switchOver()
    await host.transaction(async (handle) => {
      const rows = await adoption.within(handle)
      await rows.put([{ key: 1, fields: { email: null } }])
      await rows.put([{ key: 2, fields: { email: 'a@x' } }])
      await rows.put([{ key: 1, fields: { email: 'b@x' } }])
    })
    await adoption.back()
    expect([...(await plainRows(host)).values()]).toEqual(['["A","b@x",null]', '["B","a@x",null]'])
  })
})
