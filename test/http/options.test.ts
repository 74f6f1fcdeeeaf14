/** The options of a handler are checked when it is made, and the error names the first one that is wrong. */
import { expect, it } from 'vitest'
import { createHandler } from '../../src/http/create-handler.ts'
import { apiKeys } from '../../src/http/credentials/api-keys.ts'
import { VaultError } from '../../src/index.ts'
import { memoryEngine } from '../support/storages/engines.ts'
import { openPeople } from '../support/vaults/test-vault.ts'

/** Accepts any options, as from JavaScript. */
const create: (options?: unknown) => unknown = createHandler as never

const THROWS: ProxyHandler<object> = {
  ownKeys() {
    throw new Error('secret')
  },
}

it.each<[string, (good: object) => unknown, string]>([
  ['no options', () => undefined, 'createHandler: the options must be an object.'],
  ['a vault in place of options', () => 'v1', 'createHandler: the options must be an object.'],
  ['an option that is null', (good) => ({ ...good, log: null }), 'Option "log" must not be null.'],
  [
    'an option that has a secret for a name',
    (good) => ({ ...good, 'a secret': null }),
    'createHandler: Unknown option (not a valid name).',
  ],
  ['an object that throws where it is read', (good) => new Proxy(good, THROWS), 'The input cannot be read'],
  ['limits that throw where they are read', (good) => ({ ...good, limits: new Proxy({}, THROWS) }), 'The input cannot be read'],
  ['no authenticator', (good) => ({ ...good, authenticate: undefined }), 'Option "authenticate" must be an authenticator'],
  ['the text of a key', (good) => ({ ...good, authenticate: 'secret' }), 'Option "authenticate" must be an authenticator'],
  [
    'a list with an object that is not a function',
    (good) => ({ ...good, authenticate: [apiKeys(), {}] }),
    'Option "authenticate" must be',
  ],
  ['no vaults', (good) => ({ ...good, vaults: undefined }), 'Option "vaults" must be an open vault'],
  [
    'vaults by id',
    ({ vaults }: { vaults?: object }) => ({ vaults: { v1: vaults }, authenticate: apiKeys() }),
    'Option "vaults" must be',
  ],
  ['tables that are no names', (good) => ({ ...good, legacyTables: ['No Name'] }), 'Option "legacyTables" must be an array'],
  ['no time to be idle', (good) => ({ ...good, vaultIdleMs: 0 }), 'Option "vaultIdleMs" must be an integer from 1'],
  ['no function for an account', (good) => ({ ...good, vaultsOfAccount: [] }), 'Option "vaultsOfAccount" must be a function.'],
  ['no function for refusals', (good) => ({ ...good, onRefused: true }), 'Option "onRefused" must be a function.'],
  ['a token URI that is no URL', (good) => ({ ...good, tokenURI: 'token' }), 'Option "tokenURI" must be an URL'],
  [
    'a limit of nothing',
    (good) => ({ ...good, limits: { maxBodyBytes: 0 } }),
    'Option "limits.maxBodyBytes" must be an integer from 1.',
  ],
  ['a base that is neither path nor URL', (good) => ({ ...good, baseUrl: 'vault' }), 'Option "baseUrl" must be a path'],
])('%s', async (_what, optionsOf, says) => {
  await using vault = await openPeople(memoryEngine().fresh().open(), 'v1')
  const good = { vaults: vault, authenticate: apiKeys() }
  expect(create(good)).toBeTypeOf('function')
  const make = (): unknown => create(optionsOf(good))
  expect(make).toThrow(VaultError)
  expect(make).toThrow(says)
})
