/** An option that no code reads, and one that is null, is refused by its name: by every exported function, method of a vault, and operation. */
import { beforeAll, describe, expect, it } from 'vitest'
import { ENTRY_POINTS } from '../scripts/entry-points.ts'
import { folderBlobs, s3Blobs } from '../src/adapters/blobs/index.ts'
import { awsKmsKeys } from '../src/adapters/keys/aws/index.ts'
import { azureKeys } from '../src/adapters/keys/azure/index.ts'
import { googleKmsKeys } from '../src/adapters/keys/google/index.ts'
import { localKeys, localSigner, recoverableKeys, recoveryKeys, serviceKeys } from '../src/adapters/keys/index.ts'
import { pkcs11Keys } from '../src/adapters/keys/pkcs11/index.ts'
import { transitKeys } from '../src/adapters/keys/transit/index.ts'
import { memoryStorage } from '../src/adapters/memory/index.ts'
import { openTelemetry, openTelemetryMetrics } from '../src/adapters/opentelemetry/index.ts'
import { postgresStorage } from '../src/adapters/postgres/index.ts'
import { clamdScanner } from '../src/adapters/scanner/index.ts'
import { sqliteStorage } from '../src/adapters/sqlite/index.ts'
import { adoptTable } from '../src/adopt/index.ts'
import { verifyExport } from '../src/audit-verifier/index.ts'
import { connectVault } from '../src/client/index.ts'
import { OPERATIONS } from '../src/core/operations/operations.ts'
import {
  apiKeys,
  clientAddressOf,
  createApiKey,
  createHandler,
  createServiceAccount,
  exchangeAssertion,
  jwt,
  resolveSignedToken,
  serviceAccounts,
  signDataTokens,
} from '../src/http/index.ts'
import {
  column,
  createVault,
  defineSchema,
  isVaultError,
  mask,
  type OperationName,
  type Session,
  type Vault,
  VaultError,
} from '../src/index.ts'
import { backupVault, exportRecords, importRecords, moveVault, reopenVault, restoreVault } from '../src/transfer/index.ts'
import { type Clients, clients, openClients } from './support/audit/audited-clients.ts'
import { OWNER, TEST_SECRET } from './support/vaults/test-vault.ts'

let vault: Vault<Clients>
let owner: Session<Clients>
let id: string

