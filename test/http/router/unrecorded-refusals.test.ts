/** Failures of the server behind a vault: what callers with and without a credential learn of them, and the host. */
import { expect, it } from 'vitest'
import { TICKET_PATH } from '../../../src/http/router/urls.ts'
import { VaultError } from '../../../src/index.ts'
import { serveVault } from '../../support/http/serve-vault.ts'
import { memoryEngine } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'

const PEOPLE = '/v1/vaults/v1/people'
const TICKET = TICKET_PATH.replace('{vaultID}', 'v1').replace('{ticket}', 'unknown')
const DOWN = new VaultError('unavailable', 'No server accepts connections at this address.')

/** A served vault whose storage fails from now on, and the log of its handler. */
async function serveFailing() {
  const { storage, fail } = faultyStorage(memoryEngine().fresh().open())
  const logged: object[] = []
  const log = { warn: () => {}, error: (fields: object) => void logged.push(fields) }
  const served = await serveVault({ storage, handler: { log } })
  fail(() => DOWN)
  return { served, logged }
}

it('a caller without a credential learns nothing of the storage that is down, and the log says it', async () => {
  const { served, logged } = await serveFailing()
  const requests = [
    ['GET', PEOPLE, { credential: 'TEST_SECRET-wrong' }],
    ['GET', PEOPLE, { credential: null }],
    ['GET', TICKET, { credential: null }],
    ['PUT', TICKET, { credential: null, body: 'content' }],
  ] as const
  for (const [method, path, options] of requests) {
    const { status, json } = await served.ask(method, path, options)
    expect([status, json.error.grpc_code]).toEqual([500, 14])
    expect(json.error.message).toMatch(
      /^(Get|Open file|Upload) failed\. The server cannot process the request now\. Send it again later\.$/,
    )
  }
  expect(logged).toHaveLength(requests.length)
  for (const fields of logged)
    expect(fields).toMatchObject({ code: 'unavailable', reason: expect.stringContaining(DOWN.message) })
  await served.close()
})

it('a caller whose refused request cannot be recorded reads one verb, and nothing of the request', async () => {
  const { served } = await serveFailing()
  const { status, json } = await served.ask('POST', PEOPLE, { body: '{', headers: { 'content-type': 'application/json' } })
  expect([status, json.error.grpc_code]).toEqual([500, 14])
  expect(json.error.message).toMatch(/^Insert failed\. The audit event could not be stored, so no result is returned\./)
  await served.close()
})

it('an authenticator that throws what only looks like an error of the vault is answered whole', async () => {
  const imitation = Object.assign(new Error('TEST_SECRET of the host'), { name: 'VaultError' })
  const served = await serveVault({
    storage: memoryEngine().fresh().open(),
    handler: { authenticate: () => Promise.reject(imitation) },
  })
  const { status, text, json } = await served.ask('GET', PEOPLE)
  expect([status, json.error.grpc_code]).toEqual([500, 13])
  expect(text).not.toContain('TEST_SECRET')
  await served.close()
})
