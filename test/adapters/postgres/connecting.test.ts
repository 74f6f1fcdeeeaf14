/** What keeps a storage from connecting: each has a sentence of its own, and stops a vault from being opened. */
import http from 'node:http'
import net from 'node:net'
import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { afterAll, afterEach, expect, inject, it } from 'vitest'
import { type PostgresOptions, postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { type CertificateName, makeCertificates } from '../../support/postgres/certificates.ts'
import { startPostgres } from '../../support/postgres/server.ts'
import { openPeople } from '../../support/vaults/test-vault.ts'

const certificates = makeCertificates()
const server = await startPostgres({ settings: certificates.settings })
const plainUrl = inject('postgresUrl')
const endings: (() => unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})
afterAll(async () => {
  await server.stop()
  certificates.remove()
})

/** Opens a vault, and expects the error that keeps it closed. Nothing of the address is in it. */
async function expectRefusal(options: PostgresOptions, says: string): Promise<void> {
  const storage = postgresStorage({ timeouts: { connectMs: 1000 }, ...options })
  endings.push(() => storage.close())
  const failure: unknown = await openPeople(storage).catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'failed_precondition', message: expect.stringContaining(says) })
  expect(String(failure)).not.toContain(new URL(server.url).password)
}

/** The same on a pool of the storage's own, and on one of the application. */
async function expectRefusals(connectionString: string, says: string): Promise<void> {
  await expectRefusal({ connectionString }, says)
  const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 1000 })
  endings.push(() => pool.end())
  await expectRefusal({ pool }, says)
}

function addressed(url: string, parameters: Readonly<Record<string, string>>): string {
  const address = new URL(url)
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
  return address.href
}

it('a server whose certificate is of a trusted authority is used over TLS', async () => {
  await certificates.use('good', server.url)
  const connectionString = addressed(server.url, { sslmode: 'verify-full', sslrootcert: certificates.caFile })
  const vault = await openPeople(postgresStorage({ connectionString }))
  await vault.close()
})

const TRUSTING = { sslmode: 'verify-full', sslrootcert: certificates.caFile }

const CERTIFICATES: Readonly<Record<string, readonly [CertificateName, Readonly<Record<string, string>>, string]>> = {
  'an untrusted authority': ['good', { sslmode: 'verify-full' }, 'from an authority that is not trusted'],
  'no authority, with one that is trusted': ['selfSigned', TRUSTING, 'is self-signed'],
  'no authority': ['selfSigned', { sslmode: 'require' }, 'is self-signed'],
  'an authority, and is too old': ['expired', TRUSTING, 'has expired'],
  'an authority, for another host': ['otherHost', TRUSTING, 'names another host'],
}

for (const [name, [certificate, parameters, says]] of Object.entries(CERTIFICATES)) {
  it(`a server whose certificate is of ${name} is refused`, async () => {
    await certificates.use(certificate, server.url)
    await expectRefusals(addressed(server.url, parameters), says)
  })
}

it('a server that offers no TLS to a client that demands it is refused', async () => {
  await expectRefusals(addressed(plainUrl, { sslmode: 'require' }), 'offers no TLS')
})

it('a server that demands a password which the connection lacks says so', async () => {
  await expectRefusals(Object.assign(new URL(plainUrl), { password: '' }).href, 'asks for a password')
})

it('a connection string that is no address, and one that names a missing file, say so', async () => {
  for (const connectionString of ['postgres://[', 'not an address', 'localhost:5432/app', 'host=a dbname=b', 'https://a/b', ''])
    await expectRefusal({ connectionString }, 'is no address')
  await expectRefusal({ connectionString: addressed(plainUrl, { sslrootcert: '/not/there' }) }, 'does not exist')
  await expectRefusal({ connectionString: 'postgres://u:p@%2Fnot%2Fthere/x' }, 'does not exist')
})

