/** A full disk under PostgreSQL: one code for every call that cannot store its event, and recovery without a restart. */
import pg from 'pg'
import { afterAll, afterEach, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import type { Vault } from '../../../src/index.ts'
import { type Clients, openClients } from '../../support/audit/audited-clients.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { startPostgres } from '../../support/postgres/server.ts'
import { mountSmallDisk } from '../../support/postgres/small-disk.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const endings: (() => unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function openVault(url: string): Promise<{ readonly vault: Vault<Clients>; readonly id: string }> {
  const storage = postgresStorage({ connectionString: url })
  endings.push(() => storage.close())
  const vault = await openClients(storage)
  const { records } = await vault.as(OWNER).insert('clients', [{ fields: { name: 'n' } }])
  return { vault, id: records[0]?.id ?? '' }
}

/** Every verb, each several times: all fail alike while nothing can be stored. */
async function assertFull({ vault, id }: { readonly vault: Vault<Clients>; readonly id: string }): Promise<void> {
  const session = vault.as(OWNER)
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    insert: () => session.insert('clients', [{ fields: { name: 'n'.repeat(500) } }]),
    update: () => session.updateOne('clients', id, { country: 'SE' }),
    get: () => session.getOne('clients', id),
    query: () => session.query('SELECT name FROM clients'),
    'a refusal': () => session.getOne('clients', 'not-there'),
    delete: () => session.deleteOne('clients', id),
    transaction: () => vault.transaction((inside) => inside.as(OWNER).getOne('clients', id)),
  }
  for (let turn = 0; turn < 5; turn++) {
    for (const [name, call] of Object.entries(calls)) {
      await expect(call(), name).rejects.toMatchObject({ code: 'storage_full', grpcCode: 8, httpStatus: 500 })
    }
  }
}

async function assertRecovered({ vault, id }: { readonly vault: Vault<Clients>; readonly id: string }): Promise<void> {
  const session = vault.as(OWNER)
  expect((await session.getOne('clients', id)).id).toBe(id)
  await session.insert('clients', [{ fields: { name: 'after' } }])
  expect((await session.get('clients')).records.length).toBeGreaterThanOrEqual(2)
  expect(await vault.verifyAudit()).toMatchObject({ ok: true })
}

it('reported by the server gives storage_full for every verb, and ends with it', async () => {
  const { url, drop } = await freshDatabase(inject('postgresUrl'))
  endings.push(drop)
  const admin = new pg.Pool({ connectionString: url })
  endings.push(() => admin.end())
  const opened = await openVault(url)
  await admin.query(`
    create function disk_full() returns trigger language plpgsql as
      $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$;
    create trigger disk_full before insert on strongroom.audit_events for each row execute function disk_full()`)
  await assertFull(opened)
  await admin.query('drop trigger disk_full on strongroom.audit_events')
  await assertRecovered(opened)
})

const disk = mountSmallDisk(12)
afterAll(() => disk?.unmount())

it.skipIf(disk === undefined)('of a tablespace gives storage_full for every verb, and ends when space is freed', async () => {
  const server = await startPostgres({ settings: ['autovacuum=off'] })
  endings.push(() => server.stop())
  const admin = new pg.Pool({ connectionString: server.url })
  endings.push(() => admin.end())
  await admin.query(`create tablespace small location '${disk?.directory}'`)
  await admin.query(`create table ballast (text text) tablespace small; alter table ballast alter text set storage external`)
  const opened = await openVault(`${server.url}?options=-c%20default_tablespace%3Dsmall`)

  const fill = (): Promise<unknown> => admin.query("insert into ballast select repeat('x', 1000) from generate_series(1, 7)")
  const filled = async (): Promise<string> => {
    for (;;) {
      const code = await fill().then(
        () => undefined,
        ({ code }) => code,
      )
      if (code !== undefined) return code
    }
  }
  expect(await filled()).toBe('53100')
  // The pages that exist already still take some events.
  const session = opened.vault.as(OWNER)
  await expect
    .poll(
      () =>
        session.get('clients').then(
          () => 'stored',
          ({ code }) => code,
        ),
      { interval: 0 },
    )
    .toBe('storage_full')
  await assertFull(opened)
  await admin.query('drop table ballast')
  await assertRecovered(opened)
})
