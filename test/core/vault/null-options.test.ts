/** The one rule for options that are null: they are refused by name, by every operation, method, adapter and authenticator. */
import { beforeAll, describe, expect, it } from 'vitest'
import { folderBlobs, s3Blobs } from '../../../src/adapters/blobs/index.ts'
import { ed25519Signer, localKeys } from '../../../src/adapters/keys/index.ts'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { openTelemetry, openTelemetryMetrics } from '../../../src/adapters/opentelemetry/index.ts'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { clamdScanner } from '../../../src/adapters/scanner/index.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { verifyExport } from '../../../src/audit-verifier/index.ts'
import { OPERATIONS } from '../../../src/core/operations/operations.ts'
import {
  createApiKey,
  createHandler,
  createServiceAccount,
  exchangeAssertion,
  jwt,
  signDataTokens,
} from '../../../src/http/index.ts'
import type { OperationName, Vault } from '../../../src/index.ts'
import { createVault, defineSchema, isVaultError } from '../../../src/index.ts'
import { type Clients, clients, openClients } from '../../support/audit/audited-clients.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

let vault: Vault<Clients>
let id: string

beforeAll(async () => {
  vault = await openClients(memoryStorage())
  const { records } = await vault.as(OWNER).insert('clients', [{ fields: { name: 'Ann' } }])
  id = records[0]?.id ?? ''
})

/** Returns the error that work throws, or fails. */
async function refusalOf(work: () => unknown): Promise<string> {
  try {
    await work()
  } catch (error) {
    if (!isVaultError(error, 'invalid_request')) throw error
    return error.message
  }
  throw new Error('It was not refused.')
}

/** A valid input of each operation that has options. */
const INPUTS = {
  insert: () => ({ table: 'clients', records: [{ fields: { name: 'Bo' } }] }),
  get: () => ({ table: 'clients' }),
  getOne: () => ({ table: 'clients', id }),
  update: () => ({ table: 'clients', id, fields: { name: 'Bo' } }),
  updateMany: () => ({ table: 'clients', records: [{ id, fields: { name: 'Bo' } }] }),
  updateWhere: () => ({ table: 'clients', where: { columnName: 'salary', columnValues: [1], fields: { name: 'Bo' } } }),
  detokenize: () => ({ records: [{ token: 'none' }] }),
  getByTokens: () => ({ tokens: ['none'] }),
  query: () => ({ query: 'SELECT name FROM clients' }),
  uploadFile: () => ({ table: 'clients', column: 'photo', file: new Uint8Array(1) }),
  openFile: () => ({ table: 'clients', id, column: 'photo' }),
  listCredentials: () => ({}),
  batch: () => ({ items: [{ method: 'GET', tableName: 'clients', ID: id }] }),
} as const satisfies Partial<Record<OperationName, () => object>>

/** Operations without options: their members are the input itself. */
const WITHOUT_OPTIONS = [
  ...(['delete', 'deleteOne', 'deleteWhere', 'tokenize', 'listEvents', 'deleteFile', 'fileStatus', 'uploadStatus'] as const),
  ...(['uploadURL', 'downloadURL', 'createCredential', 'revokeCredential'] as const),
]

describe('an option of an operation that is null', () => {
  it('is tried for every operation that has options', () => {
    expect([...Object.keys(INPUTS), ...WITHOUT_OPTIONS].sort()).toEqual([...Object.keys(OPERATIONS), 'batch'].sort())
  })

  it.each(Object.entries(INPUTS))('%s refuses each of its options by name', async (name, inputOf) => {
    const perform = (options: unknown) =>
      refusalOf(() => vault.as(OWNER).perform(name as OperationName, { ...inputOf(), options } as never))
    expect(await perform(null)).toMatch(/options must be an object|Invalid option/)
    // The error of an unknown option lists the supported ones.
    const listed = /Supported: (.*)\.$/.exec(await perform({ nonsense: true }))?.[1] ?? ''
    const supported = listed.replaceAll(/ \([^)]*\)| \{[^}]*\}/g, '').split(', ')
    expect(supported.length).toBeGreaterThan(0)
    for (const option of supported)
      expect(await perform({ [option]: null })).toContain(
        `Option "${option}" must not be null. Give it a value, or leave it out.`,
      )
  })

  it('listEvents and the look-ups refuse their members in the same way', async () => {
    const owner = vault.as(OWNER)
    const query = { filterOps: { accountID: 'v1' }, limit: null }
    expect(await refusalOf(() => owner.listEvents(query as never))).toContain('Option "limit" must not be null')
    const where = { columnName: null, columnValues: [1] }
    expect(await refusalOf(() => owner.deleteWhere('clients', where as never))).toContain('Option "columnName" must not be null')
  })
})

const keys = localKeys({ key: TEST_SECRET })
const httpOptions = { vaults: [], authenticate: async () => undefined }
const VAULT_OPTIONS = [
  'id',
  'schema',
  'storage',
  'keys',
  'clock',
  'entropy',
  'accountId',
  'policy',
  'audit',
  'tracing',
  'metrics',
  'log',
  'blobs',
  'scanner',
  'onInfected',
  'limits',
]
const client = { privateKey: '', keyID: '', clientID: '' }

