/** Adopting a table from plan to finish, and back from every state, on both engines. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Adoption } from '../../src/adopt/index.ts'
import { plainRows, vaultRows } from '../support/adopt/customers.ts'
import { type Host, leftovers, onEachHost, openHost } from '../support/adopt/host.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

const ROWS = 300

/** Rows with values that are null, quoted, of other scripts, and with spaces that the vault must give back. */
const FILL = `insert into customers (id, name, email, phone, note) with recursive s(i) as (select 1 union all select i + 1 from s where i < ${ROWS})
  select i, case when i % 9 = 0 then null else 'O''Nåme "' || i end, case when i % 5 = 0 then null else ' Person.' || i || '@Mail.example' end, case when i % 45 = 0 then null else '+46 ' || i end, 'n' from s`

/** Rows without a value from the beginning, and the one whose record is deleted. */
const EMPTY = ['45', '50', '90', '135', '180', '225', '270'].sort()

onEachHost('adopting a table', (engine) => {
  let host: Host
  let adoption: Adoption
  beforeEach(async () => {
    host = await openHost(engine)
    await host.script(FILL)
    adoption = await host.adopt()
  })
  afterEach(() => host.close())

  it('stores every row in the vault, follows changes, and switches when both are equal', async () => {
    expect(await adoption.run()).toMatchObject({ state: 'overlap', notes: 0, refusedCount: 0 })
    await host.script(`update customers set email = 'new@x.example' where id = 7; update customers set id = 9007 where id = 8;
      delete from customers where id = 9; insert into customers (id, name) values (9009, 'Late'); update customers set note = 'x'`)
    expect(await adoption.status()).toMatchObject({ notes: 5 })
    await adoption.run()
    const plain = await plainRows(host)
    expect(await vaultRows(host)).toEqual({ rows: plain, records: plain.size })
    await adoption.switchOver()
    expect(await adoption.status()).toMatchObject({ state: 'switched' })
    expect(await plainRows(host)).toEqual(plain)
  })

  it('refuses new plaintext after the switch, and lets the rest of a row change', async () => {
    await adoption.run()
    await adoption.switchOver()
    await expect(host.script(`update customers set email = 'q' where id = 1`)).rejects.toThrow('strongroom: name, email, phone')
    await expect(host.script(`insert into customers (id, phone) values (9001, 'q')`)).rejects.toThrow('deploy the version')
    await host.script(
      `update customers set note = 'y' where id = 1; update customers set email = null where id = 2; insert into customers (id) values (9002)`,
    )
  })

  it('goes on draining deletions and changes of keys after the switch and after finish', async () => {
    await adoption.run()
    await adoption.switchOver()
    await host.script('delete from customers where id < 11; update customers set id = 9100 where id = 100')
    await adoption.run()
    expect((await vaultRows(host)).records).toBe(ROWS - 10)
    await adoption.finish()
    await host.script('delete from customers where id between 11 and 20')
    await adoption.run()
    const { rows, records } = await vaultRows(host)
    expect(records).toBe(ROWS - 20)
    expect(rows.get('9100')).toContain('+46 100')
  })

  it('leaves no plaintext in the table after finish, and gives it back', async () => {
    const before = await plainRows(host)
    await adoption.run()
    await adoption.switchOver()
    const { residue } = await adoption.finish()
    expect(residue.length).toBeGreaterThan(1)
    expect(
      await host.all('select count(*) from customers where name is not null or email is not null or phone is not null'),
    ).toEqual([[0]])
    expect((await vaultRows(host)).rows).toEqual(before)
    await adoption.back()
    expect(await plainRows(host)).toEqual(before)
    expect(await leftovers(host)).toEqual([])
  })

  it('follows rows that change their key behind a walk, and passes over records that the application has deleted', async () => {
    await adoption.run()
    await adoption.switchOver()
    let next = -1
    let left = 3
    const move = async () => {
      if (left-- > 0) await host.script(`update customers set id = ${next--} where id = (select max(id) from customers)`)
    }
    await adoption.finish({ onProgress: move })
    expect(await host.all('select count(*) from customers where phone is not null')).toEqual([[0]])
    const [[erased] = []] = await host.all('select record_id from strongroom_customers_map where id = 50')
    await host.vault.as(OWNER).delete('customers', [String(erased)])
    left = 3
    await adoption.back({ onProgress: move })
    const rows = await plainRows(host)
    expect(
      [...rows]
        .filter(([, row]) => row === '[null,null,null]')
        .map(([id]) => id)
        .sort(),
    ).toEqual(EMPTY)
    expect(rows.size).toBe(ROWS)
  })

  it('writes tokens in place of plaintext where it is asked to', async () => {
    await adoption.run()
    await adoption.switchOver()
    await adoption.finish({ plaintext: 'token' })
    const [[email]] = (await host.all('select email from customers where id = 1')) as [[string]]
    expect(email).toMatch(/^[0-9a-f-]{36}$/)
    expect(await host.all('select name, phone is null from customers where id = 45')).toEqual([
      [null, engine === 'sqlite' ? 1 : true],
    ])
  })

  it('drops the columns where it is asked to, and keeps the side table', async () => {
    await adoption.run()
    await adoption.switchOver()
    if (engine === 'sqlite')
      return expect(adoption.finish({ dropColumns: true })).rejects.toThrow('email by index sqlite_autoindex_customers_1')
    await adoption.finish({ dropColumns: true })
    expect(await leftovers(host)).toEqual([
      'strongroom_customers_map',
      'strongroom_customers_map_pkey',
      'strongroom_customers_map_record_id_key',
    ])
    await expect(host.all('select email from customers')).rejects.toThrow('does not exist')
  })

  it.each(['capture', 'overlap', 'switched', 'finished'] as const)('goes back from %s to the table as it was', async (state) => {
    const before = await plainRows(host)
    if (state === 'capture') await adoption.capture()
    else await adoption.run()
    if (state === 'switched' || state === 'finished') await adoption.switchOver()
    if (state === 'finished') await adoption.finish()
    await adoption.back()
    expect(await plainRows(host)).toEqual(before)
    expect(await leftovers(host)).toEqual([])
    expect((await host.vault.as({ actor: 'a', actorType: 'USER', roles: ['VAULT_OWNER'] }).get('customers')).records).toEqual([])
    expect((await host.vault.verifyAudit()).ok).toBe(true)
    await host.script(`update customers set email = 'q' where id = 1`)
    expect(await adoption.status()).toMatchObject({ state: 'new' })
  })
})
