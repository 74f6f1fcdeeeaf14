/** What a conflict leaves in the log of the server, and the setting that docs/security.md names against it. */
import { readFileSync } from 'node:fs'
import { afterAll, expect, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { queryServer } from '../../support/postgres/query-server.ts'
import { startPostgres } from '../../support/postgres/server.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const server = await startPostgres()
afterAll(() => server.stop())

/** Inserts records with equal sealed and equal plain unique values, and returns what the server logs of it. */
async function logOfConflicts(schema: string): Promise<string> {
  const start = readFileSync(server.logPath).length
  const vault = await openPeople(postgresStorage({ connectionString: server.url, schema }))
  const session = vault.as(OWNER)
  for (const unique of [{ email: 'canary@acme.example' }, { badge: 'CANARY-BADGE' }]) {
    const record = { fields: { name: 'Ada', ...unique } }
    await session.insert('people', [record])
    const conflict = { code: 'conflict', details: [{ table: 'people', column: Object.keys(unique)[0], index: 1 }] }
    await expect(session.insert('people', [{ fields: { name: 'Kay' } }, record])).rejects.toMatchObject(conflict)
  }
  await vault.close()
  return readFileSync(server.logPath).subarray(start).toString()
}

it('the log holds digests and plain unique values of conflicts, and none once its messages are terse', async () => {
  const before = await logOfConflicts('wordy')
  expect(before).toMatch(/DETAIL: {2}Key \(digest_\d+_email\)=\(\\x[0-9a-f]{24}\) already exists/)
  expect(before).toContain('CANARY-BADGE')
  expect(before).not.toContain('canary@acme.example')
  await queryServer(server.url, "alter role vault set log_error_verbosity = 'terse'")
  const after = await logOfConflicts('terse')
  expect(after).toContain('duplicate key value violates unique constraint')
  expect(after).not.toMatch(/DETAIL|CANARY|\\x[0-9a-f]/)
})
