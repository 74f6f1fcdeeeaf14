/** Tokens of a list are made while the server stores its records: they are returned once these are stored, and never for records that are not. */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { queryServer } from '../../support/postgres/query-server.ts'
import { fieldsOf, openTrialVault, trialCaller } from '../../support/trials/trial-vault.ts'

const database = await freshDatabase(inject('postgresUrl'))
const storage = postgresStorage({ connectionString: database.url })
const pool = new pg.Pool({ connectionString: database.url })
afterAll(async () => {
  await pool.end()
  await storage.close()
  await database.drop()
})

/** Returns when a transaction of the database waits for another. */
async function untilWaiting(): Promise<void> {
  const text = `select count(*)::int as count from pg_locks as l join pg_stat_activity as a on a.pid = l.pid
    where not l.granted and a.datname = current_database()`
  for (let poll = 0; poll < 1000; poll++) {
    const [row] = await queryServer<{ count: number }>(database.url, text)
    if (row?.count === 1) return
    await pause(5)
  }
  throw new Error('no transaction waits')
}

it.each(['rollback', 'commit'])(
  'a list that waits for another value ends as the transaction of that value does: %s',
  async (end) => {
    const vault = await openTrialVault(storage)
    const session = vault.as(trialCaller(end))
    const accounts = Array.from({ length: 200 }, (_, number) => ({
      fields: {
        login: `${end} ${number}`,
        ...fieldsOf({ number }),
        card: String(4_000_000_000_000_000 + (end === 'commit' ? 500 : 0) + number),
      },
    }))
    const client = await pool.connect()
    await client.query('begin')
    await vault
      .withTransaction(client)
      .as(trialCaller('host'))
      .insert('accounts', [{ fields: { login: `${end} 150` } }])
    let isOver = false
    const inserting = session
      .insert('accounts', accounts, { tokenization: true })
      .finally(() => {
        isOver = true
      })
      .catch((error: unknown) => error)
    await untilWaiting()
    // The turns in which the tokens are made pass.
    await pause(20)
    expect(isOver).toBe(false)
    await client.query(end)
    client.release()
    const ended = await inserting
    const { records: stored } = await session.get('accounts', {
      where: { login: accounts.map(({ fields }) => fields.login) },
    })
    if (end === 'commit') {
      expect(ended).toMatchObject({ code: 'conflict', details: [{ column: 'login', index: 150 }] })
      expect(stored).toHaveLength(1)
    } else {
      const { records } = ended as Awaited<ReturnType<typeof session.insert<'accounts', { tokenization: true }>>>
      expect(records).toHaveLength(200)
      expect(stored).toHaveLength(25)
      for (const name of ['reference', 'card', 'code'] as const) {
        const asked = records.map(({ tokens }) => ({ token: tokens?.[name] ?? '', redaction: 'PLAIN_TEXT' as const }))
        const { records: shown } = await session.detokenize(asked)
        expect(shown.map(({ value }) => value)).toEqual(accounts.map(({ fields }) => fields[name]))
      }
    }
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
  },
)