/** Every other function with options: the options, and how it is called with one more. */
const FUNCTIONS: readonly (readonly [name: string, options: readonly string[], call: (options: object) => unknown])[] = [
  ['createVault', VAULT_OPTIONS, (o) => createVault({ id: 'v', schema: clients, storage: memoryStorage(), keys, ...o })],
  ['verifyRecords', ['table', 'signal', 'onProgress'], (o) => vault.verifyRecords(o)],
  ['verifyAudit', ['checkpoints', 'signal', 'onProgress'], (o) => vault.verifyAudit(o)],
  ['purgeExpired', ['signal', 'onProgress'], (o) => vault.purgeExpired(o)],
  ['scanFiles', ['signal', 'onProgress'], (o) => vault.scanFiles(o)],
  ['exportAudit', ['checkpoints', 'signal'], (o) => vault.exportAudit(o)[Symbol.asyncIterator]().next()],
  ['checkpointAudit', ['signer', 'sink'], (o) => vault.checkpointAudit(o as never)],
  ['explain', ['record'], (o) => vault.explain(OWNER, 'READ', 'clients', o)],
  ['verifyExport', ['checkpoints', 'keys'], (o) => verifyExport([], o)],
  ['localKeys', ['key', 'file'], (o) => localKeys(o as never)],
  ['ed25519Signer', ['keyId', 'privateKey'], (o) => ed25519Signer(o as never)],
  ['sqliteStorage', ['filename', 'synchronous'], (o) => sqliteStorage(o as never)],
  [
    'postgresStorage',
    ['pool', 'connectionString', 'schema', 'preparedStatements', 'maxConnections', 'timeouts'],
    (o) => postgresStorage(o),
  ],
  ['folderBlobs', ['directory'], (o) => folderBlobs(o as never)],
  ['s3Blobs', ['client', 'bucket', 'prefix'], (o) => s3Blobs(o as never)],
  ['clamdScanner', ['host', 'port', 'socket', 'timeoutMs', 'maxBytes'], (o) => clamdScanner(o as never)],
  ['openTelemetry', ['tracer'], (o) => openTelemetry(o)],
  ['openTelemetryMetrics', ['meter'], (o) => openTelemetryMetrics(o)],
  [
    'createHandler',
    [
      'vaults',
      'vaultIdleMs',
      'vaultsOfAccount',
      'authenticate',
      'baseUrl',
      'tokenURI',
      'names',
      'legacyTables',
      'limits',
      'log',
      'trustedProxies',
      'forwardedHeader',
    ],
    (o) => createHandler({ ...httpOptions, ...o }),
  ],
  ['jwt', ['issuers', 'roles', 'actor', 'clock'], (o) => jwt({ issuers: [], roles: () => [], ...o })],
  ['createApiKey', ['name', 'roles', 'context', 'expiresAt'], (o) => createApiKey(vault.as(OWNER) as never, o as never)],
  ['createServiceAccount', ['name', 'roles', 'tokenURI'], (o) => createServiceAccount(vault.as(OWNER) as never, o as never)],
  ['signDataTokens', ['ttlSeconds', 'ctx', 'clock'], (o) => signDataTokens(client, ['token'], o)],
  ['exchangeAssertion', ['vaultOf', 'audience', 'clock', 'request'], (o) => exchangeAssertion(o as never, {})],
]

/** The long work of a vault, and an explanation. */
const WORK: readonly (readonly [name: string, call: (options: never) => unknown])[] = [
  ['verifyRecords', (o) => vault.verifyRecords(o)],
  ['verifyAudit', (o) => vault.verifyAudit(o)],
  ['purgeExpired', (o) => vault.purgeExpired(o)],
  ['scanFiles', (o) => vault.scanFiles(o)],
  ['exportAudit', (o) => vault.exportAudit(o)[Symbol.asyncIterator]().next()],
  ['explain', (o) => vault.explain(OWNER, 'READ', 'clients', o)],
]

describe('the options of a vault method', () => {
  it.each(WORK)('of %s are refused as a whole if they are no object, and by name if one is unknown', async (_name, call) => {
    for (const options of [null, 'text', 5, true, [], ['signal']])
      expect(await refusalOf(() => call(options as never))).toContain('options must be an object')
    expect(await refusalOf(() => call({ singal: AbortSignal.abort() } as never))).toContain('Unknown option "singal"')
  })
})

describe('an option of a function that is null', () => {
  it.each(FUNCTIONS)('%s refuses each of its options by name', async (_name, options, call) => {
    for (const option of options)
      expect(await refusalOf(() => call({ [option]: null }))).toContain(`Option "${option}" must not be null`)
  })

  it('a member of limits, names or a budget is named by its path', async () => {
    const open = (limits: object) => createVault({ id: 'v', schema: clients, storage: memoryStorage(), keys, limits })
    expect(await refusalOf(() => open({ maxRecords: null }))).toContain('limits.maxRecords')
    expect(await refusalOf(() => createHandler({ ...httpOptions, names: { id: null as never } }))).toContain('names.id')
    const budget = { maxRows: null as never }
    await expect(vault.as(OWNER).query('SELECT name FROM clients', { budget })).rejects.toMatchObject({
      code: 'out_of_range',
      message: expect.stringContaining('budget.maxRows'),
    })
  })

  it('a null of the schema is refused with table and column', () => {
    expect(() => defineSchema({ clients: { name: { type: 'STRING', unique: null as never } } })).toThrow(/unique.*name.*clients/)
  })
})
