/** Tests that hostile queries learn nothing of hidden rows from budgets, damaged rows and errors. */
import { expect, it } from 'vitest'
import { column } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'

const TABLES = {
  t: {
    name: column.string({ redaction: 'PLAIN_TEXT' }),
    dept: column.string({ searchable: true }),
    tenant: column.string({ encrypted: false }),
    ssn: column.string({ searchable: true }),
    score: column.float({ encrypted: false }),
  },
}

const policy = {
  dept: ["ALLOW READ ON t.* WITH REDACTION = PLAIN_TEXT WHERE dept = 'a'"],
  tenant: ["ALLOW READ ON t.* WITH REDACTION = PLAIN_TEXT WHERE tenant LIKE 'a%'"],
}

interface Asking {
  query(sql: string, options?: object): Promise<{ records: { fields: Readonly<Record<string, unknown>> }[] }>
}

onEachStorage('a query', (engine) => {
  async function open() {
    const loose = await openLoose(engine.fresh().open(), TABLES, { policy })
    await loose.session.insert('t', [
      { fields: { name: 'mine', dept: 'a', tenant: 'a1', ssn: '1', score: 1e308 } },
      { fields: { name: 'hidden', dept: 'b', tenant: 'b1', ssn: '2', score: 1e308 } },
    ])
    // Options come as from a JavaScript caller: the vault must reject invalid ones.
    const as = (role: string) => loose.vault.as({ actor: 'x', actorType: 'USER', roles: [role] }) as unknown as Asking
    return { ...loose, as }
  }

  it('does not count rows hidden from the caller against its budget', async () => {
    const { as } = await open()
    for (const condition of ["ssn = '2'", "ssn = '3'", "name LIKE 'hid%'", "name LIKE 'none%'"]) {
      const answer = await as('dept').query(`SELECT name FROM t WHERE ${condition}`, { budget: { maxRows: 0 } })
      expect(answer).toEqual({ records: [], isCut: false })
    }
    await expect(as('dept').query("SELECT name FROM t WHERE ssn = '1'", { budget: { maxRows: 0 } })).rejects.toMatchObject({
      code: 'limit_exceeded',
      grpcCode: 8,
    })
  })

  it('does not report damage to a row hidden from the caller', async () => {
    const { as, storage } = await open()
    const [row] = await storage.find('records_1_t', { kind: 'all' }, { order: 'desc', limit: 1 })
    await storage.update('records_1_t', [{ id: row?.id ?? 0, version: row?.version ?? 0, set: { body: new Uint8Array(40) } }])
    expect((await as('tenant').query('SELECT name FROM t')).records).toEqual([{ fields: { name: 'mine' }, levels: {} }])
    await expect(as('VAULT_OWNER').query('SELECT name FROM t')).rejects.toMatchObject({ code: 'data_loss', grpcCode: 15 })
  })

  it('for a sum that overflows a double throws out_of_range, for plain and sealed columns', async () => {
    const { as } = await open()
    const sum = as('VAULT_OWNER').query('SELECT SUM(score) FROM t')
    await expect(sum).rejects.toMatchObject({ code: 'out_of_range', grpcCode: 11 })
  })

  it('rejects invalid options', async () => {
    const { as } = await open()
    for (const budget of [{ timeoutMs: Number.POSITIVE_INFINITY }, { maxRows: Number.NaN }]) {
      await expect(as('VAULT_OWNER').query('SELECT name FROM t', { budget })).rejects.toMatchObject({ code: 'out_of_range' })
    }
    const wrong = [
      { budget: { rows: 5 } },
      { budget: 5 },
      { budget: null },
      { signal: 'x' },
      { idName: '' },
      { idName: '__proto__' },
      { idName: Symbol('id') },
      { limit: 5 },
    ]
    for (const options of wrong) {
      await expect(as('VAULT_OWNER').query('SELECT name FROM t', options)).rejects.toMatchObject({ code: 'invalid_request' })
    }
  })

  it('rejects more than 128 patterns', async () => {
    const { as } = await open()
    const patterns = (count: number) => Array.from({ length: count }, (_, n) => `name LIKE '%${n}%'`).join(' OR ')
    expect((await as('VAULT_OWNER').query(`SELECT name FROM t WHERE ${patterns(128)}`)).records).toEqual([])
    const many = as('VAULT_OWNER').query(`SELECT name FROM t WHERE ${patterns(129)}`)
    await expect(many).rejects.toMatchObject({ code: 'limit_exceeded', grpcCode: 8 })
  })
})
