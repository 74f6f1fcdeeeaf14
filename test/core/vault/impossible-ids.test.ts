/** Verifications of tables where a row id was changed in the database to one that no row can have: they report it, and verify the other rows. */
import Database from 'better-sqlite3'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { MAX_ROW_ID } from '../../../src/core/ports/storage.ts'
import type { Vault } from '../../../src/index.ts'
import { openClients } from '../../support/audit/audited-clients.ts'
import { type Place, postgresEngine, sqliteEngine } from '../../support/storages/engines.ts'
import { flipped, openTampered, overwrite, RECORDS, rowOf, TOKENS } from '../../support/vaults/tampered-records.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const IDS = [2n ** 63n - 1n, 2n ** 53n + 1n, BigInt(MAX_ROW_ID) + 1n, 0n, -1n, -(2n ** 53n) - 1n, -(2n ** 63n)]
/** More than a page of a verification. */
const RECORD_COUNT = 230

/** Changes the database as a writer without the vault does. */
async function run(place: Place<'sqlite'> | Place<'postgres'>, statement: string): Promise<void> {
  const address = place.address()
  if (address.engine === 'sqlite') {
    const database = new Database(address.filename)
    database.exec(statement)
    database.close()
    return
  }
  const client = new pg.Client({ connectionString: address.url })
  await client.connect()
  await client.query(`set search_path to ${address.schema}`)
  await client.query(statement)
  await client.end()
}

async function exportAll(vault: Pick<Vault, 'exportAudit'>): Promise<string[]> {
  const lines: string[] = []
  for await (const line of vault.exportAudit()) lines.push(line)
  return lines
}

for (const engineOf of [sqliteEngine, postgresEngine]) {
  describe(`a row id that no row can have on ${engineOf === sqliteEngine ? 'sqlite' : 'postgres'}`, () => {
    const engine = engineOf()

    it.each(IDS)('%s of a record is a finding of its table, beside those of other rows', async (to) => {
      const place = engine.fresh()
      const storage = place.open()
      const { vault, records } = await openTampered(storage, RECORD_COUNT)
      await overwrite(storage, RECORDS, RECORD_COUNT, { body: flipped((await rowOf(storage, RECORDS, RECORD_COUNT)).body, 300) })
      await run(place, `update ${RECORDS} set id = ${to} where id = 7`)
      const { findings, recordCount } = await vault.verifyRecords()
      expect(findings).toContainEqual({ kind: 'impossible_id', table: 'people' })
      expect(findings).toContainEqual({ kind: 'unreadable_record', table: 'people', id: records.at(-1)?.id })
      expect(findings).toContainEqual({ kind: 'unexpected_token', table: 'people', column: 'card', id: records[6]?.id })
      expect(findings).toHaveLength(3)
      expect(recordCount).toBe(RECORD_COUNT - 1)
    })

    it.each(IDS)('%s of a stored token is a finding of its column and of its record', async (to) => {
      const place = engine.fresh()
      const { vault, records } = await openTampered(place.open(), RECORD_COUNT)
      await run(place, `update ${TOKENS} set id = ${to} where id = 1`)
      expect((await vault.verifyRecords()).findings).toEqual([
        { kind: 'missing_token', table: 'people', column: 'card', id: records[0]?.id },
        { kind: 'unexpected_token', table: 'people', column: 'card' },
      ])
    })

    it.each(IDS)('%s of an event or of a chain head is the first failure of the trail', async (to) => {
      const place = engine.fresh()
      const vault = await openClients(place.open())
      await Promise.all(Array.from({ length: RECORD_COUNT }, () => vault.as(OWNER).get('clients')))
      for (const table of ['audit_events', 'audit_chains']) {
        const others = table === 'audit_events' ? 'version, at, body' : 'version, body'
        await run(place, `insert into ${table} (id, ${others}) select ${to}, ${others} from ${table} order by id limit 1`)
        expect(await vault.verifyAudit(), table).toMatchObject({ ok: false, firstFailure: { reason: expect.any(String) } })
        await expect(exportAll(vault), table).rejects.toMatchObject({ code: 'data_loss' })
        await run(place, `delete from ${table} where id = ${to}`)
        expect(await vault.verifyAudit()).toMatchObject({ ok: true })
      }
    })
  })
}
