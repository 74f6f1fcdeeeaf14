/** The commands on a real PostgreSQL: the same answers as on SQLite, what the engine says of itself, and a database that is away. */
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { runCommand } from '../../support/cli/run-command.ts'
import { emptyVaultFolder, SECRETS, SHOWN, storePeople } from '../../support/cli/vault-folder.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { queryServer } from '../../support/postgres/query-server.ts'

const STORAGE = `{ postgres: { connectionString: { env: 'DATABASE_URL' } } }`

describe('on PostgreSQL', () => {
  it('a vault is founded by schema apply alone, looked at, read and administered', async () => {
    const { url, drop } = await freshDatabase(inject('postgresUrl'))
    onTestFinished(drop)
    const folder = emptyVaultFolder({ storage: STORAGE })
    const run = (...args: string[]) => runCommand(args, { folder, env: { DATABASE_URL: url } })
    const early = await run('status')
    expect([early.code, early.stderr]).toEqual([4, expect.stringContaining('the storage has none')])
    const schemas = () => queryServer(url, `select nspname from pg_namespace where nspname = 'strongroom'`)
    expect(await schemas()).toEqual([])
    expect((await run('schema', 'apply')).code).toBe(0)
    expect(await schemas()).toHaveLength(1)
    const { id, tokens } = await storePeople(folder, { more: 2, url })

    const status = JSON.parse((await run('status', '--json')).stdout)
    expect(status).toMatchObject({
      storage: {
        engine: 'postgres',
        version: expect.stringMatching(/^\d+\./),
        driver: expect.stringMatching(/^pg /),
        place: 'schema strongroom',
      },
      records: { people: 3 },
      schemaChanges: 0,
    })
    expect(status.storage.bytes).toBeGreaterThan(10_000)
    const doctor = await run('doctor', '--json')
    expect(doctor.stdout).toContain('the vault connects as a superuser of PostgreSQL')
    expect(doctor.stdout).not.toContain('unsafe","finding":"the connection')

    const support = await run('get', 'people', id, '--role', 'support', '--json')
    expect(JSON.parse(support.stdout)).toMatchObject(SHOWN)
    const value = await run('detokenize', tokens.email ?? '', '--redaction', 'PLAIN_TEXT', '--json')
    expect(JSON.parse(value.stdout)).toMatchObject({ value: SECRETS.email })
    expect((await run('keys', 'rotate')).code).toBe(0)
    expect((await run('keys', 'destroy', '2', '--yes')).code).toBe(0)
    expect((await run('sweep', '--json')).stdout).toBe('{"expired":{},"held":0,"transients":0,"files":0,"credentials":0}\n')
    const purged = await run('purge-disk', '--full')
    expect(purged.stdout).toMatch(
      /^VACUUM FULL wrote \d+ tables anew.*\nPages in memory.*\nBytes of what was deleted can remain in:\n- write-ahead-log: /,
    )
    expect((await run('maintenance')).stderr).toBe('No slow work runs.\n')
  })

  it('a database that is away, and what is not an address, are one sentence without the address', async () => {
    const folder = emptyVaultFolder({ storage: STORAGE })
    for (const url of ['postgres://user:hidden@127.0.0.1:1/none', 'no address hidden']) {
      const { code, stderr } = await runCommand(['status'], { folder, env: { DATABASE_URL: url } })
      expect(code).toBeGreaterThanOrEqual(4)
      expect(stderr.trim().split('\n')).toHaveLength(1)
      expect(stderr).not.toContain('hidden')
    }
  })
})
