/** What docs/backup.md says of restores: a log that is left beside a SQLite file undoes them, and pg_dump has the whole vault. */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { required } from '../../src/core/util/lists.ts'
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import { OWNER, openPeople } from '../support/vaults/test-vault.ts'

const folder = mkdtempSync(join(tmpdir(), 'strongroom-backups-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Number of people in the vault of a file. */
async function countIn(filename: string): Promise<number> {
  const vault = await openPeople(sqliteStorage({ filename }))
  const { recordCount } = await vault.verifyRecords({ table: 'people' })
  await vault.close()
  return recordCount
}

describe('a SQLite file', () => {
  it('that is restored beside the log of the old one has the old state again, and without the log that of the backup', async () => {
    const filename = join(folder, 'live.db')
    const backup = join(folder, 'backup.db')
    const vault = await openPeople(sqliteStorage({ filename }))
    await vault.as(OWNER).insert('people', [{ fields: { name: 'Ann' } }])
    const connection = new Database(filename, { readonly: true })
    connection.prepare('vacuum into ?').run(backup)
    connection.close()
    await vault.as(OWNER).insert('people', [{ fields: { name: 'Bo' } }])
    // What a killed process leaves: closing the vault would remove the log.
    const left = join(folder, 'left.db')
    copyFileSync(`${filename}-wal`, `${left}-wal`)
    await vault.close()
    expect(existsSync(`${filename}-wal`)).toBe(false)

    copyFileSync(backup, left)
    expect(await countIn(left)).toBe(2)
    rmSync(left)
    copyFileSync(backup, left)
    expect(await countIn(left)).toBe(1)
  })
})

/** The major version of a program of PostgreSQL; 0 where it is not installed. */
const dumpVersion = Number(/\) (\d+)/.exec(spawnSync('pg_dump', ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1] ?? 0)

async function serverVersion(): Promise<number> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
  const { rows } = await client.query("select current_setting('server_version_num')::integer / 10000 as major")
  await client.end()
  return rows[0].major
}

describe('a schema of PostgreSQL', async () => {
  const isTooOld = dumpVersion < (await serverVersion())
  it.skipIf(isTooOld)(
    'is restored by the commands of docs/backup.md (skipped without a pg_dump of the version of the server)',
    async () => {
      const page = readFileSync(new URL('../../docs/backup.md', import.meta.url), 'utf8')
      const commands = required(/^```sh\n(pg_dump.*?)^```/ms.exec(page)?.[1], 'the commands of docs/backup.md')
      const [from, to] = [await freshDatabase(inject('postgresUrl')), await freshDatabase(inject('postgresUrl'))]
      const vault = await openPeople(postgresStorage({ connectionString: from.url }))
      await vault.as(OWNER).insert('people', [{ fields: { name: 'Ann', email: 'ann@acme.example' } }])
      execFileSync('bash', ['-ec', commands], {
        cwd: folder,
        env: { ...process.env, DATABASE_URL: from.url, OTHER_DATABASE_URL: to.url },
      })
      await vault.close()

      const restored = await openPeople(postgresStorage({ connectionString: to.url }))
      expect(await restored.verifyRecords({ table: 'people' })).toMatchObject({ ok: true, recordCount: 1 })
      expect((await restored.verifyAudit()).ok).toBe(true)
      await restored.as(OWNER).insert('people', [{ fields: { name: 'Bo', email: 'bo@acme.example' } }])
      await restored.close()
      await from.drop()
      await to.drop()
    },
  )
})
