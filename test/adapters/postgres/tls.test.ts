/** The option `ssl` of a pool that the storage opens: it asks for TLS, checks the server, and never falls back to a connection in the clear. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { type PostgresOptions, postgresStorage } from '../../../src/adapters/postgres/index.ts'
import type { PhysicalTable } from '../../../src/core/ports/storage.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { type PostgresServer, startPostgres, unprivilegedAccount } from '../../support/postgres/server.ts'

const NOTES: PhysicalTable = { name: 'notes', columns: [{ name: 'title', type: 'text' }], indexes: [] }

let folder: string
let ca: string
let server: PostgresServer

// The certificate is made by openssl, which a machine can lack.
const canMake = spawnSync('openssl', ['version']).status === 0

beforeAll(async () => {
  if (!canMake) return
  folder = mkdtempSync(join(tmpdir(), 'strongroom-tls-'))
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const subject = ['-subj', '/CN=vault.test', '-addext', 'subjectAltName=DNS:vault.test,IP:127.0.0.1']
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject, '-keyout', key, '-out', certificate]
  execFileSync('openssl', made, { stdio: 'ignore' })
  chmodSync(key, 0o600)
  const account = unprivilegedAccount()
  if (account !== undefined) for (const path of [folder, key, certificate]) chownSync(path, account.uid, account.gid)
  ca = readFileSync(certificate, 'utf8')
  server = await startPostgres({ settings: ['ssl=on', `ssl_cert_file=${certificate}`, `ssl_key_file=${key}`] })
})

afterAll(async () => {
  await server?.stop()
  if (canMake) rmSync(folder, { recursive: true, force: true })
})

/** Whether the connections of a new storage with these options are encrypted, by what the server says; or the code of its error. */
async function encryptionOf(url: string, ssl: PostgresOptions['ssl']): Promise<unknown> {
  const name = `tls ${Math.random()}`
  const storage = postgresStorage({
    connectionString: `${url}?application_name=${encodeURIComponent(name)}`,
    ...(ssl === undefined ? {} : { ssl }),
  })
  const admin = new pg.Pool({ connectionString: url, max: 1 })
  try {
    await storage.prepare([NOTES])
    const { rows } = await admin.query(
      'select distinct ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name = $1',
      [name],
    )
    return rows.map((row: { ssl: boolean }) => row.ssl)
  } catch (error) {
    return (error as { code?: unknown }).code
  } finally {
    await storage.close()
    await admin.end()
  }
}

it.skipIf(!canMake)(
  'encrypts to a server whose certificate is of the given authority, and has the name of the host or the given one',
  async () => {
    expect(await encryptionOf(server.url, { ca })).toEqual([true])
    expect(await encryptionOf(server.url, { ca: [ca], servername: 'vault.test' })).toEqual([true])
    expect(await encryptionOf(server.url, { ca: Buffer.from(ca) })).toEqual([true])
    expect(await encryptionOf(server.url, { rejectUnauthorized: false })).toEqual([true])
    expect(await encryptionOf(server.url, false)).toEqual([false])
    expect(await encryptionOf(server.url, undefined)).toEqual([false])
  },
)

it.skipIf(!canMake)('refuses a server that is not trusted, has another name, or has no TLS', async () => {
  const refused = expect.stringMatching(/^(unavailable|failed_precondition)$/)
  expect(await encryptionOf(server.url, true)).toEqual(refused)
  expect(await encryptionOf(server.url, { ca, servername: 'other.test' })).toEqual(refused)
  const database = await freshDatabase(inject('postgresUrl'))
  expect(await encryptionOf(database.url, true)).toEqual(refused)
  expect(await encryptionOf(database.url, { rejectUnauthorized: false })).toEqual(refused)
  await database.drop()
})

it.each<[unknown, string]>([
  [{ ca: 5 }, 'ssl.ca is not valid.'],
  [{ rejectUnauthorized: 'no' }, 'ssl.rejectUnauthorized is not valid.'],
  [{ rejectUnauthorised: false }, 'Unknown option "rejectUnauthorised" of ssl. Did you mean "rejectUnauthorized"?'],
  ['require', 'Option "ssl" must be true, false or an object, such as { ca }.'],
])('refuses %o', (ssl, says) => {
  expect(() => postgresStorage({ connectionString: 'postgres://127.0.0.1:1/none', ssl: ssl as never })).toThrow(says)
})

it.each([0, -1, 1.5, '5'])('refuses %o as the number of connections', (maxConnections) => {
  const options = { connectionString: 'postgres://127.0.0.1:1/none', maxConnections: maxConnections as number }
  expect(() => postgresStorage(options)).toThrow('Option "maxConnections" must be an integer from 1.')
})