beforeAll(async () => {
  vault = await openClients(memoryStorage())
  owner = vault.as(OWNER)
  const { records } = await owner.insert('clients', [{ fields: { name: 'Ann' } }])
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

/** What is called, and how it is called with options in addition to good ones. */
type Calls = Readonly<Record<string, (options: never) => unknown>>

const keys = localKeys({ key: TEST_SECRET })
const good = { vaults: [], authenticate: async () => undefined }
const client = { privateKey: '', keyID: '', clientID: '' }
const issuer = { issuer: 'i', audience: 'a', algorithms: ['RS256'], keys: [], vaults: () => [] }
const address = { connectionString: 'postgres://127.0.0.1:1/none' }
const verifierKey = { keyId: 'k', publicKey: '' }

function open(more: object): unknown {
  return createVault({ id: 'v', schema: clients, storage: memoryStorage(), keys, ...more })
}

function schemaWith(definition: object): unknown {
  return defineSchema({ clients: { name: { type: 'STRING', ...definition } } })
}

/** Every exported function with options. A second word is an option that is an object. */
const FUNCTIONS: Calls = {
  createVault: open,
  'createVault limits': (o) => open({ limits: o }),
  verifyExport: (o) => verifyExport([], o),
  'verifyExport keys[0]': (o: object) => verifyExport([], { keys: [{ ...verifierKey, ...o }] }),
  localKeys: (o) => localKeys(o),
  localSigner: (o) => localSigner(o),
  recoverableKeys: (o) => recoverableKeys(o),
  recoveryKeys: (o) => recoveryKeys(o),
  serviceKeys: (o) => serviceKeys({} as never, o),
  awsKmsKeys: (o) => awsKmsKeys(o),
  azureKeys: (o) => azureKeys(o),
  googleKmsKeys: (o) => googleKmsKeys(o),
  pkcs11Keys: (o) => pkcs11Keys(o),
  transitKeys: (o) => transitKeys(o),
  memoryStorage: (o) => memoryStorage(o),
  sqliteStorage: (o) => sqliteStorage(o),
  postgresStorage: (o: object) => postgresStorage({ ...address, ...o }),
  'postgresStorage timeouts': (o) => postgresStorage({ ...address, timeouts: o }),
  'postgresStorage ssl': (o) => postgresStorage({ ...address, ssl: o }),
  folderBlobs: (o) => folderBlobs(o),
  s3Blobs: (o) => s3Blobs(o),
  clamdScanner: (o) => clamdScanner(o),
  'clamdScanner limits': (o) => clamdScanner({ socket: '/clamd' }, o),
  openTelemetry: (o) => openTelemetry(o),
  openTelemetryMetrics: (o) => openTelemetryMetrics(o),
  clientAddressOf: (o) => clientAddressOf(o),
  createHandler: (o: object) => createHandler({ ...good, ...o }),
  'createHandler limits': (o) => createHandler({ ...good, limits: o }),
  'createHandler names': (o) => createHandler({ ...good, names: o }),
  jwt: (o: object) => jwt({ issuers: [], roles: () => [], ...o }),
  'jwt issuers[0]': (o: object) => jwt({ issuers: [{ ...issuer, ...o } as never], roles: () => [] }),
  apiKeys: (o) => apiKeys(o),
  serviceAccounts: (o) => serviceAccounts(o),
  createApiKey: (o) => createApiKey(owner as never, o),
  createServiceAccount: (o) => createServiceAccount(owner as never, o),
  signDataTokens: (o) => signDataTokens(client, ['token'], o),
  resolveSignedToken: (o: object) => resolveSignedToken(vault as never, 'token', { caller: OWNER, ...o }),
  exchangeAssertion: (o) => exchangeAssertion(o, {}),
  connectVault: (o: object) => connectVault({ url: 'http://vault', vaultId: 'v', credentials: 'k', ...o }),
  adoptTable: (o) => adoptTable(o),
  importRecords: (o: object) => importRecords(owner, { table: 'clients', source: 'none', format: 'csv', ...o }),
  exportRecords: (o: object) => exportRecords(owner, { table: 'clients', format: 'csv', ...o }).next(),
  moveVault: (o) => moveVault(o),
  backupVault: (o) => backupVault(o),
  restoreVault: (o) => restoreVault(o),
  reopenVault: (o) => reopenVault(memoryStorage(), o),
  'mask.replace': (o) => mask.replace(o),
}

/** Exported functions without options, and what they take. */
const WITHOUT_OPTIONS: Readonly<Record<string, string>> = {
  VaultError: 'An error that is thrown is not replaced by one of its own options.',
  isVaultError: 'any error',
  statusOf: 'any error',
  escapeLike: 'a text',
  sql: 'a template',
  defineSchema: 'tables: its own tests refuse unknown members with table and column',
  readCheckpoint: 'a text',
  isReceiptSigned: 'a receipt, and keys as verifyExport takes them',
  toNodeHandler: 'a handler',
  isSignedToken: 'a text',
  answerClientError: 'what Node passes',
  defineConfig: 'data: the command checks it when it reads it',
}

/** The methods of a vault with options. */
const METHODS: Calls = {
  as: (o: object) => vault.as({ ...OWNER, ...o }),
  verifyRecords: (o) => vault.verifyRecords(o),
  compact: (o) => vault.compact(o),
  verifyAudit: (o) => vault.verifyAudit(o),
  sweep: (o) => vault.sweep(o),
  purgeDisk: (o) => vault.purgeDisk(o),
  keys: (o) => vault.keys(o),
  rotateKeys: (o) => vault.rotateKeys(o),
  rotateLookups: (o) => vault.rotateLookups(o),
  tokenMap: (o: object) =>
    vault
      .tokenMap({ table: 'clients', ...o })
      [Symbol.asyncIterator]()
      .next(),
  finishLookups: (o) => vault.finishLookups(o),
  destroyKey: (o) => vault.destroyKey(2, o),
  scanFiles: (o) => vault.scanFiles(o),
  exportAudit: (o) => vault.exportAudit(o)[Symbol.asyncIterator]().next(),
  followAudit: (o) => vault.followAudit(o)[Symbol.asyncIterator]().next(),
  checkpointAudit: (o) => vault.checkpointAudit(o),
  planSchemaChange: (o) => vault.planSchemaChange(clients, {}, o),
  applySchemaChange: async (o) => vault.applySchemaChange(await vault.planSchemaChange(clients), o),
  explain: (o) => vault.explain(OWNER, 'READ', 'clients', o),
  downloadWithTicket: (o) => vault.downloadWithTicket('none', o),
  uploadWithTicket: (o) => vault.uploadWithTicket('none', o),
  recordRefusal: (o: object) => vault.recordRefusal({ error: new VaultError('invalid_request', 'No.'), ...o }),
  'subjects.export': (o) => vault.subjects.export(OWNER, 'person', id, o)[Symbol.asyncIterator]().next(),
  'subjects.forget': (o: object) => vault.subjects.forget(OWNER, 'person', id, { reason: 'r', ...o }),
  'subjects.forgotten': (o) => vault.subjects.forgotten(o)[Symbol.asyncIterator]().next(),
  'credentials.issueBearer': (o: object) => vault.credentials.issueBearer({ ...bearer(), ...o }),
  'credentials.issueBearer assertion': (o: object) => vault.credentials.issueBearer(bearer(o)),
}

function bearer(o: object = {}) {
  return { keyId: 'k', assertion: { text: 't', expiresAt: 1, ...o } }
}

const METHODS_WITHOUT_OPTIONS = [
  ...['transaction', 'withTransaction', 'ping', 'maintenance', 'rewrapKeys', 'close', 'explainQuery', 'contents', 'checkPolicy'],
  ...['subjects.find', 'credentials.find', 'credentials.isRevoked', 'credentials.spendOnce', 'credentials.verifyBearer'],
]

const where = { salary: 1 } as const
const filterOps = { accountID: 'v1' }
const item = { get: 'clients' } as const

/** The methods of a session: their options, and the objects of a request, each called by its place. */
const SESSION: Calls = {
  insert: (o) => owner.insert('clients', [{ fields: { name: 'Bo' } }], o),
  'insert records[0]': (o: object) => owner.insert('clients', [{ fields: { name: 'Bo' }, ...o }]),
  insertOne: (o) => owner.insertOne('clients', { name: 'Bo' }, o),
  get: (o) => owner.get('clients', o),
  pages: (o) => owner.pages('clients', o).next(),
  getOne: (o) => owner.getOne('clients', id, o),
  updateOne: (o) => owner.updateOne('clients', id, { name: 'Bo' }, o),
  update: (o) => owner.update('clients', [{ id, fields: { name: 'Bo' } }], o),
  'update records[0]': (o: object) => owner.update('clients', [{ id, fields: { name: 'Bo' }, ...o }]),
  updateWhere: (o) => owner.updateWhere('clients', where, { name: 'Bo' }, o),
  delete: (o) => owner.delete('clients', [id], o),
  deleteOne: (o) => owner.deleteOne('clients', id, o),
  deleteWhere: (o) => owner.deleteWhere('clients', where, o),
  detokenize: (o) => owner.detokenize([{ token: 'none' }], o),
  'detokenize tokens[0]': (o: object) => owner.detokenize([{ token: 'none', ...o }]),
  'tokenize values[0]': (o: object) => owner.tokenize([{ value: 'v', table: 'orders', column: 'memo', ...o }]),
  getByTokens: (o) => owner.getByTokens(['none'], o),
  query: (o) => owner.query('SELECT name FROM clients', o),
  'query budget': (o) => owner.query('SELECT name FROM clients', { budget: o }),
  batch: (o) => owner.batch([{ ...item, id }], o),
  'batch items[0]': (o: object) => owner.batch([{ ...item, id, ...o } as never]),
  'listEvents query': (o: object) => owner.listEvents({ filterOps, ...o }),
  'listEvents filterOps': (o: object) => owner.listEvents({ filterOps: { ...filterOps, ...o } }),
  'listEvents filterOps.context': (o) => owner.listEvents({ filterOps: { ...filterOps, context: o } }),
  'listEvents sortOps': (o) => owner.listEvents({ filterOps, sortOps: o }),
  'uploadFile upload': (o: object) =>
    owner.uploadFile({ table: 'clients', column: 'photo', file: new Uint8Array(1), ...o } as never),
  openFile: (o) => owner.openFile('clients', id, 'photo' as never, o),
  'openFile range': (o: object) => owner.openFile('clients', id, 'photo' as never, { range: { start: 0, ...o } }),
  'fileStatuses records[0]': (o: object) => owner.fileStatuses([{ table: 'clients', id, fileColumns: [], ...o }]),
  'uploadTicket request': (o: object) => owner.uploadTicket({ table: 'clients', columns: [], ...o }),
  'createCredential credential': (o: object) =>
    owner.createCredential({ kind: 'API_KEY', name: 'n', roles: ['r'], verifier: '0'.repeat(64), ...o }),
  'revokeCredential credential': (o: object) => owner.revokeCredential({ keyId: 'k', ...o }),
  listCredentials: (o) => owner.listCredentials(o),
  'previewAccess request': (o: object) => owner.previewAccess({ roles: [], ...o }),
  'checkPolicy request': (o: object) => owner.checkPolicy({ roles: {}, ...o }),
  perform: (o) => owner.perform('get', { table: 'clients' }, o),
}

const SESSION_WITHOUT_OPTIONS = [
  'deleteFile',
  'fileStatus',
  'downloadTicket',
  'readPolicy',
  'describeCaller',
  'describeSchema',
  'explainQuery',
]

describe('every function is tried', () => {
  it('that an entry point exports', async () => {
    const found = new Set<string>()
    for (const file of Object.values(ENTRY_POINTS)) {
      const exported: Readonly<Record<string, unknown>> = await import(new URL(`../${file}`, import.meta.url).href)
      for (const [name, value] of Object.entries(exported)) if (typeof value === 'function') found.add(name)
    }
    for (const [name, value] of Object.entries(mask)) if (typeof value === 'function') found.add(`mask.${name}`)
    const takeCounts = ['mask.keepFirst', 'mask.keepLast']
    expect(firstWords(FUNCTIONS, [...Object.keys(WITHOUT_OPTIONS), ...takeCounts])).toEqual([...found].sort())
  })

  it('of a vault, its credentials and its sessions', () => {
    const { credentials, subjects, ...methods } = vault
    const ofGroups = Object.entries({ credentials, subjects }).flatMap(([group, own]) =>
      functionsOf(own).map((name) => `${group}.${name}`),
    )
    const named = [...functionsOf(methods), ...ofGroups]
    expect(firstWords(METHODS, METHODS_WITHOUT_OPTIONS)).toEqual(named.sort())
    expect(firstWords(SESSION, SESSION_WITHOUT_OPTIONS)).toEqual(functionsOf(owner).sort())
  })
})

function firstWords(calls: Calls, more: readonly string[]): string[] {
  return [...new Set([...Object.keys(calls).map((name) => name.split(' ')[0] ?? ''), ...more])].sort()
}

function functionsOf(owner: object): string[] {
  return Object.entries(owner).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []))
}

