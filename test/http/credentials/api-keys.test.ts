/** API keys: made by an owner, found by their key id, refused alike, and revoked at once. */
import { expect, it } from 'vitest'
import { apiKeys, createApiKey, parseApiKey, printApiKey, printPrefixed } from '../../../src/http/credentials/api-keys.ts'
import { callerOf } from '../../support/audit/audited-clients.ts'
import { ask, onMemoryAndSqlite, openVaultAt, testClock } from '../../support/http/credential-vaults.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const KEY = { name: 'nightly', roles: ['reader'] } as const
const HOUR = 60 * 60_000

onMemoryAndSqlite('API keys', (engine) => {
  it('authenticate their requests as the key, with its roles and context', async () => {
    const vault = await openVaultAt(engine, testClock())
    const { keyId, apiKey } = await createApiKey(vault.as(OWNER), { ...KEY, context: { country: 'SE' } })
    expect(await ask(apiKeys(), apiKey, vault)).toEqual({
      caller: { actor: keyId, actorType: 'SERVICE_ACCOUNT', roles: ['reader'], context: { country: 'SE' } },
      credential: { authMode: 'API_KEY', keyID: keyId },
    })
    const other = await createApiKey(vault.as(OWNER), KEY)
    expect(other.apiKey).not.toBe(apiKey)
    expect(apiKey).toMatch(/^sr_[0-9a-f-]{36}_[\w-]{49}$/)
  })

  it('are not stored, listed or recorded as text', async () => {
    const vault = await openVaultAt(engine, testClock())
    const { apiKey } = await createApiKey(vault.as(OWNER), KEY)
    const secret = parseApiKey(apiKey)?.secret ?? expect.fail('the key has no parts')
    const lines: string[] = [JSON.stringify(await vault.as(OWNER).listCredentials())]
    for await (const line of vault.exportAudit()) lines.push(line)
    expect(lines.join()).not.toContain(secret)
  })

  it('that are unknown, of another kind, with another secret, revoked or expired are refused', async () => {
    const clock = testClock()
    const vault = await openVaultAt(engine, clock)
    const foreign = await openVaultAt(engine, clock, 'v2')
    const { keyId, apiKey } = await createApiKey(vault.as(OWNER), { ...KEY, expiresAt: clock.ms + HOUR })
    const other = await createApiKey(vault.as(OWNER), KEY)
    const unknown = { refused: 'unknown API key' }
    expect(await ask(apiKeys(), apiKey, foreign)).toEqual(unknown)
    expect(await ask(apiKeys(), apiKey, undefined)).toEqual(unknown)
    const [parts, otherParts] = [parseApiKey(apiKey), parseApiKey(other.apiKey)]
    if (parts === undefined || otherParts === undefined) return expect.fail('a key has no parts')
    expect(await ask(apiKeys(), printApiKey({ keyId, secret: otherParts.secret }), vault)).toEqual(unknown)
    expect(await ask(apiKeys(), printApiKey({ ...parts, keyId: other.keyId }), vault)).toEqual(unknown)
    const past = { refused: 'API key that is revoked or expired' }
    await vault.as(OWNER).revokeCredential({ keyId: other.keyId })
    expect(await ask(apiKeys(), other.apiKey, vault)).toEqual(past)
    clock.ms += HOUR - 1
    expect(await ask(apiKeys(), apiKey, vault)).toHaveProperty('caller')
    clock.ms += 1
    expect(await ask(apiKeys(), apiKey, vault)).toEqual(past)
  })

  it('with a typing error are refused without a look into storage, and other texts are of another kind', async () => {
    const vault = await openVaultAt(engine, testClock())
    const { apiKey } = await createApiKey(vault.as(OWNER), KEY)
    await vault.close()
    for (let i = 3; i < apiKey.length; i++) {
      const changed = apiKey.slice(0, i) + (apiKey[i] === 'a' ? 'b' : 'a') + apiKey.slice(i + 1)
      expect(await ask(apiKeys(), changed, vault)).toEqual({ refused: 'malformed API key' })
    }
    for (const text of ['sr_', `${apiKey}a`, apiKey.slice(0, -1), apiKey.toUpperCase().replace('SR_', 'sr_')])
      expect(await ask(apiKeys(), text, vault)).toEqual({ refused: 'malformed API key' })
    for (const text of ['', 'sr', 'a.b.c', ` ${apiKey}`]) expect(await ask(apiKeys(), text, vault)).toBeUndefined()
  })

  it('in the form that clients check serve as any other: made, found, refused and revoked alike', async () => {
    const vault = await openVaultAt(engine, testClock())
    const { keyId, apiKey } = await createApiKey(vault.as(OWNER), { ...KEY, format: { prefix: 'acme' } })
    expect(apiKey).toMatch(/^acme-[A-Za-z0-9]{5}-[0-9a-f]{32}$/)
    expect(keyId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(await ask(apiKeys(), apiKey, vault)).toEqual({
      caller: { actor: keyId, actorType: 'SERVICE_ACCOUNT', roles: ['reader'] },
      credential: { authMode: 'API_KEY', keyID: keyId },
    })
    const secret = apiKey.slice(-32)
    const lines: string[] = [JSON.stringify(await vault.as(OWNER).listCredentials())]
    for await (const line of vault.exportAudit()) lines.push(line)
    for (let i = 0; i <= 24; i++) expect(lines.join()).not.toContain(secret.slice(i, i + 8))
    const unknown = printPrefixed('acme', '0'.repeat(32))
    expect(await ask(apiKeys(), unknown, vault)).toEqual({ refused: 'unknown API key' })
    expect(await ask(apiKeys(), printApiKey({ keyId, secret: 'A'.repeat(43) }), vault)).toBeDefined()
    await vault.as(OWNER).revokeCredential({ keyId })
    expect(await ask(apiKeys(), apiKey, vault)).toEqual({ refused: 'API key that is revoked or expired' })
  })

  it('in that form with a typing error or another prefix are of another kind, without a look into storage', async () => {
    const vault = await openVaultAt(engine, testClock())
    const { apiKey } = await createApiKey(vault.as(OWNER), { ...KEY, format: { prefix: 'acme' } })
    await vault.close()
    for (let i = 0; i < apiKey.length; i++) {
      const changed = apiKey.slice(0, i) + (apiKey[i] === 'a' ? 'b' : 'a') + apiKey.slice(i + 1)
      expect(await ask(apiKeys(), changed, vault), changed).toBeUndefined()
    }
    expect(await ask(apiKeys(), apiKey.toUpperCase().replace('ACME', 'acme'), vault)).toBeUndefined()
  })

  it('are refused without options', async () => {
    const vault = await openVaultAt(engine, testClock())
    for (const given of [undefined, 7, 'acme'])
      await expect(createApiKey(vault.as(OWNER), given as never)).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('have no prefix that clients refuse', async () => {
    const vault = await openVaultAt(engine, testClock())
    for (const prefix of ['', 'Acme', 'a-b', 'acme1', 'a'.repeat(33), 7, undefined])
      await expect(createApiKey(vault.as(OWNER), { ...KEY, format: { prefix: prefix as string } })).rejects.toMatchObject({
        code: 'invalid_request',
        message: 'Option "format.prefix" must be 1 to 32 letters from a to z.',
      })
  })

  it('are made by owners only', async () => {
    const vault = await openVaultAt(engine, testClock())
    const session = vault.as(callerOf('VAULT_EDITOR'))
    await expect(createApiKey(session, KEY)).rejects.toMatchObject({ code: 'forbidden' })
  })
})
