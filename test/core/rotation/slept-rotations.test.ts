/** A process that sleeps through rotations, inside its own or beside: nothing older is put back, and nothing is stored under a retired key. */
import { describe, expect, it } from 'vitest'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { isVaultError, VaultError } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { interposedStorage, type Moment } from '../../support/storages/interposed-storage.ts'
import type { Place } from '../../support/storages/places.ts'
import {
  fillRotating,
  LEASE_MS,
  leftBehind,
  missingIn,
  openRotating,
  type RotatingVault,
} from '../../support/vaults/rotating-vault.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

/** Two rotations by another process, each after which the key before is destroyed. */
async function rotateTwice(storage: StorageHandle): Promise<void> {
  for (const ahead of [1, 2]) {
    const other = await openRotating(storage, { aheadMs: ahead * LEASE_MS })
    const { version } = await other.rotateKeys()
    await other.destroyKey(version - 1)
  }
}

/** Due at the first begin of a transaction after a read of this table. */
function afterReading(table: string) {
  let isRead = false
  return ({ method, table: at }: Moment): boolean => {
    if (method === 'find' && at === table) isRead = true
    return isRead && method === 'begin'
  }
}

/** A pass that sleeps between its read and its write. Returns what is wrong afterwards. */
async function sleepInPass(place: Place, table: string, weaken = (storage: StorageHandle) => storage): Promise<string[]> {
  const filled = await fillRotating(await openRotating(place.open()), 30)
  const { storage, interpose } = interposedStorage(weaken(place.open()))
  const sleeping = await openRotating(storage)
  const awake = place.open()
  const isDone = interpose({ isDue: afterReading(table), work: () => rotateTwice(awake) })
  const ended = await sleeping.rotateKeys().catch((error: unknown) => error)
  expect(isDone()).toBe(true)
  if (ended instanceof Error) expect(isVaultError(ended, 'aborted')).toBe(true)
  const wrong: string[] = []
  for (const one of [await openRotating(place.open(), { aheadMs: 3 * LEASE_MS }), sleeping])
    wrong.push(...(await leftBehind(one)), ...(await missingIn(one, filled)))
  return wrong
}

onEachStorage('a pass that sleeps through two rotations', (engine) => {
  it.each(['records_1_people', 'transients', 'files', 'credentials', 'audit_chains', 'audit_events'])(
    'puts nothing older back into %s',
    async (table) => {
      expect(await sleepInPass(engine.fresh(), table)).toEqual([])
    },
  )

  it('would do so without comparing versions, which this test finds', async () => {
    const blind = (storage: StorageHandle): StorageHandle => {
      const wrap = <S extends Pick<StorageHandle, 'update' | 'get' | 'transaction'>>(inner: S): S => ({
        ...inner,
        async update(table, patches) {
          if (table !== 'records_1_people') return inner.update(table, patches)
          const rows = await inner.get(
            table,
            patches.map(({ id }) => id),
          )
          return inner.update(
            table,
            patches.map((patch, n) => ({ ...patch, version: rows[n]?.version ?? patch.version })),
          )
        },
        transaction: (work, options) => inner.transaction((within) => work(wrap(within)), options),
      })
      return wrap(storage)
    }
    expect((await sleepInPass(engine.fresh(), 'records_1_people', blind)).join('\n')).toContain('records')
  })
})

