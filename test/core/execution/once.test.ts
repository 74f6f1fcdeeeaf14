/** Writes with an idempotency key: each is stored once, and every repeat is given the same result, in whatever process. */
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { type Caller, column, createVault, defineSchema, type OperationName, type Vault, VaultError } from '../../../src/index.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const schema = defineSchema({
  people: {
    name: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }),
    email: column.string({ unique: true, token: 'deterministic', redaction: 'PLAIN_TEXT' }),
    team: column.string({ searchable: true, redaction: 'PLAIN_TEXT' }),
    scan: column.file({ redaction: 'PLAIN_TEXT' }),
  },
})

const open = (storage: StorageHandle, audit?: 'off'): Promise<Vault> =>
  createVault({ id: 'v1', schema, storage, keys: localKeys({ key: TEST_SECRET }), ...(audit && { audit }) }) as Promise<Vault>

/** The same for a process whose clock is ahead, and whose timers end a hundred times as fast. */
const openAhead = (storage: StorageHandle, aheadMs = 0): Promise<Vault> =>
  openVault({
    ...SYSTEM_PORTS,
    clock: { now: () => SYSTEM_PORTS.clock.now() + BigInt(aheadMs) * 1_000_000n },
    stopwatch: { now: () => SYSTEM_PORTS.stopwatch.now() * 100 },
    timer: { after: (ms, run, keepsAlive) => SYSTEM_PORTS.timer.after(ms / 100, run, keepsAlive) },
    id: 'v1',
    schema,
    storage,
    audit: 'on',
    keys: localKeys({ key: TEST_SECRET }),
  }) as Promise<Vault>

/** A session by names alone, as a route has it. */
const performer =
  (vault: Vault, caller: Caller = OWNER) =>
  (name: string, input: object, idempotencyKey?: string): Promise<Record<string, never>> =>
    vault
      .as(caller)
      .perform(name as OperationName, input as never, idempotencyKey === undefined ? {} : { idempotencyKey }) as never

type Perform = ReturnType<typeof performer>

async function stored(perform: Perform): Promise<string[]> {
  const { records } = await perform('insert', {
    table: 'people',
    records: [
      { fields: { name: 'Ann', email: 'ann@acme.example', team: 'a' } },
      { fields: { name: 'Bo', email: 'bo@acme.example', team: 'b' } },
    ],
  })
  return (records as unknown as { id: string }[]).map(({ id }) => id)
}

const PLACE = { records: 2, digest: 'ab'.repeat(32) }
const file = new TextEncoder().encode('a scan')
const many = Array.from({ length: 80 }, (_, n) => ({ fields: { name: `n${n}`, email: `n${n}@acme.example` } }))

