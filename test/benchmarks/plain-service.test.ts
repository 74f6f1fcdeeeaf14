/** The service that requests to a vault are compared with: it answers what it stores, looks its key up, and leaves an audit row for each request. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { createExpressService } from '../../benchmarks/baselines/express-service.ts'
import { fillPlainStore, openPlainStore } from '../../benchmarks/baselines/plain-store.ts'
import { createPeople } from '../../benchmarks/fixtures/people.ts'
import { listen } from '../../benchmarks/measuring/http-load.ts'
import type { VaultPlace } from '../../benchmarks/measuring/writers.ts'
import { at } from '../../src/core/util/lists.ts'
import { freshDatabase } from '../support/postgres/fresh-database.ts'

const folder = mkdtempSync(join(tmpdir(), 'strongroom-plain-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const SQLITE = { kind: 'sqlite', filename: join(folder, 'plain.db') } as const

/** Returns the audit rows: action and status. */
type ReadAudit = () => Promise<readonly { readonly action: string; readonly status: number }[]>

const QUERY = (schema: string) => `select action, status from ${schema}audit order by id`

async function onSqlite(work: (place: VaultPlace, audit: ReadAudit) => Promise<void>): Promise<void> {
  await work(SQLITE, async () => {
    const connection = new Database(SQLITE.filename, { readonly: true })
    const rows = connection.prepare<[], { action: string; status: number }>(QUERY('')).all()
    connection.close()
    return rows
  })
}

async function onPostgres(work: (place: VaultPlace, audit: ReadAudit) => Promise<void>): Promise<void> {
  const { url, drop } = await freshDatabase(inject('postgresUrl'))
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await work({ kind: 'postgres', url, schema: 'plain' }, async () => (await client.query(QUERY('plain.'))).rows)
  await client.end()
  await drop()
}

describe.each([
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
])('the service on plaintext on %s', (_, on) => {
  it('answers, refuses and records', async () => {
    await on(async (place, audit) => {
      const batch = createPeople(3).next(3)
      const { people, apiKey } = await fillPlainStore(place, batch)
      const store = openPlainStore(place)
      const server = await listen(createExpressService(store, 'plain'))
      const ask = async (path: string, body?: unknown, key = apiKey) => {
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
        const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
        const response = await fetch(`http://127.0.0.1:${server.port}/v1/vaults/plain/${path}`, { headers, ...sent })
        const json = (await response.json()) as { readonly records?: readonly { readonly tokens: { readonly ssn: string } }[] }
        return { status: response.status, ...json }
      }
      const second = at(people, 1)
      expect(await ask(`people/${second.id}`)).toEqual({ status: 200, fields: at(batch, 1).fields })
      const { records } = await ask('people', { records: [at(batch, 2)], tokenization: true })
      const detokenize = (token: string) => ({ detokenizationParameters: [{ token, redaction: 'PLAIN_TEXT' }] })
      const value = { valueType: 'STRING', value: at(batch, 2).fields.ssn }
      const token = at(records ?? [], 0).tokens.ssn
      expect(await ask('detokenize', detokenize(token))).toEqual({ status: 200, records: [{ token, ...value }] })
      expect(await ask('people', { records: [{ fields: { name: 'x' } }], tokenization: true })).toMatchObject({ status: 400 })
      expect(await ask(`people/${second.token}`)).toMatchObject({ status: 404 })
      expect(await ask(`people/${second.id}`, undefined, 'wrong')).toMatchObject({ status: 401 })
      expect((await audit()).map(({ action, status }) => `${action} ${status}`)).toEqual([
        'GET 200',
        'INSERT 200',
        'DETOKENIZE 200',
        'GET 404',
      ])
      server.close()
      await store.close()
    })
  })
})
