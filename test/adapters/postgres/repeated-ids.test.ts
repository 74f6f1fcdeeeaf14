/** A sequence that gives ids out again, as after a crash of the server: each handle takes other ids, and no caller notices. */
import pg from 'pg'
import { afterAll, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { openTrialVault, trialCaller } from '../../support/trials/trial-vault.ts'

const database = await freshDatabase(inject('postgresUrl'))
const pool = new pg.Pool({ connectionString: database.url })
afterAll(async () => {
  await pool.end()
  await database.drop()
})

/** Lets every sequence of the schema begin again. */
async function beginAgain(schema: string): Promise<void> {
  await pool.query(`select setval(format('%I.%I', sequence_schema, sequence_name), 1, false)
    from information_schema.sequences where sequence_schema = '${schema}'`)
}

it.each(['alone', 'in a transaction', 'in a transaction of the application'])(
  'records get other ids where those of the sequence are taken: %s',
  async (where) => {
    const schema = `repeated_${where.length}`
    const storages = [postgresStorage({ pool, schema }), postgresStorage({ pool, schema })] as const
    const vaults = [await openTrialVault(storages[0]), await openTrialVault(storages[1])] as const
    const caller = trialCaller(where)
    let count = 0
    const nextRecords = (length: number) =>
      Array.from({ length }, () => {
        const number = String(count++)
        return { fields: { login: number, code: number, reference: number } }
      })
    const insertInto = async (vault: (typeof vaults)[number], length: number) => {
      const records = nextRecords(length)
      if (where === 'alone') return vault.as(caller).insert('accounts', records, { tokenization: true })
      if (where === 'in a transaction')
        return vault.transaction((inner) => inner.as(caller).insert('accounts', records, { tokenization: true }))
      const client = await pool.connect()
      await client.query('begin')
      const inserted = await vault.withTransaction(client).as(caller).insert('accounts', records, { tokenization: true })
      await client.query('commit')
      client.release()
      return inserted
    }
    const all = [...(await insertInto(vaults[0], 300)).records]
    await beginAgain(schema)
    // Now both handles keep the ids from 301 on.
    for (const [turn, length] of [1, 70, 1, 70, 1, 1].entries()) {
      const { records } = await insertInto(vaults[turn % 2 === 0 ? 1 : 0], length)
      all.push(...records)
    }
    expect(new Set(all.map(({ id }) => id)).size).toBe(count)
    const session = vaults[0].as(caller)
    for (const name of ['reference', 'code'] as const) {
      const asked = all.map(({ tokens }) => ({ token: tokens?.[name] ?? '', redaction: 'PLAIN_TEXT' as const }))
      const { records } = await session.detokenize(asked)
      expect(records.map(({ value }) => value)).toEqual(all.map((_, number) => String(number)))
    }
    expect(await vaults[0].verifyRecords()).toMatchObject({ ok: true, recordCount: count })
    expect(await vaults[0].verifyAudit()).toMatchObject({ ok: true })
    for (const storage of storages) await storage.close()
  },
)