/** Every write, as its input on two stored records. */
const WRITES: Readonly<Record<string, (ids: readonly string[]) => readonly [name: string, input: object]>> = {
  insert: () => ['insert', { table: 'people', records: [{ fields: { name: 'Cy' } }], options: { tokenization: true } }],
  'insert of many': () => ['insert', { table: 'people', records: many, options: { tokenization: true } }],
  upsert: () => [
    'insert',
    {
      table: 'people',
      records: [{ fields: { name: 'An', email: 'ann@acme.example' } }, { fields: { name: 'Cy', email: 'cy@acme.example' } }],
      options: { upsert: 'email', tokenization: true },
    },
  ],
  'insert that ignores': () => [
    'insert',
    {
      table: 'people',
      records: [{ fields: { name: 'An', email: 'ann@acme.example' } }, { fields: { name: 'Cy', email: 'cy@acme.example' } }],
      options: { onConflict: 'ignore' },
    },
  ],
  importRecords: () => [
    'importRecords',
    { table: 'people', records: [{ fields: { name: 'Cy' } }, { fields: { unknown: 'x' } }], place: { name: 'i', to: PLACE } },
  ],
  update: ([a, b]) => [
    'update',
    {
      table: 'people',
      records: [
        { id: a, fields: { name: 'x' } },
        { id: b, fields: { name: 'y' } },
      ],
      options: { tokenization: true },
    },
  ],
  updateOne: ([a]) => ['updateOne', { table: 'people', id: a, fields: { name: 'x' } }],
  updateWhere: () => ['updateWhere', { table: 'people', where: { team: 'a' }, fields: { team: 'c' } }],
  delete: ([a, b]) => ['delete', { table: 'people', ids: [a, b] }],
  'delete of all': () => ['delete', { table: 'people', ids: ['*'] }],
  deleteOne: ([a]) => ['deleteOne', { table: 'people', id: a }],
  deleteWhere: () => ['deleteWhere', { table: 'people', where: { team: 'b' } }],
  batch: ([a, b]) => [
    'batch',
    {
      items: [
        { insert: 'people', fields: { name: 'Cy', email: 'cy@acme.example' }, tokenization: true },
        { get: 'people', id: { response: 0 }, redaction: 'PLAIN_TEXT' },
        { update: 'people', id: a, fields: { name: 'x' } },
        { delete: 'people', id: b },
      ],
    },
  ],
  'batch that goes on': ([a]) => [
    'batch',
    {
      items: [
        { insert: 'people', fields: { name: 'Cy', email: 'ann@acme.example' } },
        { update: 'people', id: a, fields: { name: 'x' } },
        { get: 'people', id: a },
      ],
      options: { continueOnError: true },
    },
  ],
  uploadFile: ([a]) => [
    'uploadFile',
    { table: 'people', column: 'scan', id: a, file, fileName: 'a.txt', options: { returnFileMetadata: true } },
  ],
  'uploadFile into a new record': () => ['uploadFile', { table: 'people', column: 'scan', file }],
  createCredential: () => [
    'createCredential',
    { kind: 'API_KEY', name: 'k', roles: ['VAULT_VIEWER'], verifier: 'ab'.repeat(32) },
  ],
  revokeCredential: () => ['revokeCredential', { jti: 'some id', expiresAt: 2_000_000_000_000 }],
}

/** All that a vault shows: records in order, with their versions and tokens, and credentials. */
async function shown(vault: Vault): Promise<unknown> {
  const perform = performer(vault)
  return Promise.all([
    perform('get', { table: 'people', options: { limit: 1000, redaction: 'PLAIN_TEXT', version: true } }),
    perform('get', { table: 'people', options: { limit: 1000, tokenization: true } }),
    perform('listCredentials', {}),
  ])
}

