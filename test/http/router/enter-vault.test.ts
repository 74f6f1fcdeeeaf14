/** Callers as authenticators of the host describe them. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import type { Authenticate, HttpLog } from '../../../src/http/index.ts'
import { serveVault } from '../../support/http/serve-vault.ts'

it('answers 500 where the authenticator describes a caller that is not valid, and logs which member is wrong', async () => {
  const logged: [object, string][] = []
  const log: HttpLog = { warn: () => {}, error: (fields, message) => logged.push([fields, message]) }
  const caller = { actor: 'ann@acme.example', actorType: 'USER', roles: 'VAULT_OWNER' } as const
  // A host in JavaScript can pass anything.
  const authenticate = (async () => ({ caller, credential: {} })) as unknown as Authenticate
  const served = await serveVault({ storage: memoryStorage(), handler: { authenticate, log } })
  const { status, json } = await served.ask('GET', '/v1/vaults/v1/people')
  await served.close()
  expect([status, json.error.grpc_code]).toEqual([500, 13])
  expect(JSON.stringify(json)).not.toContain('roles')
  expect(JSON.stringify(logged)).toContain('roles')
})