/** Everything that a process stores, by its first call of that kind. */
const WORK: Readonly<Record<string, (vault: RotatingVault, id: string, round: number) => Promise<unknown>>> = {
  read: (vault) => vault.as(OWNER).get('others'),
  refusal: (vault) =>
    vault
      .as(OWNER)
      .insertOne('people', { email: 'p0@acme.example' })
      .catch(() => {}),
  insert: (vault) => vault.as(OWNER).insert('people', [{ fields: { name: 'n', pin: 'x' } }], { tokenization: true }),
  update: (vault, id) => vault.as(OWNER).updateOne('people', id, { name: 'changed' }),
  upload: (vault, id) =>
    vault.as(OWNER).uploadFile({ table: 'people', column: 'scan', id, file: new Blob(['x']), fileName: 'b.txt' }),
  'abandoned upload': (vault, id) => {
    async function* broken() {
      yield new Uint8Array(10)
      throw new Error('the connection ended')
    }
    return vault
      .as(OWNER)
      .uploadFile({ table: 'people', column: 'scan', id, file: broken(), fileName: 'b' })
      .catch(() => {})
  },
  credential: (vault, _id, round) =>
    vault.as(OWNER).createCredential({
      kind: 'API_KEY',
      name: `other ${round}`,
      roles: ['r'],
      verifier: String(round).repeat(64).slice(0, 64),
    }),
  revocation: (vault, _id, round) => vault.as(OWNER).revokeCredential({ jti: `a ${round}`, expiresAt: Date.now() + 60_000 }),
  nonce: (vault, _id, round) => vault.credentials.spendOnce(`nonce ${round}`, Date.now() + 60_000),
  transaction: (vault) => vault.transaction((within) => within.as(OWNER).insertOne('others', { a: 'two' })),
  'refused request': (vault) => vault.recordRefusal({ error: new VaultError('unauthenticated', 'No credential.') }),
  purge: (vault) => vault.sweep(),
  verification: (vault) => vault.verifyAudit(),
}

/** What a process does after a rotation that it has not heard of. */
interface Deafness {
  /** Whether it did something before. */
  readonly before: boolean
  readonly work: string
  readonly weaken?: (storage: StorageHandle) => StorageHandle
}

/** Fills a vault, and returns a function that rotates its keys beside one more process each time, and returns what an older key seals then. */
async function rotatingBeside(place: Place, audit: 'on' | 'off'): Promise<(deafness: Deafness) => Promise<string[]>> {
  const other = await openRotating(place.open(), { audit })
  const { ids } = await fillRotating(other, 5)
  let round = 0
  return async ({ before, work, weaken = (storage) => storage }) => {
    const deaf = await openRotating(weaken(place.open()), { audit })
    await deaf.keys()
    if (before) await deaf.as(OWNER).get('people')
    await other.rotateKeys()
    await WORK[work]?.(deaf, ids[0] ?? '', ++round)
    return (await leftBehind(other)).map((one) => `${work}, audit ${audit}, ${before ? 'read' : 'nothing'} before: ${one}`)
  }
}

onEachStorage('a process that did not hear of a rotation', (engine) => {
  it.each(['on', 'off'] as const)('stores nothing under the retired key, audit %s', async (audit) => {
    const wrong: string[] = []
    // One vault for all: each rotation seals again what the process before stored.
    const afterRotation = await rotatingBeside(engine.fresh(), audit)
    for (const work of Object.keys(WORK))
      for (const before of [true, false]) wrong.push(...(await afterRotation({ before, work })))
    expect(wrong).toEqual([])
  })
})

describe('a process that reads an older catalog', () => {
  onEachStorage('for ever', (engine) => {
    it.each([
      ['insert', 'people'],
      ['nonce', 'credentials'],
    ])('would store what it seals under the retired key by a %s, which this test finds', async (work, table) => {
      const afterRotation = await rotatingBeside(engine.fresh(), 'off')
      expect((await afterRotation({ before: true, work, weaken: deafStorage })).join()).toContain(table)
    })
  })
})

/** A storage whose look at the catalog after a write says that nothing changed. */
function deafStorage(storage: StorageHandle): StorageHandle {
  let first: Awaited<ReturnType<StorageHandle['find']>> | undefined
  const wrap = <S extends Pick<StorageHandle, 'find' | 'transaction'>>(inner: S): S => ({
    ...inner,
    async find(table, filter, page) {
      if (table !== 'catalog' || page.newest !== true) return inner.find(table, filter, page)
      first ??= await inner.find(table, filter, page)
      return first
    },
    transaction: (work, options) => inner.transaction((within) => work(wrap(within)), options),
  })
  return wrap(storage)
}
