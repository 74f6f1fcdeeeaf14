/** Audit events over HTTP: of one vault, and of all vaults of an account that the caller can audit. */
import { afterEach, describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/index.ts'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import type { HostedVault } from '../../../src/http/vaults/open-vaults.ts'
import { createVault, type Vault } from '../../../src/index.ts'
import { CLERK_CREDENTIAL } from '../../support/http/ask.ts'
import { type ServedVault, serveVault } from '../../support/http/serve-vault.ts'
import { OWNER, people, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const PATH = '/v1/audit/events'

function open(id: string, accountId: string): Promise<Vault<(typeof people)['tables']>> {
  return createVault({ id, accountId, schema: people, storage: memoryStorage(), keys: localKeys({ key: TEST_SECRET }) })
}

describe('audit events of an account', () => {
  const served: ServedVault[] = []
  const others: HostedVault[] = []
  afterEach(async () => {
    for (const one of served.splice(0)) await one.close()
    for (const one of others.splice(0)) await one.close()
  })

  /** Serves two vaults of the account `acme` and one of `other`, each with some events. */
  async function serveThree(): Promise<ServedVault> {
    const vaults = [await open('v1', 'acme'), await open('v2', 'acme'), await open('v3', 'other')] as const
    for (let round = 0; round < 4; round++) for (const vault of vaults) await vault.as(OWNER).get('people')
    const one = await serveVault({ vault: vaults[0] as unknown as Vault, handler: { vaults } })
    served.push(one)
    others.push(vaults[1], vaults[2])
    return one
  }

  /** An event of a response, as far as the tests read it. */
  interface Listed {
    readonly context: { readonly changeID: string }
    readonly request: { readonly vaultID: string; readonly actionType: string }
    readonly response: { readonly timestamp: string }
  }

  it('come newest first from each of its vaults, and from no other, page after page without a gap', async () => {
    const { ask } = await serveThree()
    const seen: Listed[] = []
    let after = ''
    for (let page = 0; page < 10; page++) {
      const { status, json } = await ask('GET', `${PATH}?filterOps.accountID=acme&filterOps.actionType=GET&limit=3${after}`)
      expect(status).toBe(200)
      seen.push(...json.event)
      if (json.nextOps === undefined) break
      after = `&afterOps.timestamp=${json.nextOps.timestamp}&afterOps.changeID=${json.nextOps.changeID}`
    }
    expect(new Set(seen.map(({ context }) => context.changeID)).size).toBe(8)
    expect(seen.map(({ request }) => request.vaultID).sort()).toEqual([...Array(4).fill('v1'), ...Array(4).fill('v2')])
    const times = seen.map(({ response }) => response.timestamp)
    expect(times).toEqual(times.toSorted().reverse())
  })

  it('are those of one vault where the request names it', async () => {
    const { ask } = await serveThree()
    const { json } = await ask('GET', `${PATH}?filterOps.accountID=acme&filterOps.vaultID=v2&filterOps.actionType=GET`)
    expect(json.event.map(({ request }: Listed) => request.vaultID)).toEqual(['v2', 'v2', 'v2', 'v2'])
    const foreign = await ask('GET', `${PATH}?filterOps.accountID=acme&filterOps.vaultID=v3`)
    expect([foreign.status, foreign.json.event]).toEqual([200, []])
  })

  it('can be sorted by time and skipped, as far as one page of all vaults reaches', async () => {
    const { ask } = await serveThree()
    const sorted = 'filterOps.accountID=acme&filterOps.actionType=GET&sortOps.sortBy=timestamp'
    const whole = await ask('GET', `${PATH}?${sorted}&sortOps.orderBy=ASCENDING`)
    const times = whole.json.event.map(({ response }: Listed) => response.timestamp)
    expect(times).toEqual(times.toSorted())
    const part = await ask('GET', `${PATH}?${sorted}&sortOps.orderBy=ASCENDING&offset=2&limit=3`)
    expect(part.json.event).toEqual(whole.json.event.slice(2, 5))
    expect(part.json.nextOps).toBeUndefined()
    const refusals = [`${sorted}&offset=90&limit=20`, 'filterOps.accountID=acme&sortOps.sortBy=actor'].map((query) =>
      ask('GET', `${PATH}?${query}`),
    )
    expect((await Promise.all(refusals)).map(({ json }) => [json.error.http_code, json.error.grpc_code])).toEqual([
      [400, 11],
      [400, 3],
    ])
  })

  it('need AUDIT, an account, and a credential that one of its vaults accepts', async () => {
    const { ask } = await serveThree()
    const answers = [
      await ask('GET', `${PATH}?filterOps.accountID=acme`, { credential: CLERK_CREDENTIAL }),
      await ask('GET', PATH),
      await ask('GET', `${PATH}?filterOps.accountID=acme`, { credential: 'TEST_SECRET-unknown' }),
      await ask('GET', `${PATH}?filterOps.accountID=nothing`),
      await ask('GET', `${PATH}?filterOps.accountID=acme`, { credential: null }),
    ]
    expect(answers.map(({ status, json }) => [status, json.error.grpc_code])).toEqual([
      [401, 7],
      [400, 3],
      [401, 16],
      [401, 16],
      [401, 16],
    ])
    expect(answers[1]?.json.error.message).toBe('List events failed. filterOps.accountID is required.')
  })
})
