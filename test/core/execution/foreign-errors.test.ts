/** Errors of code that is not the vault's: storages, key providers, ports and objects of the application. None gets out with its text. */
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { toIntegerCell } from '../../../src/adapters/sql/stored-cells.ts'
import { verifyExport } from '../../../src/audit-verifier/index.ts'
import {
  type Caller,
  column,
  createVault,
  defineSchema,
  isVaultError,
  mask,
  VaultError,
  type VaultOptions,
} from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { type Clients, clients, eventsBy, eventsOf, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import { asLoose, openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const CANARY = 'Quetzalcoatl'
const FILTER = { filterOps: { accountID: 'v1' } }

/** Everything that an error shows. */
const shown = (error: unknown): string => `${inspect(error, { depth: 8, showHidden: true })} ${JSON.stringify(error)}`

async function errorOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return `no error: ${inspect(await work())}`
  } catch (error) {
    return error
  }
}

/** Throws the canary when it is read in any way. */
const throwing = new Proxy(
  {},
  {
    get: () => fail(),
    has: () => fail(),
    ownKeys: () => fail(),
    getPrototypeOf: () => fail(),
    getOwnPropertyDescriptor: () => fail(),
  },
) as never // Given where the types ask for anything.

function fail(): never {
  throw new Error(CANARY)
}

