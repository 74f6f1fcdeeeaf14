/** A key provider that is away, or withdraws its key, while a vault is open: what calls answer, and what goes on. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/index.ts'
import { transitKeys } from '../../../src/adapters/keys/transit/index.ts'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { VaultError } from '../../../src/core/errors.ts'
import type { KeyProvider } from '../../../src/core/ports/crypto.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column, defineSchema } from '../../../src/index.ts'
import { startTransit, type TransitServer } from '../../support/keys/transit-server.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const schema = defineSchema({ people: { name: column.string({ redaction: 'PLAIN_TEXT' }) } })
const CHECK_MS = 60_000
const WITHDRAWN = 'error: key withdrawn; the vault is closed failed_precondition'

let server: TransitServer
beforeEach(async () => {
  server = await startTransit()
})
afterEach(() => server.close())

const limits = { callTimeoutMs: 1000, openTimeoutMs: 2000 }
const transit = () => transitKeys({ url: `http://127.0.0.1:${server.port}`, key: 'pii', token: 'root', ...limits })

/** Time that passes when a test says so. */
function plantedTimer() {
  let due: { readonly milliseconds: number; readonly callback: () => void }[] = []
  return {
    after(milliseconds: number, callback: () => void) {
      const one = { milliseconds, callback }
      due.push(one)
      return () => {
        due = due.filter((other) => other !== one)
      }
    },
    /** Calls back what waits for a check of the key, and returns how many did. */
    pass(): number {
      const now = due.filter(({ milliseconds }) => milliseconds > 0 && milliseconds <= CHECK_MS)
      due = due.filter((one) => !now.includes(one))
      for (const { callback } of now) callback()
      return now.length
    },
    waiting: () => due.length,
  }
}

