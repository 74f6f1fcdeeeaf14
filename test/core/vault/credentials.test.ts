/** Credentials that a vault keeps: who may hand them out, what is found, how they end, and that each step leaves its event. */
import { createHash, generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { CREDENTIALS } from '../../../src/core/schema/system-tables.ts'
import { at } from '../../../src/core/util/lists.ts'
import { type Caller, type CreateCredentialInput, VaultError, type VaultOptions } from '../../../src/index.ts'
import type { Cell, StorageHandle } from '../../../src/storage-port.ts'
import { type Clients, eventsBy, eventsOf, listedBy, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const HOUR = 60 * 60_000
const START_MS = 1_800_000_000_000
const TEST_VERIFIER = createHash('sha256').update('test secret').digest('hex')
const { n = '' } = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' })
const PUBLIC_KEY = JSON.stringify({ kty: 'RSA', n, e: 'AQAB' })
const CHOSEN = '6c0f5b52-7b5e-8d07-9f0e-4a3f6f6f9f11'
const API_KEY: CreateCredentialInput = { kind: 'API_KEY', name: 'nightly export', roles: ['reader'], verifier: TEST_VERIFIER }
const ACCOUNT: CreateCredentialInput = {
  kind: 'SERVICE_ACCOUNT',
  name: 'billing',
  roles: ['reader', 'writer'],
  verifier: PUBLIC_KEY,
}
const POLICY = {
  reader: ['ALLOW READ ON clients.* WITH REDACTION = PLAIN_TEXT WHERE clients.country = ctx.country'],
  writer: ['ALLOW CREATE ON clients.*'],
  masked: ['ALLOW ALL ON * WITH REDACTION = MASKED'],
  partly: ['ALLOW ALL ON * WITH REDACTION = PLAIN_TEXT', 'DENY READ ON clients.salary'],
  one: ['ALLOW ALL ON clients.* WITH REDACTION = PLAIN_TEXT'],
  named: ['ALLOW ALL ON clients.*, orders.* WITH REDACTION = PLAIN_TEXT', 'ALLOW AUDIT ON *'],
  custom: ['ALLOW ALL ON * WITH REDACTION = PLAIN_TEXT'],
  limited: ['DENY READ ON clients.salary'],
} as const

function clockAt(ms = START_MS) {
  const clock = { ms, now: () => BigInt(clock.ms) * 1_000_000n }
  return clock
}

function open(storage: StorageHandle, options: Partial<VaultOptions<Clients>> = {}) {
  return openClients(storage, { policy: POLICY, ...options })
}

onEachStorage('credentials of a vault', (engine) => {
  it('are found as they were created, in every process, without an event', async () => {
    const place = engine.fresh()
    const clock = clockAt()
    const vault = await open(place.open(), { clock })
    const other = await open(place.open(), { clock })
    const given = { ...API_KEY, context: { country: 'SE' }, expiresAt: START_MS + HOUR }
    const { keyId, actor } = await vault.as(OWNER).createCredential(given)
    expect(actor).toBe(keyId)
    const { events, answer } = await eventsBy(vault, () => other.credentials.find(keyId))
    expect(events).toEqual([])
    expect(answer).toEqual({ ...given, keyId, actor, actorType: 'SERVICE_ACCOUNT', createdAt: START_MS, isValid: true })
    expect(await other.credentials.find('unknown')).toBeUndefined()
    expect(await other.credentials.find('x'.repeat(100_000))).toBeUndefined()
    expect(await other.credentials.find(undefined as never)).toBeUndefined()
  })

  it('are listed in pages without what verifies them, also after they were revoked', async () => {
    const vault = await open(engine.fresh().open(), { clock: clockAt() })
    const owner = vault.as(OWNER)
    const first = await owner.createCredential(API_KEY)
    const second = await owner.createCredential(ACCOUNT)
    await owner.revokeCredential({ jti: 'some jwt', expiresAt: START_MS + HOUR })
    await owner.revokeCredential({ keyId: second.keyId })
    const { credentials } = await owner.listCredentials()
    expect(credentials.map(({ keyId }) => keyId)).toEqual([first.keyId, second.keyId])
    expect(credentials.map(({ revokedAt }) => revokedAt)).toEqual([undefined, START_MS])
    expect(JSON.stringify(credentials)).not.toContain(TEST_VERIFIER)
    expect(JSON.stringify(credentials)).not.toContain(n)
    expect((await owner.listCredentials({ offset: 1, limit: 1 })).credentials.map(({ kind }) => kind)).toEqual([
      'SERVICE_ACCOUNT',
    ])
    await expect(owner.listCredentials({ limit: 0 })).rejects.toMatchObject({ code: 'out_of_range' })
  })

  it('are created, revoked and listed by callers with ALL ON * in plain text only', async () => {
    const vault = await open(engine.fresh().open())
    const { keyId } = await vault.as({ ...OWNER, roles: ['custom'] }).createCredential(API_KEY)
    const refused = [[], ['reader'], ['VAULT_EDITOR'], ['masked'], ['partly'], ['one'], ['named'], ['VAULT_OWNER', 'partly']]
    for (const roles of refused) {
      const session = vault.as({ ...OWNER, roles })
      const calls = [
        () => session.createCredential(API_KEY),
        () => session.revokeCredential({ keyId }),
        () => session.revokeCredential({ jti: 'x', expiresAt: START_MS }),
        () => session.listCredentials(),
      ]
      for (const call of calls) {
        const { error, events } = await eventsBy(vault, call)
        expect(error, roles.join()).toMatchObject({ code: 'forbidden' })
        expect(events).toMatchObject([{ code: 401, resourceType: 'CREDENTIAL' }])
      }
    }
    expect((await vault.credentials.find(keyId))?.revokedAt).toBeUndefined()
  })

  it('are found by a key id that their creator chose, which one credential has', async () => {
    const place = engine.fresh()
    const vaults = [await open(place.open()), await open(place.open())]
    const created = await Promise.allSettled(
      vaults.map((vault) => vault.as(OWNER).createCredential({ ...API_KEY, keyId: CHOSEN })),
    )
    expect(created.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(created.find((one) => one.status === 'rejected')?.reason).toMatchObject({
      code: 'conflict',
      message: 'Create credential failed. A credential has this keyId. Choose another one.',
    })
    for (const vault of vaults) expect(await vault.credentials.find(CHOSEN)).toMatchObject({ keyId: CHOSEN, actor: CHOSEN })
  })

  it('are refused with a member that is invalid, which the error names without its content', async () => {
    const vault = await open(engine.fresh().open())
    const privateKey = JSON.stringify(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }))
    const invalid: readonly object[] = [
      {},
      { ...API_KEY, kind: 'JWT' },
      { ...API_KEY, name: '' },
      { ...API_KEY, roles: [] },
      { ...API_KEY, roles: ['x'.repeat(129)] },
      { ...API_KEY, verifier: 'test secret in plain text' },
      { ...ACCOUNT, verifier: TEST_VERIFIER },
      { ...ACCOUNT, verifier: privateKey },
      { ...API_KEY, context: { now: new Date() } },
      { ...API_KEY, context: 'x' },
      { ...API_KEY, context: { long: 'x'.repeat(5000) } },
      { ...API_KEY, keyID: 'chosen' },
      { ...ACCOUNT, keyId: CHOSEN },
      { ...API_KEY, secret: 'test secret in plain text' },
    ]
    for (const given of invalid) {
      const { error, events } = await eventsBy(vault, () => vault.as(OWNER).createCredential(given as CreateCredentialInput))
      expect(error).toMatchObject({ code: 'invalid_request' })
      expect(`${error} ${JSON.stringify(events)}`).not.toMatch(/test secret|xxx/)
      expect(events).toMatchObject([{ action: 'CREATE_CREDENTIAL', code: 400 }])
    }
    await expect(vault.as(OWNER).createCredential({ ...API_KEY, expiresAt: 1 })).rejects.toMatchObject({ code: 'out_of_range' })
    await expect(vault.as(OWNER).revokeCredential({} as never)).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(vault.as(OWNER).revokeCredential({ keyId: 'unknown' })).rejects.toMatchObject({ code: 'not_found' })
  })

  it('leave events that name them, and nothing that verifies them', async () => {
    const vault = await open(engine.fresh().open())
    const owner = vault.as(OWNER)
    const { keyId } = await owner.createCredential(API_KEY)
    await owner.createCredential(ACCOUNT)
    await owner.revokeCredential({ keyId: keyId.toUpperCase() })
    await owner.revokeCredential({ keyId })
    const listed = await listedBy(owner)
    const about = listed.filter(({ request }) => request.resources.includes(`CREDENTIAL/${keyId}`))
    expect(about.map(({ request }) => request.actionType)).toEqual([
      'CREATE_CREDENTIAL',
      'REVOKE_CREDENTIAL',
      'REVOKE_CREDENTIAL',
    ])
    const found = await owner.listEvents({ filterOps: { accountID: 'v1', resourceIDs: `CREDENTIAL/${keyId}` } })
    expect(found.events).toHaveLength(3)
    expect(JSON.stringify(listed)).not.toContain(TEST_VERIFIER)
    expect(JSON.stringify(listed)).not.toContain(n)
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
  })

  it('are revoked at once in every process, for good, also inside a transaction that commits', async () => {
    const place = engine.fresh()
    const clock = clockAt()
    const vault = await open(place.open(), { clock })
    const other = await open(place.open(), { clock })
    const { keyId } = await vault.as(OWNER).createCredential(API_KEY)
    await vault
      .transaction(async (inside) => {
        await inside.as(OWNER).revokeCredential({ keyId })
        throw new Error('rolled back')
      })
      .catch(() => {})
    expect((await other.credentials.find(keyId))?.revokedAt).toBeUndefined()
    await vault.transaction((inside) => inside.as(OWNER).revokeCredential({ keyId }))
    expect(await other.credentials.find(keyId)).toMatchObject({ revokedAt: START_MS, isValid: false })
    clock.ms += HOUR
    await other.as(OWNER).revokeCredential({ keyId })
    expect((await vault.credentials.find(keyId))?.revokedAt).toBe(START_MS)
  })

  it('and JWTs of others are revoked until they expire, also when many callers do it at once', async () => {
    const place = engine.fresh()
    const clock = clockAt()
    const vault = await open(place.open(), { clock })
    const other = await open(place.open(), { clock })
    expect(await other.credentials.isRevoked('jwt 1')).toBe(false)
    const revoke = (hours: number) => vault.as(OWNER).revokeCredential({ jti: 'jwt 1', expiresAt: START_MS + hours * HOUR })
    await Promise.all([revoke(1), revoke(1), revoke(1), revoke(1)])
    expect(await other.credentials.isRevoked('jwt 1')).toBe(true)
    expect(await other.credentials.isRevoked('jwt 2')).toBe(false)
    await revoke(5)
    await revoke(2)
    clock.ms += 5 * HOUR
    expect(await vault.sweep()).toMatchObject({ credentials: 0 })
    expect(await other.credentials.isRevoked('jwt 1')).toBe(true)
    clock.ms += HOUR + 1
    expect(await vault.sweep()).toMatchObject({ credentials: 1 })
    await expect(vault.credentials.isRevoked('x'.repeat(10_000))).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('serve once in all processes together, however many present them', async () => {
    const place = engine.fresh()
    const clock = clockAt()
    const vaults = [await open(place.open(), { clock }), await open(place.open(), { clock })]
    const spent = await Promise.all(
      Array.from({ length: 20 }, (_, i) => vaults[i % 2]?.credentials.spendOnce('assertion', START_MS + HOUR)),
    )
    expect(spent.filter((isFirst) => isFirst)).toHaveLength(1)
    expect(await vaults[0]?.credentials.spendOnce('another', START_MS + HOUR)).toBe(true)
    clock.ms += 3 * HOUR
    expect(await vaults[1]?.sweep()).toMatchObject({ transients: 0, files: 0, credentials: 2 })
    await expect(vaults[0]?.credentials.spendOnce('', START_MS)).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('that are service accounts get bearers for an hour, with some of their roles, which end with the account', async () => {
    const place = engine.fresh()
    const clock = clockAt()
    const vault = await open(place.open(), { clock })
    const other = await open(place.open(), { clock })
    const { keyId, actor } = await vault.as(OWNER).createCredential({ ...ACCOUNT, context: { country: 'SE' } })
    let count = 0
    const issue = (more = {}) =>
      vault.credentials.issueBearer({ keyId, assertion: { text: `assertion ${count++}`, expiresAt: START_MS + HOUR }, ...more })
    const { bearer, expiresAt } = await issue({ context: { country: 'DE', unit: 'x' }, request: { ipAddress: '192.0.2.7' } })
    const caller = { actor, actorType: 'SERVICE_ACCOUNT', keyId, expiresAt }
    expect(await other.credentials.verifyBearer(bearer)).toEqual({
      ...caller,
      jwtID: expect.any(String),
      roles: ['reader', 'writer'],
      context: { country: 'SE', unit: 'x' },
    })
    const payload = JSON.parse(Buffer.from(bearer.split('.')[1] ?? '', 'base64url').toString())
    expect(payload).toMatchObject({ iss: 'v1', aud: 'v1', sub: actor, key: keyId, exp: START_MS / 1000 + 3600 })
    const narrowed = await issue({ roles: ['reader'] })
    expect(await other.credentials.verifyBearer(narrowed.bearer)).toMatchObject({ roles: ['reader'] })
    await expect(issue({ roles: ['VAULT_OWNER'] })).rejects.toMatchObject({ code: 'forbidden' })
    const again = { keyId, assertion: { text: 'assertion 0', expiresAt: START_MS + HOUR } }
    await expect(other.credentials.issueBearer(again)).rejects.toMatchObject({ code: 'unauthenticated' })
    const trail = (await eventsOf(vault)).filter(({ action }) => action === 'ISSUE_BEARER')
    // At one time of the clock, events of several chains have no order.
    expect(trail.map(({ code, credential, context }) => [code, credential, context.actor]).sort()).toEqual([
      [200, keyId, actor],
      [200, keyId, actor],
      [401, keyId, actor],
      [401, keyId, actor],
    ])
    const context = { authMode: 'SERVICE_ACCOUNT_JWT', keyID: keyId }
    for (const event of trail) expect(event.context).toMatchObject(context)
    expect(trail.map((event) => event.context.ipAddress).sort()).toEqual(['', '', '', '192.0.2.7'])
    await vault.as(OWNER).revokeCredential({ jti: payload.jti, expiresAt })
    expect(await other.credentials.verifyBearer(bearer)).toBeUndefined()
    clock.ms += HOUR - 1
    expect(await other.credentials.verifyBearer(narrowed.bearer)).toBeDefined()
    clock.ms += 1
    expect(await other.credentials.verifyBearer(narrowed.bearer)).toBeUndefined()
    const last = await issue()
    await other.as(OWNER).revokeCredential({ keyId })
    expect(await vault.credentials.verifyBearer(last.bearer)).toBeUndefined()
    await expect(issue()).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
  })

  it('that are service accounts cannot take off a role with a DENY by the scope', async () => {
    const vault = await open(engine.fresh().open(), { clock: clockAt() })
    const { keyId } = await vault.as(OWNER).createCredential({ ...ACCOUNT, roles: ['reader', 'writer', 'limited'] })
    const issue = (roles: readonly string[]) =>
      vault.credentials.issueBearer({ keyId, assertion: { text: roles.join(), expiresAt: START_MS + HOUR }, roles })
    await expect(issue(['reader'])).rejects.toMatchObject({ code: 'forbidden' })
    const { bearer } = await issue(['reader', 'limited'])
    expect(await vault.credentials.verifyBearer(bearer)).toMatchObject({ roles: ['reader', 'limited'] })
  })

  it('get no bearer if they are API keys, unknown or expired, and no longer one than they are valid', async () => {
    const clock = clockAt()
    const vault = await open(engine.fresh().open(), { clock })
    const assertion = { text: 'assertion', expiresAt: START_MS + HOUR }
    const { keyId } = await vault.as(OWNER).createCredential(API_KEY)
    const messages = new Set<string>()
    const refuse = async (refused: string) => {
      await vault.credentials.issueBearer({ keyId: refused, assertion }).then(
        () => expect.fail('a bearer was issued'),
        (error: VaultError) => messages.add(`${error.code} ${error.message}`),
      )
    }
    await refuse(keyId)
    await refuse('unknown')
    const short = await vault.as(OWNER).createCredential({ ...ACCOUNT, expiresAt: START_MS + 10_000 })
    expect((await vault.credentials.issueBearer({ keyId: short.keyId, assertion })).expiresAt).toBe(START_MS + 10_000)
    clock.ms += 10_000
    await refuse(short.keyId)
    expect(messages.size).toBe(1)
    expect((await eventsOf(vault)).at(-1)).toMatchObject({ action: 'ISSUE_BEARER', code: 401 })
    await expect(vault.credentials.issueBearer({} as never)).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('are not forged: a bearer that is altered, of another vault or not a bearer at all is not verified', async () => {
    const vault = await open(engine.fresh().open())
    const { keyId } = await vault.as(OWNER).createCredential(ACCOUNT)
    const assertion = { text: 'assertion', expiresAt: Date.now() + HOUR }
    const { bearer } = await vault.credentials.issueBearer({ keyId, assertion })
    expect(await vault.credentials.verifyBearer(bearer)).toBeDefined()
    const [header = '', payload = '', signature = ''] = bearer.split('.')
    const encode = (json: object) => Buffer.from(JSON.stringify(json)).toString('base64url')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const last = bearer.at(-1) === 'A' ? 'B' : 'A'
    const texts = [
      ...['', '.', '..', 'x', `${bearer}.`, `${bearer}A`, bearer.slice(0, -1) + last, bearer.slice(1)],
      `${encode({ alg: 'none' })}.${payload}.`,
      `${encode({ alg: 'none', typ: 'JWT' })}.${payload}.${signature}`,
      `${encode({ typ: 'JWT', alg: 'HS256' })}.${payload}.${signature}`,
      `${header}.${encode({ ...claims, roles: ['VAULT_OWNER'] })}.${signature}`,
      `${header}.${payload}=.${signature}`,
      ...[undefined, null, {}, 7],
    ]
    for (const text of texts) expect(await vault.credentials.verifyBearer(text as string)).toBeUndefined()
    const foreign = await open(engine.fresh().open(), { id: 'v2' })
    expect(await foreign.credentials.verifyBearer(bearer)).toBeUndefined()
  })

  it('moved or changed in the database are data_loss, and never another credential', async () => {
    const place = engine.fresh()
    const vault = await open(place.open())
    const owner = vault.as(OWNER)
    const weak = await owner.createCredential(API_KEY)
    const strong = await owner.createCredential({ ...API_KEY, roles: ['VAULT_OWNER'] })
    const storage = place.open()
    await storage.prepare([CREDENTIALS])
    const stored = async () => storage.find('credentials', { kind: 'all' }, { order: 'asc', limit: 2 })
    const set = async (index: number, cells: Readonly<Record<string, Cell>>) => {
      const row = at(await stored(), index)
      expect(await storage.update('credentials', [{ id: row.id, version: row.version, set: cells }])).toEqual([true])
    }
    const [first, second] = [at(await stored(), 0), at(await stored(), 1)]
    // The digests change places: each key id finds the row of the other.
    await set(0, { digest: new Uint8Array(1) })
    await set(1, { digest: first.digest ?? null })
    await set(0, { digest: second.digest ?? null })
    await expect(vault.credentials.find(weak.keyId)).rejects.toMatchObject({ code: 'data_loss' })
    await expect(vault.credentials.find(strong.keyId)).rejects.toMatchObject({ code: 'data_loss' })
    // The body of one row in the other.
    await set(1, { digest: new Uint8Array(1) })
    await set(0, { digest: first.digest ?? null, body: second.body ?? null })
    await expect(owner.listCredentials()).rejects.toMatchObject({ code: 'data_loss' })
    await expect(owner.revokeCredential({ keyId: weak.keyId })).rejects.toMatchObject({ code: 'data_loss' })
  })

  it('leave no event if a request is refused before, except for the refusal itself', async () => {
    const place = engine.fresh()
    const vault = await open(place.open())
    const error = new VaultError('unauthenticated', 'The credential is not valid.')
    const request = { ipAddress: '192.0.2.7', requestID: 'r-1' }
    const { events, error: thrown } = await eventsBy(vault, () => vault.recordRefusal({ request, error }))
    expect(thrown).toBeUndefined()
    expect(events).toMatchObject([
      { action: 'REQUEST', resourceType: 'VAULT', code: 401, message: 'The credential is not valid.', context: request },
    ])
    expect(events[0]?.context).toMatchObject({ actor: 'unknown', jwtID: '' })
    const caller: Caller = { ...OWNER, request: { requestID: 'r-2' } }
    const malformed = new VaultError('invalid_request', 'The body is not JSON.')
    const second = await eventsBy(vault, () => vault.recordRefusal({ caller, error: malformed, httpStatus: 415 }))
    expect(second.events).toMatchObject([{ code: 415, context: { actor: OWNER.actor, requestID: 'r-2' } }])
    const foreign = await eventsBy(vault, () => vault.recordRefusal({ error: new Error('test secret') as VaultError }))
    expect(foreign.events).toMatchObject([{ code: 500 }])
    expect(JSON.stringify(foreign.events)).not.toContain('test secret')
    const listed = await vault.as(OWNER).listEvents({ filterOps: { accountID: 'v1', actionType: 'REQUEST' } })
    expect(listed.events).toHaveLength(3)
  })

  it('whose refusal cannot be stored are reported as the failure of the storage', async () => {
    const { storage, fail } = faultyStorage(engine.fresh().open())
    const vault = await open(storage)
    fail(() => new VaultError('unavailable', 'The storage cannot be reached.'))
    const error = new VaultError('unauthenticated', 'The credential is not valid.')
    await expect(vault.recordRefusal({ error })).rejects.toMatchObject({ code: 'unavailable' })
    await expect(vault.credentials.find('x')).rejects.toMatchObject({ code: 'unavailable' })
  })
})