describe('an error of a storage', () => {
  const raw = () => Object.assign(new SyntaxError(`Unexpected token in ${CANARY}`), { row: CANARY })
  const imitation = () =>
    Object.assign(new Error(CANARY), { name: 'VaultError', code: 'unavailable', httpStatus: 418, details: [{ table: CANARY }] })

  async function open(storage: StorageHandle) {
    const lines: string[] = []
    const line = (fields: object, message: string): void => void lines.push(inspect([fields, message]))
    const vault = await openClients(storage, { log: { info: line, warn: line, error: line } })
    const { records } = await vault.as(OWNER).insert('clients', [{ fields: { name: 'Ann' } }])
    return { vault, lines, id: records[0]?.id ?? '' }
  }

  it.each([
    ['raw', raw, 'internal'],
    ['that imitates a VaultError', imitation, 'unavailable'],
  ] as const)('%s keeps no text, in any operation', async (_what, errorFrom, code) => {
    const faulty = faultyStorage(memoryStorage())
    const { vault, lines, id } = await open(faulty.storage)
    const owner = vault.as(OWNER)
    const calls = [
      () => owner.insert('clients', [{ fields: { name: 'Bo' } }]),
      () => owner.get('clients'),
      () => owner.getOne('clients', id),
      () => owner.updateOne('clients', id, { country: 'SE' }),
      () => owner.deleteOne('clients', id),
      () => owner.delete('clients', '*'),
      () => owner.query("SELECT name FROM clients WHERE email = 'x'"),
      () => owner.tokenize([{ table: 'clients', column: 'email', value: 'x' }]),
      () => owner.detokenize([{ token: 'x' }]),
      () => vault.transaction((inside) => inside.as(OWNER).get('clients')),
    ]
    for (const [index, call] of calls.entries()) {
      faulty.fail(({ table }) => (table?.includes('client') === true ? errorFrom() : undefined))
      const error = await errorOf(call)
      faulty.mend()
      expect(error, String(index)).toBeInstanceOf(VaultError)
      expect(error, String(index)).toMatchObject({ code, httpStatus: 500, details: [] })
      expect(shown(error), String(index)).not.toContain(CANARY)
    }
    expect(lines).toHaveLength(calls.length)
    expect(JSON.stringify([lines, await eventsOf(vault)])).not.toContain(CANARY)
  })

  it.each([
    ['verifyAudit', (vault: Awaited<ReturnType<typeof openClients>>) => vault.verifyAudit()],
    ['exportAudit', (vault: Awaited<ReturnType<typeof openClients>>) => eventsOf(vault)],
    ['listEvents', (vault: Awaited<ReturnType<typeof openClients>>) => vault.as(OWNER).listEvents(FILTER)],
    ['sweep', (vault: Awaited<ReturnType<typeof openClients>>) => vault.sweep()],
    ['a begin of a transaction', (vault: Awaited<ReturnType<typeof openClients>>) => vault.transaction(async () => 1)],
    [
      'checkpointAudit',
      (vault: Awaited<ReturnType<typeof openClients>>) =>
        vault.checkpointAudit({ signer: { keyId: 'k', sign: async () => new Uint8Array(64) } }),
    ],
  ])('keeps no text in %s', async (_what, call) => {
    const faulty = faultyStorage(memoryStorage())
    const { vault } = await open(faulty.storage)
    faulty.fail(raw)
    const error = await errorOf(() => call(vault))
    expect(error).toBeInstanceOf(VaultError)
    expect(shown(error)).not.toContain(CANARY)
  })

  it('that is a VaultError loses its foreign cause and properties, and stays the same object', async () => {
    const faulty = faultyStorage(memoryStorage())
    const { vault } = await open(faulty.storage)
    const down = Object.assign(new VaultError('unavailable', 'The engine is down.', {}, { cause: new TypeError(CANARY) }), {
      statement: CANARY,
    })
    faulty.fail(({ method }) => (method === 'find' ? down : undefined))
    const error = await errorOf(() => vault.as(OWNER).get('clients'))
    expect(error).toBe(down)
    expect(down).toMatchObject({ message: 'The engine is down.', cause: { message: expect.stringMatching(/^TypeError \(/) } })
    expect(shown(error)).not.toContain(CANARY)
  })

  it('is not thrown while a vault opens', async () => {
    const faulty = faultyStorage(memoryStorage())
    faulty.fail(raw)
    const error = await errorOf(() => openClients(faulty.storage))
    expect(error).toMatchObject({ name: 'VaultError', code: 'internal' })
    expect(shown(error)).not.toContain(CANARY)
  })
})

describe('what the application itself throws', () => {
  it('in a transaction is rethrown unchanged, whatever it is', async () => {
    const vault = await openClients(memoryStorage())
    for (const own of [new Error(CANARY), CANARY, undefined, throwing]) {
      let thrown: unknown = 'nothing'
      await vault
        .transaction(() => Promise.reject(own))
        .catch((error: unknown) => {
          thrown = error
        })
      expect(Object.is(thrown, own)).toBe(true)
    }
  })

  it('in a sink is rethrown unchanged, and in a signer is not', async () => {
    const vault = await openClients(memoryStorage())
    const own = new Error(CANARY)
    const signer = { keyId: 'k', sign: async () => new Uint8Array(64) }
    await expect(vault.checkpointAudit({ signer, sink: () => Promise.reject(own) })).rejects.toBe(own)
    const error = await errorOf(() => vault.checkpointAudit({ signer: { ...signer, sign: () => Promise.reject(own) } }))
    expect(error).toMatchObject({ name: 'VaultError', code: 'internal' })
    expect(shown(error)).not.toContain(CANARY)
  })
})

describe('an error of a key provider', () => {
  const raw = () => Promise.reject(Object.assign(new Error(CANARY), { key: CANARY }))

  it('keeps no text while a vault is created or opened', async () => {
    const storage = memoryStorage()
    const sound = localKeys({ key: TEST_SECRET })
    for (const keys of [
      { ...sound, wrap: raw },
      { ...sound, unwrap: raw },
    ]) {
      const error = await errorOf(() => createVault({ id: 'v1', schema: clients, storage, keys }))
      expect(error).toMatchObject({ name: 'VaultError', code: 'internal' })
      expect(shown(error)).not.toContain(CANARY)
    }
    await openClients(storage) // It opens with the key, as before.
  })
})

describe('a clock or tracing that throws', () => {
  it('does so without its text, and tracing changes no result', async () => {
    let isFailing = false
    const clock = { now: () => (isFailing ? fail() : BigInt(Date.now()) * 1_000_000n) }
    const failing = await openClients(memoryStorage(), { clock, audit: 'off' })
    isFailing = true
    const error = await errorOf(() => failing.as(OWNER).insert('clients', [{ fields: { name: 'Ann' } }]))
    expect(error).toMatchObject({ name: 'VaultError', code: 'internal' })
    expect(shown(error)).not.toContain(CANARY)

    let started = 0
    const vault = await openClients(memoryStorage(), {
      tracing: {
        startActiveSpan(_name, _attributes, work) {
          started++
          if (started % 2 === 1) fail()
          void work({ traceId: CANARY, end: fail })
          return Promise.reject(new Error(CANARY))
        },
      },
    })
    const owner = vault.as(OWNER)
    for (let round = 0; round < 4; round++) await owner.insert('clients', [{ fields: { name: 'Ann' } }])
    expect((await owner.get('clients')).records).toHaveLength(4)
    await expect(owner.getOne('clients', 'x')).rejects.toMatchObject({ code: 'not_found' })
    expect(started).toBe(6)
    const events = await eventsOf(vault)
    expect(events).toHaveLength(6)
    for (const { context } of events) expect(context.traceID).toMatch(/^[0-9a-f]{32}$/)
  })

  it('in a log that rejects leaves no unhandled rejection', async () => {
    const rejecting = (): void => Promise.reject(new Error(CANARY)) as unknown as undefined
    const vault = await openClients(memoryStorage(), { log: { info: rejecting, warn: rejecting, error: rejecting } })
    await expect(vault.as({ ...OWNER, roles: [] }).get('clients')).rejects.toMatchObject({ code: 'forbidden' })
  })
})

describe('an object of a caller that throws', () => {
  it('gives invalid_request without its text in every operation, and one event', async () => {
    const vault = await openClients(memoryStorage())
    const owner = vault.as(OWNER)
    const loose = asLoose(owner)
    const { records } = await owner.insert('clients', [{ fields: { name: 'Ann' } }])
    const id = records[0]?.id ?? ''
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      'insert, record': () => loose.insert('clients', [throwing]),
      'insert, fields': () => loose.insert('clients', [{ fields: throwing }]),
      'insert, tokens': () => loose.insert('clients', [{ fields: { name: 'x' }, tokens: throwing }]),
      'insert, options': () => loose.insert('clients', [{ fields: { name: 'x' } }], throwing),
      'update, options': () => loose.updateOne('clients', id, {}, throwing),
      'update, fields': () => loose.updateOne('clients', id, throwing),
      'get, options': () => loose.get('clients', throwing),
      'get, a getter': () =>
        loose.get('clients', {
          get orderBy() {
            return fail()
          },
        }),
      'get, a list': () => loose.get('clients', { fields: new Proxy(['name'], { get: () => fail() }) }),
      detokenize: () => loose.detokenize([throwing]),
      tokenize: () => loose.tokenize([throwing]),
      getByTokens: () => loose.getByTokens(['x'], throwing),
      'query, options': () => owner.query('SELECT name FROM clients', throwing),
      'query, signal': () =>
        owner.query('SELECT name FROM clients', {
          signal: {
            get aborted(): boolean {
              return fail()
            },
            addEventListener: fail,
            removeEventListener: fail,
          },
        }),
      'pages, options': () => owner.pages('clients', throwing).next(),
      listEvents: () => owner.listEvents(throwing),
      perform: () => owner.perform('get', throwing),
      'a getter that imitates a VaultError': () =>
        loose.get('clients', {
          get orderBy() {
            throw Object.assign(new Error(CANARY), { name: 'VaultError', code: CANARY, httpStatus: 200 })
          },
        }),
      'a getter that throws a VaultError': () =>
        loose.get('clients', {
          get orderBy() {
            throw new VaultError('internal', CANARY)
          },
        }),
      'a list of any length': () =>
        loose.detokenize(
          new Proxy([1] as never[], {
            get: (_list, key) => (key === 'length' ? { texts: [CANARY], pieces: [], valueOf: () => 5000 } : undefined),
          }),
        ),
    }
    for (const [name, call] of Object.entries(calls)) {
      const { error, events } = await eventsBy(vault, call)
      expect(error, name).toBeInstanceOf(VaultError)
      expect(error, name).toMatchObject({ code: 'invalid_request' })
      expect(shown(error), name).not.toContain(CANARY)
      expect(events, name).toMatchObject([{ code: 400 }])
      expect(JSON.stringify(events), name).not.toContain(CANARY)
    }
  })

  it('gives invalid_request in a caller, a schema, a policy and the options of a vault', async () => {
    const storage = memoryStorage()
    const vault = await openClients(storage)
    const given = { id: 'v1', schema: clients, storage, keys: localKeys({ key: TEST_SECRET }) } satisfies VaultOptions<Clients>
    const calls: readonly (() => unknown)[] = [
      () => vault.as(throwing),
      () => vault.as({ ...OWNER, context: throwing } as Caller),
      () => vault.explain(OWNER, 'READ', 'clients', { record: throwing }),
      () => defineSchema(throwing),
      () => defineSchema({ t: { c: throwing } }),
      () => defineSchema({ t: { c: column.string({ mask: throwing }) } }),
      () => createVault(throwing),
      () => createVault({ ...given, limits: throwing }),
      () => createVault({ ...given, policy: throwing }),
      () => createVault({ ...given, policy: { clerk: [throwing] } }),
      () => vault.verifyAudit({ checkpoints: [throwing] }),
      () => vault.verifyRecords(throwing),
      () => vault.checkpointAudit(throwing),
      () => eventsOf({ exportAudit: () => vault.exportAudit({ checkpoints: [throwing] }) }),
      () => vault.checkpointAudit({ signer: throwing }),
      () => vault.verifyRecords({ signal: throwing }),
      () => verifyExport([], throwing),
      () => verifyExport([], { checkpoints: throwing }),
      () => verifyExport([], { checkpoints: [throwing] }),
      () => verifyExport([], { keys: throwing }),
      () => verifyExport([], { keys: [throwing] }),
      () => mask.replace(throwing),
      ...Object.values<(options: never) => unknown>(column).map((build) => () => build(throwing)),
    ]
    for (const [index, call] of calls.entries()) {
      const error = await errorOf(async () => call())
      expect(error, String(index)).toMatchObject({ name: 'VaultError', code: 'invalid_request' })
      expect(shown(error), String(index)).not.toContain(CANARY)
    }
  })
})