const ALL = [...Object.entries(FUNCTIONS), ...Object.entries(METHODS), ...Object.entries(SESSION)]

describe('an option that no code reads', () => {
  it.each(ALL)('%s refuses it by its name', async (_name, call) => {
    expect(await refusalOf(() => call({ notAnOption: 1 } as never))).toContain('"notAnOption"')
  })

  it.each(Object.entries(FUNCTIONS))('%s says which function refused it, and which options there are', async (name, call) => {
    const [of = '', member] = name.split(' ')
    const refusal = await refusalOf(() => call({ notAnOption: 1 } as never))
    const within = member === undefined || name === 'clamdScanner limits' ? '' : ` of ${member}`
    expect(refusal).toMatch(`${of}: Unknown option "notAnOption"${within}.`)
    expect(refusal).toMatch(/ (Supported: \w+(, \w+)*|There are none)\.$/)
  })

  it.each<[string, () => unknown, string]>([
    ['trustProxy', () => createHandler({ ...good, trustProxy: true } as never), 'Did you mean "trustedProxies"?'],
    ['maxBodySize', () => createHandler({ ...good, limits: { maxBodySize: 1 } } as never), 'Did you mean "maxBodyBytes"?'],
    ['sock', () => clamdScanner({ sock: '/clamd' } as never), 'Did you mean "socket"?'],
    ['UPSERT', () => owner.insert('clients', [], { UPSERT: 'email' } as never), 'Did you mean "upsert"?'],
    ['tokenize', () => owner.insert('clients', [], { tokenize: true } as never), 'Did you mean "tokenization"?'],
    ['ttl', () => signDataTokens(client, [], { ttl: 60 } as never), 'Did you mean "ttlSeconds"?'],
    ['uniqe', () => schemaWith({ uniqe: true }), 'Did you mean "unique"?'],
    ['upsrt', () => owner.insert('clients', [{ fields: { name: 'Bo' } }], { upsrt: 'email' } as never), 'Did you mean "upsert"?'],
  ])('%s is answered with the nearest one', async (_name, call, says) => {
    expect(await refusalOf(call)).toContain(says)
  })

  it('of a deletion says where a version belongs, and deletes nothing', async () => {
    const call = owner.delete as (...given: unknown[]) => Promise<unknown>
    expect(await refusalOf(() => call('clients', [id], { ifVersion: 'v' }))).toContain(
      'Pass a version with its id: { id, ifVersion }.',
    )
    expect((await owner.get('clients', { ids: [id] })).records).toHaveLength(1)
  })

  it('that is like none is answered with the list alone', async () => {
    expect(await refusalOf(() => sqliteStorage({ filename: 'a', readonly: true } as never))).toBe(
      'sqliteStorage: Unknown option "readonly". Supported: filename, synchronous, driver.',
    )
    expect(await refusalOf(() => memoryStorage({ filename: 'a' } as never))).toBe(
      'memoryStorage: Unknown option "filename". There are none.',
    )
  })

  it('is not one of the ports that createVault adds itself', async () => {
    expect(await refusalOf(() => open({ hash: {} }))).toContain('createVault: Unknown option "hash"')
  })

  it('is refused where another option makes it void', async () => {
    const pool = { connect: () => {} } as never
    expect(await refusalOf(() => postgresStorage({ pool, ssl: true }))).toContain('Option "ssl" has no effect on a pool.')
    expect(await refusalOf(() => postgresStorage({ pool, maxConnections: 5 }))).toContain('"maxConnections" has no effect')
    const connectionString = 'postgres://127.0.0.1:1/none?sslmode=require'
    expect(await refusalOf(() => postgresStorage({ connectionString, ssl: true }))).toContain('by "sslmode" of connectionString')
    expect(await refusalOf(() => localKeys({ key: TEST_SECRET, file: 'a' } as never))).toContain('either `file` or `key`')
  })

  it('of the input of an operation is refused too, and recorded without its name', async () => {
    for (const name of Object.keys(OPERATIONS)) {
      const refusal = await refusalOf(() => owner.perform(name as OperationName, { notAnOption: 1 } as never))
      expect(refusal).toContain('failed. Unknown member "notAnOption".')
    }
    const { events } = await owner.listEvents({ filterOps, limit: 1 })
    expect(JSON.stringify(events)).not.toContain('notAnOption')
  })

  it('of a schema is refused with table and column', async () => {
    expect(await refusalOf(() => schemaWith({ notAnOption: 1 }))).toMatch(/column "name" of table "clients".*"notAnOption"/)
    expect(await refusalOf(() => schemaWith(column.string({ notAnOption: 1 } as never)))).toMatch(
      /"notAnOption"\. Supported: required, .*, normalize\.$/,
    )
  })
})