/** Servers that are not PostgreSQL: they answer, speak first, or greet as another database does. */
const OTHERS: Readonly<Record<string, () => net.Server>> = {
  'speaks HTTP': () => http.createServer((_, response) => response.end('hello')),
  'greets as SSH does': () => net.createServer((socket) => socket.on('error', () => {}).write('SSH-2.0-OpenSSH_9.2\r\n')),
  'greets as MySQL does': () =>
    net.createServer((socket) => socket.on('error', () => {}).write(Buffer.from('4a0000000a382e302e3336000800000000', 'hex'))),
  'answers as Redis does, and closes': () =>
    net.createServer((socket) => socket.on('error', () => {}).on('data', () => socket.end('-ERR unknown command\r\n'))),
}

for (const [name, create] of Object.entries(OTHERS)) {
  for (const sslmode of ['disable', 'require']) {
    it(`a port that ${name} is refused with sslmode=${sslmode}`, async () => {
      const other = create()
      await new Promise<void>((ready) => other.listen(0, '127.0.0.1', ready))
      endings.push(() => other.close())
      const { port } = other.address() as net.AddressInfo
      await expectRefusals(`postgres://vault:secret@127.0.0.1:${port}/app?sslmode=${sslmode}`, 'is no PostgreSQL server')
    })
  }
}

it('a port that accepts and says nothing is unavailable, as a server that hangs is', async () => {
  const silent = net.createServer((socket) => endings.push(() => socket.destroy()))
  await new Promise<void>((ready) => silent.listen(0, '127.0.0.1', ready))
  endings.push(() => silent.close())
  const { port } = silent.address() as net.AddressInfo
  const storage = postgresStorage({ connectionString: `postgres://u:p@127.0.0.1:${port}/x`, timeouts: { connectMs: 200 } })
  endings.push(() => storage.close())
  await expect(openPeople(storage)).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('in time') })
})

it('a pool that was ended says so, while opening and later', async () => {
  const pool = new pg.Pool({ connectionString: plainUrl })
  await pool.end()
  await expectRefusal({ pool }, 'The pool was ended')
  const ending = new pg.Pool({ connectionString: server.url })
  const storage = postgresStorage({ pool: ending, schema: 'ended_later' })
  await storage.prepare([{ name: 'notes', columns: [], indexes: [] }])
  await ending.end()
  await expect(storage.get('notes', [1])).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('The pool was ended'),
  })
})

/** A function with the members of the client of another library. */
const functionWith = (...names: readonly string[]): object =>
  Object.assign(() => {}, Object.fromEntries(names.map((name) => [name, () => {}])))

function fail(word: string): never {
  throw new Error(`${word} ${new URL(server.url).password}`)
}

const NO_POOLS: Readonly<Record<string, readonly [pool: () => unknown, says: string]>> = {
  'an empty object': [() => ({}), 'has no method connect'],
  'an object whose members throw': [() => new Proxy({}, { get: (_, name) => fail(String(name)) }), 'has no method connect'],
  'a list': [() => [], 'has no method connect'],
  'a number': [() => 7, 'has no method connect'],
  'an address': [() => 'postgres://u:p@h/x', 'is a text'],
  'a promise of a pool': [() => Promise.resolve(new pg.Pool()), 'is a promise'],
  'the class of a pool': [() => pg.Pool, 'is a function or a class'],
  'the package': [() => pg, 'has no method connect'],
  'a client': [() => new pg.Client({ connectionString: plainUrl }), 'is a single client'],
  PGlite: [() => new PGlite(), 'is one session'],
  'postgres.js': [() => functionWith('unsafe', 'begin', 'reserve', 'end', 'listen'), 'is postgres.js'],
  'the function of Neon': [() => functionWith('query', 'unsafe', 'transaction'), 'HTTP client of Neon'],
  'an object whose connect gives a session of another library': [
    () => ({ connect: async () => ({ client: {}, done() {} }) }),
    'gives no clients of pg',
  ],
  'an object whose connect calls back with a session': [
    () => ({ connect: (call: (session: object) => void) => call({ query() {} }) }),
    'gives no clients of pg',
  ],
  'an object whose connect gives nothing': [() => ({ connect: async () => undefined }), 'gives no clients of pg'],
}

for (const [name, [make, says]] of Object.entries(NO_POOLS)) {
  it(`${name} in place of a pool says so`, async () => {
    await expectRefusal({ pool: make() as pg.Pool }, says)
  })
}