onEachStorage('a stored cell that was changed in the database', (engine) => {
  it('is data_loss that names the column and not the cell', async () => {
    const tables = {
      t: { doc: column.json({ encrypted: false }), list: column.array({ encrypted: false }), name: column.string() },
    }
    const { vault, session, storage } = await openLoose(engine.fresh().open(), tables)
    const { records } = await session.insert('t', [{ fields: { doc: { a: 1 }, list: [1], name: 'x' } }])
    const id = records[0]?.id ?? ''
    const [row] = await storage.find('records_1_t', { kind: 'all' }, { order: 'asc', limit: 1 })
    const [doc = '', list = ''] = Object.keys(row ?? {}).filter((name) => /doc|list/.test(name))
    for (const [physical, name, text] of [
      [doc, 'doc', CANARY],
      [list, 'list', `{"${CANARY}":1}`],
    ] as const) {
      const [now] = await storage.find('records_1_t', { kind: 'all' }, { order: 'asc', limit: 1 })
      await storage.update('records_1_t', [{ id: now?.id ?? 0, version: now?.version ?? 0, set: { [physical]: text } }])
      const owner = vault.as(OWNER)
      for (const call of [
        () => owner.get('t', { redaction: 'PLAIN_TEXT' }),
        () => owner.getOne('t', id, { fields: [name], redaction: 'PLAIN_TEXT' }),
        () => owner.query(`SELECT ${name} FROM t`),
      ]) {
        const error = await errorOf(call)
        expect(error).toMatchObject({ name: 'VaultError', code: 'data_loss' })
        expect((error as VaultError).message).toMatch(/Column "(doc|list)" has a stored cell/)
        expect(shown(error)).not.toContain(CANARY)
      }
      await owner.updateOne('t', id, { [name]: name === 'doc' ? { a: 2 } : [2] })
    }
  })
})

