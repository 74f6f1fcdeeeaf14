/** Calls of the outer vault inside its own transaction are refused at once, on every storage; calls from elsewhere are not. */
import { AsyncResource } from 'node:async_hooks'
import pg from 'pg'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { type Vault, VaultError } from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { type Clients, eventsOf, openClients } from '../../support/audit/audited-clients.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const REFUSAL = { code: 'internal', message: expect.stringContaining('Use the vault passed to the callback') }

const FIELDS = { name: 'n' }

/** Calls of the outer vault. */
const OUTER_CALLS: Readonly<Record<string, (vault: Vault<Clients>, id: string) => unknown>> = {
  insert: (vault) => vault.as(OWNER).insert('clients', [{ fields: FIELDS }]),
  upsert: (vault) => vault.as(OWNER).insert('clients', [{ fields: { ...FIELDS, email: 'a@x.example' } }], { upsert: 'email' }),
  update: (vault, id) => vault.as(OWNER).updateOne('clients', id, { country: 'SE' }),
  delete: (vault, id) => vault.as(OWNER).deleteOne('clients', id),
  get: (vault) => vault.as(OWNER).get('clients'),
  query: (vault) => vault.as(OWNER).query('SELECT name FROM clients'),
  'list events': (vault) => vault.as(OWNER).listEvents({ filterOps: { accountID: 'v1' } }),
  batch: (vault, id) => vault.as(OWNER).batch([{ get: 'clients', id }]),
  scanFiles: (vault) => vault.scanFiles(),
  downloadWithTicket: (vault) => vault.downloadWithTicket('none'),
  uploadWithTicket: (vault) => vault.uploadWithTicket('none', { file: new Uint8Array(1) }),
  transaction: (vault) => vault.transaction(async () => {}),
  sweep: (vault) => vault.sweep(),
  findCredential: (vault) => vault.credentials.find('none'),
  spendOnce: (vault) => vault.credentials.spendOnce('none', 1),
  isRevoked: (vault) => vault.credentials.isRevoked('none'),
  recordRefusal: (vault) => vault.recordRefusal({ error: new VaultError('unauthenticated', 'Refused.') }),
  verifyAudit: (vault) => vault.verifyAudit(),
  exportAudit: async (vault) => {
    for await (const _ of vault.exportAudit()) break
  },
}

/** Makes every outer call inside a transaction, and asserts that the transaction continues and commits. */
async function assertRefused(storage: StorageHandle, audit: 'on' | 'off'): Promise<void> {
  const vault = await openClients(storage, { audit })
  const { records } = await vault.as(OWNER).insert('clients', [{ fields: FIELDS }])
  const id = records[0]?.id ?? ''
  for (const [name, call] of Object.entries(OUTER_CALLS)) {
    await vault.transaction(async (inside) => {
      await inside.as(OWNER).insert('clients', [{ fields: { name } }])
      await expect(call(vault, id), name).rejects.toMatchObject(REFUSAL)
      // Several levels deep, and in a call made beside others.
      await expect(Promise.all([Promise.resolve().then(() => call(vault, id))]), name).rejects.toMatchObject(REFUSAL)
    })
  }
  expect((await vault.as(OWNER).get('clients')).records).toHaveLength(1 + Object.keys(OUTER_CALLS).length)
}

onEachStorage('a call of the outer vault inside a transaction', (engine) => {
  for (const audit of ['on', 'off'] as const) {
    it(`is refused at once, with the audit ${audit}`, () => assertRefused(engine.fresh().open(), audit))
  }

  it('is refused although an insert from elsewhere has begun a shared commit', async () => {
    const vault = await openClients(engine.fresh().open())
    const insert = () => vault.as(OWNER).insert('clients', [{ fields: FIELDS }])
    const elsewhere = AsyncResource.bind(insert)
    const outcomes: Promise<unknown>[] = []
    await vault.transaction(async (inside) => {
      await inside.as(OWNER).insert('clients', [{ fields: FIELDS }])
      outcomes.push(elsewhere())
      await expect(insert()).rejects.toMatchObject(REFUSAL)
    })
    await Promise.all(outcomes)
    expect(await eventsOf(vault)).toHaveLength(2)
  })

  it('is allowed from elsewhere, after the end, and on another vault', async () => {
    const [vault, other] = [await openClients(engine.fresh().open()), await openClients(engine.fresh().open())]
    const session = vault.as(OWNER)
    const fromElsewhere = AsyncResource.bind(() => session.insert('clients', [{ fields: FIELDS }]))
    let afterEnd: Promise<unknown> | undefined
    let elsewhere: Promise<unknown> | undefined
    await vault.transaction(async (inside) => {
      await inside.as(OWNER).insert('clients', [{ fields: FIELDS }])
      elsewhere = fromElsewhere()
      await other.as(OWNER).insert('clients', [{ fields: FIELDS }])
      afterEnd = new Promise((resolve) => setTimeout(resolve, 0)).then(async () => {
        await elsewhere
        return session.insert('clients', [{ fields: FIELDS }])
      })
    })
    await Promise.all([elsewhere, afterEnd])
    expect((await session.get('clients')).records).toHaveLength(3)
    expect((await other.as(OWNER).get('clients')).records).toHaveLength(1)
  })

  it('is refused through a transaction of another vault', async () => {
    const [vault, other] = [await openClients(engine.fresh().open()), await openClients(engine.fresh().open())]
    await vault.transaction(async (inside) => {
      await inside.as(OWNER).insert('clients', [{ fields: FIELDS }])
      await other.transaction(async () => {
        await expect(vault.as(OWNER).get('clients')).rejects.toMatchObject(REFUSAL)
      })
      await other.as(OWNER).insert('clients', [{ fields: FIELDS }])
      await expect(vault.as(OWNER).get('clients')).rejects.toMatchObject(REFUSAL)
    })
  })
})

describe('a call of the outer vault on a small pool of PostgreSQL', async () => {
  const database = await freshDatabase(inject('postgresUrl'))
  const endings: (() => Promise<unknown>)[] = []
  afterAll(async () => {
    for (const end of endings) await end()
    await database.drop()
  })
  for (const max of [1, 2]) {
    it(`of our own with ${max} is refused inside a transaction`, async () => {
      const storage = postgresStorage({ connectionString: database.url, schema: `own_${max}`, maxConnections: max })
      endings.push(() => storage.close())
      await assertRefused(storage, 'on')
    })

    it(`of the application with ${max} is refused inside a transaction, also where several run at once`, async () => {
      const pool = new pg.Pool({ connectionString: database.url, max })
      endings.push(() => pool.end())
      const vault = await openClients(postgresStorage({ pool, schema: `lent_${max}` }))
      const works = Array.from({ length: 6 }, () =>
        vault.transaction(async (inside) => {
          await inside.as(OWNER).insert('clients', [{ fields: FIELDS }])
          await expect(vault.as(OWNER).get('clients')).rejects.toMatchObject(REFUSAL)
        }),
      )
      const outside = Array.from({ length: 6 }, () => vault.as(OWNER).insert('clients', [{ fields: FIELDS }]))
      await Promise.all([...works, ...outside])
      expect((await vault.as(OWNER).get('clients')).records).toHaveLength(12)
    })
  }
})
