/** Queries of callers who mean no good: budgets, damage and faults tell them nothing of rows that are not there for them. */
import { expect, test } from 'vitest'
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
    // Queries are asked as a JavaScript caller would: what is wrong in them is the vault's own to refuse.
    const as = (role: string) => loose.vault.as({ actor: 'x', actorType: 'USER', roles: [role] }) as unknown as Asking
    return { ...loose, as }
  }

  test('spends none of its budget on rows that are not there for its caller', async () => {
    const { as } = await open()
    for (const condition of ["ssn = '2'", "ssn = '3'", "name LIKE 'hid%'", "name LIKE 'none%'"]) {
      const answer = await as('dept').query(`SELECT name FROM t WHERE ${condition}`, { budget: { rows: 0 } })
      expect(answer).toEqual({ records: [] })
    }
    await expect(as('dept').query("SELECT name FROM t WHERE ssn = '1'", { budget: { rows: 0 } })).rejects.toMatchObject({
      code: 'limit_exceeded',
      grpcCode: 8,
    })
  })

  test('does not hear of damage to a row that is not there for its caller', async () => {
    const { as, storage } = await open()
    const [row] = await storage.find('records_1_t', { kind: 'every' }, { order: 'down', limit: 1 })
    await storage.update('records_1_t', [{ id: row?.id ?? 0, version: row?.version ?? 0, set: { body: new Uint8Array(40) } }])
    expect((await as('tenant').query('SELECT name FROM t')).records).toEqual([{ fields: { name: 'mine' } }])
    await expect(as('VAULT_OWNER').query('SELECT name FROM t')).rejects.toMatchObject({ code: 'data_loss', grpcCode: 15 })
  })

  test('for a sum beyond every double is refused as out of range, wherever the column stands', async () => {
    const { as } = await open()
    const sum = as('VAULT_OWNER').query('SELECT SUM(score) FROM t')
    await expect(sum).rejects.toMatchObject({ code: 'out_of_range', grpcCode: 11 })
  })

  test('takes no option that is not as described', async () => {
    const { as } = await open()
    const wrong = [
      { budget: { row: 5 } },
      { budget: 5 },
      { budget: null },
      { budget: { milliseconds: Number.POSITIVE_INFINITY } },
      { budget: { rows: Number.NaN } },
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

  test('holds 128 patterns at most', async () => {
    const { as } = await open()
    const patterns = (count: number) => Array.from({ length: count }, (_, n) => `name LIKE '%${n}%'`).join(' OR ')
    expect((await as('VAULT_OWNER').query(`SELECT name FROM t WHERE ${patterns(128)}`)).records).toEqual([])
    const many = as('VAULT_OWNER').query(`SELECT name FROM t WHERE ${patterns(129)}`)
    await expect(many).rejects.toMatchObject({ code: 'limit_exceeded', grpcCode: 8 })
  })
})