it.each([CANARY, 1.5, null])('a storage that returns %s as the time of an event is found by verifyAudit', async (at) => {
  const sound = memoryStorage()
  const vault = await openClients({
    ...sound,
    find: async (table, filter, page) => {
      const rows = await sound.find(table, filter, page)
      return table === 'audit_events' ? rows.map((row) => ({ ...row, at })) : rows
    },
  })
  await vault.as(OWNER).insert('clients', [{ fields: { name: 'Ann' } }])
  const result = await vault.verifyAudit()
  expect(result).toMatchObject({ ok: false, firstFailure: { reason: expect.stringContaining('timestamp') } })
  expect(shown(result)).not.toContain(CANARY)
})

it('text in an integer column is data_loss, and not quoted', () => {
  expect(toIntegerCell('-9223372036854775808')).toBe(-(2n ** 63n))
  for (const text of [CANARY, '', '1.5', '0x10']) {
    expect(() => toIntegerCell(text)).toThrow(expect.objectContaining({ name: 'VaultError', code: 'data_loss' }))
  }
})

it('isVaultError runs no code of a hostile object', () => {
  expect(isVaultError(throwing)).toBe(false)
  expect(isVaultError(Object.assign(new Error('x'), { name: 'VaultError', code: 'conflict' }), 'conflict')).toBe(true)
})