onEachStorage('a write with an idempotency key', (engine) => {
  it.each(Object.keys(WRITES))('%s: returns the same result again, and changes nothing more', async (name) => {
    const place = engine.fresh()
    const [vault, other] = [await open(place.open()), await open(place.open())]
    const [operation, input] = WRITES[name]?.(await stored(performer(vault))) ?? ['', {}]
    const first = await performer(vault)(operation, input, 'key-1')
    const after = await shown(vault)
    expect(await performer(vault)(operation, input, 'key-1')).toEqual(first)
    expect(await performer(other)(operation, input, 'key-1')).toEqual(first)
    expect(await shown(other)).toEqual(after)
    // It is what the write returns without a key.
    const alone = await open(engine.fresh().open())
    const [, again] = WRITES[name]?.(await stored(performer(alone))) ?? ['', {}]
    expect(shapeOf(await performer(alone)(operation, again))).toEqual(shapeOf(first))
  })

  it.each(Object.keys(WRITES))('%s: is stored once if four processes send it at once', async (name) => {
    const place = engine.fresh()
    const vaults = [await open(place.open())]
    while (vaults.length < 4) vaults.push(await open(place.open()))
    const [vault] = vaults
    if (vault === undefined) throw new Error('there are four')
    const [operation, input] = WRITES[name]?.(await stored(performer(vault))) ?? ['', {}]
    const results = await Promise.all(vaults.map((one) => performer(one)(operation, input, 'key-1')))
    for (const result of results) expect(result).toEqual(results[0])
    const repeats = (await eventsOf(vault)).map(({ content = '', rows }) => [content.includes('"repeated":true'), rows] as const)
    // The first of these events is of the records that were stored before.
    expect(repeats.map(([isRepeat]) => isRepeat).sort()).toEqual([false, false, true, true, true])
    if (operation !== 'batch') for (const [isRepeat, rows] of repeats) if (isRepeat) expect(rows).toBeUndefined()
    expect(await vault.verifyRecords()).toMatchObject({ ok: true })
  })

  it('is refused with another input, other roles or another context, and is another one of another actor', async () => {
    const vault = await open(engine.fresh().open())
    const input = { table: 'people', records: [{ fields: { name: 'Cy' } }] }
    const first = await performer(vault)('insert', input, 'key-1')
    const refused = {
      code: 'conflict',
      message: expect.stringMatching(/^Insert failed\. The idempotency key was used for another/),
    }
    await expect(performer(vault)('insert', { ...input, options: { tokenization: true } }, 'key-1')).rejects.toMatchObject(
      refused,
    )
    await expect(performer(vault)('delete', { table: 'people', ids: ['*'] }, 'key-1')).rejects.toMatchObject({ code: 'conflict' })
    const editor = performer(vault, { ...OWNER, roles: ['VAULT_EDITOR'] })
    await expect(editor('insert', input, 'key-1')).rejects.toMatchObject(refused)
    const tenant = performer(vault, { ...OWNER, context: { tenant: 2 } })
    await expect(tenant('insert', input, 'key-1')).rejects.toMatchObject(refused)
    const another = await performer(vault, { ...OWNER, actor: 'another' })('insert', input, 'key-1')
    expect(another).not.toEqual(first)
    expect((await performer(vault)('get', { table: 'people' })).records).toHaveLength(2)
  })

  it('is repeated by a caller who waits with another signal, or with none', async () => {
    const vault = await open(engine.fresh().open())
    const insert = (options: object) =>
      performer(vault)('insert', { table: 'people', records: [{ fields: { name: 'Cy' } }], options }, 'key-1')
    // As polyfills have it.
    const own = { aborted: false, self: {} }
    own.self = own
    const first = await insert({ signal: own })
    expect(await insert({})).toEqual(first)
    expect(await insert({ signal: AbortSignal.timeout(60_000) })).toEqual(first)
    await expect(insert({ tokenization: true })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('leaves nothing of a write that failed, so that its key can be used again', async () => {
    const vault = await open(engine.fresh().open())
    const [id] = await stored(performer(vault))
    const taken = { table: 'people', records: [{ fields: { email: 'ann@acme.example' } }] }
    await expect(performer(vault)('insert', taken, 'key-1')).rejects.toMatchObject({ code: 'conflict', message: /unique column/ })
    await performer(vault)('deleteOne', { table: 'people', id })
    const first = await performer(vault)('insert', taken, 'key-1')
    expect(await performer(vault)('insert', taken, 'key-1')).toEqual(first)
  })

  it('reads again what a batch reads, and nothing of it outlives its deletion', async () => {
    const vault = await open(engine.fresh().open())
    const perform = performer(vault)
    const input = {
      items: [
        { insert: 'people', fields: { name: 'Cy' } },
        { get: 'people', id: { response: 0 } },
      ],
    }
    const { responses } = await perform('batch', input, 'key-1')
    const { id } = (responses as unknown as { value: { id: string } }[])[0]?.value ?? { id: '' }
    await perform('updateOne', { table: 'people', id, fields: { name: 'Di' } })
    expect(await perform('batch', input, 'key-1')).toMatchObject({
      responses: [{ value: { id } }, { value: { fields: { name: 'Di' } } }],
    })
    await perform('deleteOne', { table: 'people', id })
    await expect(perform('batch', input, 'key-1')).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('The batch is stored, but item 1 cannot be read again'),
      details: [{ index: 1 }],
    })
    const reads = (await eventsOf(vault)).filter(({ action }) => action === 'BATCH').map(({ nested = [] }) => nested[1]?.code)
    expect(reads.sort()).toEqual([200, 200, 404])
  })

  it('works in a transaction, and rolls back with it', async () => {
    const vault = await open(engine.fresh().open())
    const input = { table: 'people', records: [{ fields: { name: 'Cy' } }] }
    const inside = (work: (perform: Perform) => Promise<unknown>) => vault.transaction((inner) => work(performer(inner as Vault)))
    await expect(
      inside(async (perform) => {
        await perform('insert', input, 'key-1')
        throw new Error('changed my mind')
      }),
    ).rejects.toThrow()
    expect((await performer(vault)('get', { table: 'people' })).records).toEqual([])
    const first = await inside((perform) => perform('insert', input, 'key-1'))
    expect(await inside((perform) => perform('insert', input, 'key-1'))).toEqual(first)
    expect(await performer(vault)('insert', input, 'key-1')).toEqual(first)
  })

  it('is kept for 24 hours, until the purge', async () => {
    const storage = engine.fresh().open()
    const input = { table: 'people', records: [{ fields: { name: 'Cy' } }] }
    const vault = await open(storage)
    const first = await performer(vault)('insert', input, 'key-1')
    expect(await vault.sweep()).toMatchObject({ credentials: 0 })
    expect(await performer(vault)('insert', input, 'key-1')).toEqual(first)
    const later = await openAhead(storage, 26 * 3_600_000)
    expect(await later.sweep()).toMatchObject({ credentials: 1 })
    expect(await performer(later)('insert', input, 'key-1')).not.toEqual(first)
  })

  it('works with the audit off', async () => {
    const place = engine.fresh()
    const [vault, other] = [await open(place.open(), 'off'), await open(place.open(), 'off')]
    const [id] = await stored(performer(vault))
    for (const [name, input] of [
      ['insert', { table: 'people', records: [{ fields: { name: 'Cy' } }] }],
      ['deleteOne', { table: 'people', id }],
    ] as const) {
      const results = await Promise.all([vault, other].map((one) => performer(one)(name, input, name)))
      expect(results[1]).toEqual(results[0])
    }
    expect((await performer(vault)('get', { table: 'people' })).records).toHaveLength(2)
  })

  it('refuses a key of another form, and takes no part in a read', async () => {
    const vault = await open(engine.fresh().open())
    for (const key of ['', 'a b', 'é', 'x'.repeat(256), 5 as never])
      await expect(performer(vault)('delete', { table: 'people', ids: ['*'] }, key)).rejects.toMatchObject({
        code: 'invalid_request',
      })
    const asked = { table: 'people', column: 'scan', file, id: async () => undefined }
    await expect(performer(vault)('uploadFile', asked, 'key-1')).rejects.toMatchObject({ code: 'invalid_request' })
    for (let n = 0; n < 2; n++) expect(await performer(vault)('get', { table: 'people' }, 'key-1')).toEqual({ records: [] })
    await performer(vault)('delete', { table: 'people', ids: ['*'] }, 'key-1')
  })
})

it('finds a key after a rotation of look-up keys', async () => {
  const vault = await openAhead(memoryStorage())
  const input = { table: 'people', records: [{ fields: { name: 'Cy' } }] }
  const first = await performer(vault)('insert', input, 'key-1')
  await vault.rotateKeys()
  await vault.rotateLookups()
  expect(await performer(vault)('insert', input, 'key-1')).toEqual(first)
})

describe('a write whose COMMIT was not answered', () => {
  it.each(['insert', 'upsert', 'deleteOne', 'batch'])('%s: is given its result, because it is stored', async (name) => {
    const faulty = faultyStorage(memoryStorage())
    const vault = await open(faulty.storage, 'off')
    const [operation, input] = WRITES[name]?.(await stored(performer(vault))) ?? ['', {}]
    let isOver = false
    faulty.fail(({ method, table }) => {
      isOver ||= method === 'insert' && table === 'credentials'
      return isOver && method === 'committed' ? new VaultError('outcome_unknown', 'lost') : undefined
    })
    const first = await performer(vault)(operation, input, 'key-1')
    faulty.mend()
    const after = await shown(vault)
    expect(await performer(vault)(operation, input, 'key-1')).toEqual(first)
    expect(await shown(vault)).toEqual(after)
  })
})

/** Ids, tokens and times differ between two vaults. */
function shapeOf(result: unknown): unknown {
  return JSON.parse(
    JSON.stringify(result, (name, value: unknown) => {
      if (name === 'tokens') return Object.keys(Object(value)).sort()
      if (value instanceof Error) return { message: value.message }
      return ['id', 'ids', 'updatedAt', 'createdAt', 'keyId', 'actor'].includes(name) ? typeof value : value
    }),
  )
}