function logged() {
  const lines: string[] = []
  const note = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level}: ${message} ${'code' in fields ? fields.code : ''}`)
  return { lines, info: note('info'), warn: note('warn'), error: note('error') }
}

function open(storage: StorageHandle, keys: KeyProvider, more: object = {}) {
  return openVault({ ...SYSTEM_PORTS, id: 'v1', schema, storage, keys, ...more })
}

for (const audit of ['on', 'off'] as const) {
  onEachStorage(`a vault whose key service is away when another process has a new root key, audit ${audit},`, (engine) => {
    it('answers with the error of the key service, and goes on when it is back', async () => {
      const place = engine.fresh()
      const log = logged()
      const vault = await open(place.open(), transit(), { audit, log })
      const session = vault.as(OWNER)
      const { id } = await session.insertOne('people', { name: 'Ann' })
      const other = await open(place.open(), transit(), { audit })
      await other.rotateKeys()
      const { id: newer } = await other.as(OWNER).insertOne('people', { name: 'Bea' })
      await server.fail('failing')
      const away = { code: 'unavailable', message: expect.stringMatching(/^Vault Transit could not unwrap a root key/) }
      for (const call of [
        () => session.insertOne('people', { name: 'lost' }),
        () => session.getOne('people', newer),
        () => session.updateOne('people', id, { name: 'lost' }),
        () => vault.transaction((inside) => inside.as(OWNER).insertOne('people', { name: 'lost' })),
      ])
        await expect(call()).rejects.toMatchObject(away)
      expect((await other.as(OWNER).get('people')).records).toHaveLength(2)
      await server.fail(undefined)
      await session.insertOne('people', { name: 'Cid' })
      const { records } = await session.get('people')
      expect(records.map(({ fields }) => fields.name).sort()).toEqual(['Ann', 'Bea', 'Cid'])
      expect((await vault.verifyAudit()).ok).toBe(true)
      await Promise.all([vault.close(), other.close()])
    })
  })
}

describe('a key provider that throws an error of its own kind', () => {
  it('is unavailable in an open vault, and a defect while one is opened', async () => {
    const storage = memoryStorage()
    const keys = localKeys({ key: TEST_SECRET })
    let isAway = false
    const unwrap: KeyProvider['unwrap'] = (wrapped, associatedData) =>
      isAway ? Promise.reject(new TypeError('canary-secret')) : keys.unwrap(wrapped, associatedData)
    const vault = await open(storage, { ...keys, unwrap })
    const other = await open(storage, keys)
    await other.rotateKeys()
    isAway = true
    await expect(vault.as(OWNER).insertOne('people', { name: 'lost' })).rejects.toMatchObject({
      code: 'unavailable',
      message: 'The root key cannot be unwrapped. The key provider failed. Check it, then retry.',
      cause: { message: expect.not.stringContaining('canary') },
    })
    await expect(open(storage, { ...keys, unwrap })).rejects.toMatchObject({ code: 'internal' })
    isAway = false
    await vault.as(OWNER).insertOne('people', { name: 'Ann' })
  })
})

describe('revokeCheckMs', () => {
  it('asks the provider again each time, and closes the vault when it refuses the key', async () => {
    const timer = plantedTimer()
    const log = logged()
    const vault = await open(memoryStorage(), transit(), { revokeCheckMs: CHECK_MS, timer, log })
    const session = vault.as(OWNER)
    await session.insertOne('people', { name: 'Ann' })
    for (let checks = 1; checks <= 3; checks++) {
      const before = server.calls()
      expect(timer.pass()).toBe(1)
      await expect.poll(() => [server.calls() - before, timer.waiting()]).toEqual([1, 1])
    }
    expect((await session.get('people')).records).toHaveLength(1)
    server.tokens.clear()
    expect(timer.pass()).toBe(1)
    await expect.poll(() => log.lines).toContain(WITHDRAWN)
    const withdrawn = { code: 'failed_precondition', message: expect.stringContaining('its key provider withdrew the key') }
    await expect(session.get('people')).rejects.toMatchObject(withdrawn)
    await expect(vault.verifyAudit()).rejects.toMatchObject(withdrawn)
    await vault.close()
    await expect(session.get('people')).rejects.toMatchObject(withdrawn)
    expect(timer.pass()).toBe(0)
  })

  it('is passed over while the service is away: the vault works on', async () => {
    const timer = plantedTimer()
    const log = logged()
    const vault = await open(memoryStorage(), transit(), { revokeCheckMs: CHECK_MS, timer, log })
    for (const fault of ['failing', 'throttled', 'reset', 'hanging'] as const) {
      await server.fail(fault)
      log.lines.length = 0
      expect(timer.pass()).toBe(1)
      await expect.poll(() => log.lines).toEqual(['warn: key not checked; the vault works on unavailable'])
      await vault.as(OWNER).insertOne('people', { name: fault })
    }
    await vault.close()
    expect(timer.pass()).toBe(0)
  })

  it('takes the keys from calls in progress', async () => {
    const timer = plantedTimer()
    const log = logged()
    const vault = await open(memoryStorage(), transit(), { revokeCheckMs: CHECK_MS, timer, log })
    const work = vault.transaction(async (inside) => {
      await inside.as(OWNER).insertOne('people', { name: 'Ann' })
      server.tokens.clear()
      timer.pass()
      await expect.poll(() => log.lines).toContain(WITHDRAWN)
      await inside.as(OWNER).insertOne('people', { name: 'Bea' })
    })
    await expect(work).rejects.toMatchObject({ code: 'failed_precondition' })
  })

  it('looks at the key as it is wrapped now: the one before can have been withdrawn after a rewrap', async () => {
    const timer = plantedTimer()
    const storage = memoryStorage()
    const keys = transit()
    const other = await open(storage, transit())
    let isWatched = false
    let refused = 0
    const unwrap: KeyProvider['unwrap'] = async (wrapped, associatedData) => {
      if (!isWatched || wrapped.keyId !== 'pii/v1') return keys.unwrap(wrapped, associatedData)
      refused++
      await server.rotate()
      await other.rewrapKeys()
      throw new VaultError('failed_precondition', 'This version was destroyed.')
    }
    const vault = await open(storage, { ...keys, unwrap }, { revokeCheckMs: CHECK_MS, timer })
    isWatched = true
    expect(timer.pass()).toBe(1)
    await expect.poll(() => timer.waiting()).toBe(1)
    expect(refused).toBe(1)
    await vault.as(OWNER).insertOne('people', { name: 'Ann' })
    await vault.close()
  })

  it.each([0, 999, 1.5, 2 ** 31, '1000'])('%j is refused', async (revokeCheckMs) => {
    await expect(open(memoryStorage(), transit(), { revokeCheckMs })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('revokeCheckMs'),
    })
  })
})

describe('a key provider', () => {
  it('is closed with the vault, and once more when the key was withdrawn', async () => {
    const timer = plantedTimer()
    const keys = transit()
    let closed = 0
    const provider: KeyProvider = {
      ...keys,
      async close() {
        closed++
      },
    }
    const vault = await open(memoryStorage(), provider)
    await vault.as(OWNER).insertOne('people', { name: 'Ann' })
    expect(closed).toBe(0)
    await vault.close()
    expect(closed).toBe(1)
    await open(memoryStorage(), provider, { revokeCheckMs: CHECK_MS, timer })
    server.tokens.clear()
    timer.pass()
    await expect.poll(() => closed).toBe(2)
  })
})
