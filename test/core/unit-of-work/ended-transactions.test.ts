/** The vault of a transaction after the end of that transaction: every call is refused in one way, and nothing is stored. */
import { expect, it } from 'vitest'
import type { VaultInTransaction } from '../../../src/index.ts'
import { type Clients, eventsOf, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const REFUSAL = { code: 'internal', message: expect.stringContaining('has ended. Await every call inside the callback.') }
const NEW = [{ fields: { name: 'n' } }]

const CALLS: Readonly<Record<string, (vault: VaultInTransaction<Clients>, id: string) => Promise<unknown>>> = {
  insert: (vault) => vault.as(OWNER).insert('clients', NEW),
  update: (vault, id) => vault.as(OWNER).updateOne('clients', id, { country: 'SE' }),
  delete: (vault, id) => vault.as(OWNER).deleteOne('clients', id),
  get: (vault) => vault.as(OWNER).get('clients'),
  query: (vault) => vault.as(OWNER).query('SELECT name FROM clients'),
  'a refused call': (vault) => vault.as({ ...OWNER, roles: ['none'] }).get('clients'),
  'list events': (vault) => vault.as(OWNER).listEvents({ filterOps: { accountID: 'v1' } }),
}

onEachStorage('the vault of a transaction', (engine) => {
  for (const audit of ['on', 'off'] as const) {
    it.each(['committed', 'rolled back'])(`that is %s refuses every call, with the audit ${audit}`, async (end) => {
      const vault = await openClients(engine.fresh().open(), { audit })
      const { records } = await vault.as(OWNER).insert('clients', NEW)
      const kept: VaultInTransaction<Clients>[] = []
      const ending = vault.transaction(async (inside) => {
        await inside.as(OWNER).insert('clients', NEW)
        kept.push(inside)
        if (end === 'rolled back') throw new Error(end)
      })
      await ending.catch(() => {})
      const events = (await eventsOf(vault)).length
      for (const inside of kept) {
        for (const [name, call] of Object.entries(CALLS))
          await expect(call(inside, records[0]?.id ?? ''), name).rejects.toMatchObject(REFUSAL)
      }
      expect(kept.length).toBe(1)
      expect((await eventsOf(vault)).length).toBe(events)
      expect((await vault.as(OWNER).get('clients')).records).toHaveLength(end === 'committed' ? 2 : 1)
      expect(await vault.verifyAudit()).toMatchObject({ ok: true })
    })
  }

  it.each(Object.keys(CALLS))('refuses %s that still runs at the end in the same way, and stores nothing of it', async (name) => {
    const vault = await openClients(engine.fresh().open())
    const { records } = await vault.as(OWNER).insert('clients', NEW)
    const late: Promise<unknown>[] = []
    await vault.transaction(async (inside) => {
      await inside.as(OWNER).insert('clients', NEW)
      late.push((CALLS[name] ?? CALLS.get)?.(inside, records[0]?.id ?? '').catch((error: unknown) => error) ?? Promise.resolve())
    })
    for (const outcome of await Promise.all(late)) expect(outcome).toMatchObject(REFUSAL)
    expect((await vault.as(OWNER).get('clients')).records).toHaveLength(2)
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
  })
})