/** Those that take options, and not the members of a request. */
const WITH_NULLS = ALL.filter(
  ([name]) => !/^as$|^(recordRefusal|upload|credentials)| (change|request|credential|upload)$|s\[0\]$/.test(name),
)

describe('an option that is null', () => {
  it.each(WITH_NULLS)('%s refuses each of its options by name', async (_name, call) => {
    const listed = /Supported: (.*)\.$/.exec(await refusalOf(() => call({ notAnOption: 1 } as never)))?.[1]
    for (const option of listed?.split(', ') ?? [])
      expect(await refusalOf(() => call({ [option]: null } as never))).toMatch(
        new RegExp(`Option "${option}"( of [\\w.]+)? must not be null\\. Give it a value, or leave it out\\.`),
      )
  })

  it('of a schema is refused with table and column', () => {
    expect(() => schemaWith({ unique: null })).toThrow(/unique.*name.*clients/)
  })
})

/** The long work of a vault, and an explanation. */
const WORK = Object.entries(METHODS).filter(([name]) => /^(verify|sweep|scan|export|explain)/.test(name))

it.each(WORK)('the options of %s are refused as a whole if they are no object', async (_name, call) => {
  for (const options of [null, 'text', 5, true, [], ['signal']])
    expect(await refusalOf(() => call(options as never))).toContain('ptions must be an object')
})
