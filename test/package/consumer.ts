/**
 * The public types as an application compiles them: valid uses compile, invalid ones do not. Compiled against the sources by
 * `npm run types`, and against the built package, as ESM and as CommonJS, by scripts/check-package.ts. Never run.
 */
import {
  type Caller,
  column,
  createVault,
  defineSchema,
  isVaultError,
  mask,
  type PolicyFor,
  type ShownText,
  type Vault,
  type VaultError,
} from 'strongroom'
import { verifyExport } from 'strongroom/audit-verifier'
import type { blobCases } from 'strongroom/blob-conformance'
import type { BlobStore } from 'strongroom/blob-port'
import { folderBlobs, s3Blobs } from 'strongroom/blobs'
import type { KeysUnderTest, keyProviderCases } from 'strongroom/key-conformance'
import { type KeyProvider, localKeys, localSigner, serviceKeys } from 'strongroom/keys'
import { type AwsKmsClientLike, awsKmsKeys } from 'strongroom/keys/aws'
import { type AzureKeyClientLike, azureKeys } from 'strongroom/keys/azure'
import { type GoogleKmsClientLike, googleKmsKeys } from 'strongroom/keys/google'
import { pkcs11Keys } from 'strongroom/keys/pkcs11'
import { transitKeys } from 'strongroom/keys/transit'
import { memoryStorage } from 'strongroom/memory'
import { openTelemetry } from 'strongroom/opentelemetry'
import { postgresStorage } from 'strongroom/postgres'
import { clamdScanner, type FileScanner, type ScanVerdict } from 'strongroom/scanner'
import { sqliteStorage } from 'strongroom/sqlite'
import type { storageCases } from 'strongroom/storage-conformance'

/** Compiles only where both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function holds<_Claim extends true>(): void {}

export const schema = defineSchema({
  customers: {
    name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    email: column.string({ unique: true, normalize: ['trim', 'lowercase'], maxLength: 200 }),
    country: column.string({ encrypted: false, index: true, oneOf: ['DE', 'FR'] }),
    visits: column.integer(),
    active: column.boolean({}),
    born: column.date({ searchable: true }),
    notes: column.json({}),
  },
  orders: { total: column.float({ required: true }) },
  cards: {
    holder: column.string({ token: 'deterministic', columnGroup: 'names' }),
    number: column.string({
      token: { kind: 'formatPreserving', format: { preset: 'card', keepFirst: 6, luhn: 'valid', keepLast: 2 } },
    }),
    phone: column.string({ token: { kind: 'deterministicFormatPreserving', format: 'phone' }, columnGroup: 'phones' }),
    serial: column.string({ token: { kind: 'formatPreserving', format: { pattern: '[A-Z]{2}\\d{6}' }, stable: true } }),
    code: column.string({ token: { kind: 'transient', ttlMinutes: 5 } }),
    owner: column.string({ token: { kind: 'random', stable: true } }),
    expires: column.date({ token: { kind: 'deterministic' } }),
    bare: column.string(),
  },
})

// @ts-expect-error a deterministic token has no lifetime of its own
column.string({ token: { kind: 'deterministic', stable: true } })
// @ts-expect-error a random token does not expire
column.string({ token: { kind: 'random', ttlMinutes: 5 } })
// @ts-expect-error a misspelt option
column.string({ uniqe: true })
// @ts-expect-error a mask is made by mask
column.string({ mask: 'first' })
// @ts-expect-error no such level
column.string({ redaction: 'HIDDEN' })
// @ts-expect-error no such kind of token
column.string({ token: 'magic' })
// @ts-expect-error a kind that needs a format
column.string({ token: 'formatPreserving' })
// @ts-expect-error no such preset
column.string({ token: { kind: 'formatPreserving', format: 'bic' } })

/** Every storage and every kind of key is accepted. */
export async function openVaults(): Promise<void> {
  const keys = localKeys({ file: 'vault.key' })
  await createVault({ id: 'v1', schema, storage: memoryStorage(), keys })
  await createVault({ id: 'v1', schema, storage: sqliteStorage({ filename: 'vault.db', synchronous: 'full' }), keys })
  await createVault({
    id: 'v1',
    schema,
    storage: postgresStorage({ connectionString: 'postgres://localhost' }),
    keys: localKeys({ key: 'c2VjcmV0' }),
  })
  // @ts-expect-error a vault needs a storage
  await createVault({ id: 'v1', schema, keys })
  // @ts-expect-error sqlite needs a file name
  sqliteStorage({})
  holds<Same<(typeof storageCases)[number]['id'], string>>()
}

/** A scanner, and one of the application in its place. */
export async function scan(): Promise<ScanVerdict> {
  const local = clamdScanner({ socket: '/run/clamav/clamd.ctl' }, { timeoutMs: 300_000, maxBytes: 100_000_000 })
  const remote: FileScanner = clamdScanner({ host: 'localhost', port: 3310 })
  // @ts-expect-error a host needs a port
  clamdScanner({ host: 'localhost' })
  // @ts-expect-error no such limit
  clamdScanner({ socket: '/run/clamav/clamd.ctl' }, { timeout: 5 })
  const both: FileScanner = {
    async scan(file) {
      const verdict = file.size > 0 ? await local.scan(file) : 'clean'
      return verdict === 'clean' ? 'clean' : 'infected'
    },
  }
  const { signal } = new AbortController()
  const content = (async function* () {
    yield new Uint8Array(1)
  })()
  holds<Same<ScanVerdict, 'clean' | 'infected' | 'unscannable'>>()
  const scanners = [remote, both]
  const verdicts = await Promise.all(scanners.map((one) => one.scan({ content, size: 1, signal })))
  return verdicts[0] ?? 'unscannable'
}

/** Every blob store is made of its options; the object store takes any client with a method to send requests. */
export function openBlobs(client: { send(command: never): Promise<unknown> }): readonly BlobStore[] {
  holds<Same<(typeof blobCases)[number]['id'], string>>()
  // @ts-expect-error a folder needs a directory
  folderBlobs({})
  // @ts-expect-error an object store needs a bucket
  s3Blobs({ client })
  return [folderBlobs({ directory: 'blobs' }), s3Blobs({ client, bucket: 'vault', prefix: 'files/' })]
}

/** Clients of the applications that the key services take. */
export interface KeyClients {
  readonly aws: AwsKmsClientLike
  readonly azure: AzureKeyClientLike
  readonly google: GoogleKmsClientLike
}

/** Every key service takes the client of its package, and an application's own is made with its calls. */
export function openKeys({ aws, azure, google }: KeyClients): readonly KeyProvider[] {
  holds<Same<(typeof keyProviderCases)[number]['id'], string>>()
  holds<Same<Parameters<(typeof keyProviderCases)[number]['run']>[0], KeysUnderTest>>()
  // @ts-expect-error a key service needs a key
  awsKmsKeys({ client: aws })
  const own = serviceKeys({
    name: 'Own KMS',
    wrap: async (key) => ({ keyId: 'key/1', bytes: key }),
    unwrap: async ({ bytes }, _associatedData, signal) => (signal.aborted ? new Uint8Array() : bytes),
    failureOf: () => ({ kind: 'unavailable', code: 503 }),
  })
  const limits = { callTimeoutMs: 2000, openTimeoutMs: 20_000 }
  const key = 'projects/p/locations/l/keyRings/r/cryptoKeys/k'
  return [
    own,
    awsKmsKeys({ client: aws, keyId: 'alias/vault', ...limits }),
    azureKeys({ client: azure, key: 'vault' }),
    googleKmsKeys({ client: google, key }),
    pkcs11Keys({ module: '/usr/lib/softhsm/libsofthsm2.so', tokenLabel: 'vault', pin: async () => '1234', keyLabel: 'vault' }),
    transitKeys({ url: 'https://vault.example.com', key: 'vault', token: () => 'token', ...limits }),
  ]
}

/** Inferred types: an application that emits declarations must be able to name them. */
export async function openSession() {
  const vault = await createVault({ id: 'v1', schema, storage: memoryStorage(), keys: localKeys({ file: 'vault.key' }) })
  return vault.as({ actor: 'ann@acme.example', actorType: 'USER', roles: ['VAULT_OWNER'] })
}

/** Fields have the types of the schema, and tokens are returned if requested. */
export async function insert(): Promise<void> {
  const session = await openSession()
  const plain = await session.insert('customers', [{ fields: { name: 'Ann', country: 'DE', visits: 3, active: null } }])
  holds<Same<(typeof plain.records)[number]['id'], string>>()
  // @ts-expect-error tokens without asking for them
  plain.records[0]?.tokens
  const tokenized = await session.insert('customers', [{ fields: { name: 'Ann' } }], { tokenization: true })
  holds<Same<(typeof tokenized.records)[number]['tokens'], { readonly name?: string }>>()
  await session.insert('customers', [{ fields: { name: 'Ann', email: 'a@b.example' } }], { upsert: 'email' })
  // @ts-expect-error no such table
  await session.insert('clients', [{ fields: { name: 'Ann' } }])
  // @ts-expect-error no such column
  await session.insert('customers', [{ fields: { name: 'Ann', phone: '1' } }])
  // @ts-expect-error text in place of a number
  await session.insert('customers', [{ fields: { name: 'Ann', active: 'yes' } }])
  // @ts-expect-error not one of the values allowed
  await session.insert('customers', [{ fields: { name: 'Ann', country: 'XX' } }])
  // @ts-expect-error a required column left out
  await session.insert('customers', [{ fields: { visits: 1 } }])
  // @ts-expect-error upsert needs a unique column
  await session.insert('customers', [{ fields: { name: 'Ann' } }], { upsert: 'country' })
}

/** Reads return typed fields, or text if a level hides the value. */
export async function read(id: string): Promise<string> {
  const session = await openSession()
  const { records } = await session.get('customers', { ids: [id], redaction: 'PLAIN_TEXT', fields: ['name', 'visits'] })
  holds<Same<(typeof records)[number]['fields'], { readonly name?: ShownText; readonly visits?: number | ShownText | null }>>()
  // @ts-expect-error a column that was not asked for
  records[0]?.fields.email
  await session.get('customers', { where: { email: 'a@b.example' } })
  // @ts-expect-error no such level
  await session.get('customers', { ids: [id], redaction: 'HIDDEN' })
  const one = await session.getOne('customers', id, { redaction: 'DEFAULT' })
  return one.id
}

/** Reads name the fields that are masked or redacted, or refuse them. */
export async function readLowered(id: string, token: string): Promise<boolean> {
  const session = await openSession()
  const { records } = await session.get('customers', { ids: [id], fields: ['name', 'visits'] })
  holds<
    Same<(typeof records)[number]['levels'], { readonly name?: 'MASKED' | 'REDACTED'; readonly visits?: 'MASKED' | 'REDACTED' }>
  >()
  // @ts-expect-error a column that was not asked for
  records[0]?.levels.email
  const one = await session.getOne('customers', id)
  holds<Same<keyof (typeof one)['levels'], keyof (typeof schema.tables)['customers']>>()
  const plain = await session.getOne('customers', id, { redaction: 'PLAIN_TEXT', fields: ['active'], onLowered: 'throw' })
  holds<Same<(typeof plain)['fields']['active'], boolean | null>>()
  holds<Same<keyof (typeof plain)['levels'], never>>()
  // @ts-expect-error no such choice
  await session.getOne('customers', id, { onLowered: 'warn' })
  const view = await session.getOne('customers', id, { tokenization: true })
  // @ts-expect-error tokens are not lowered
  view.levels
  const [found] = (await session.getByTokens<'customers'>([token], { onLowered: 'throw' })).records
  if (found !== undefined && found.error === undefined) holds<Same<typeof found.levels, typeof one.levels>>()
  const { records: values } = await session.detokenize([{ token }], { onLowered: 'throw' })
  holds<Same<(typeof values)[number]['level'], 'MASKED' | 'REDACTED' | undefined>>()
  const { records: rows } = await session.query("SELECT REDACTION(name, 'PLAIN_TEXT') FROM customers", { onLowered: 'throw' })
  holds<Same<(typeof rows)[number]['levels'][string], 'MASKED' | 'REDACTED' | 'HIDDEN' | undefined>>()
  return values[0]?.level === 'MASKED'
}

/** Changes, deletions and tokens. */
export async function change(id: string, token: string): Promise<string[]> {
  const session = await openSession()
  await session.updateOne('customers', id, { visits: 4, born: null })
  // @ts-expect-error a required column cannot become null
  await session.updateOne('customers', id, { name: null })
  const { records } = await session.detokenize([{ token, redaction: 'PLAIN_TEXT' }], { continueOnError: true })
  holds<Same<(typeof records)[number]['token'], string>>()
  await session.delete('orders', '*')
  const { ids } = await session.delete('customers', [id])
  return [...ids]
}

/** Tokens are supplied for tokenized columns, requested for deterministic ones and by group, and resolve to fields. */
export async function tokens(id: string): Promise<string | undefined> {
  const session = await openSession()
  const { records } = await session.insert(
    'cards',
    [{ fields: { holder: 'Ann', number: '4000056655665556' }, tokens: { number: 'mine' } }],
    {
      tokenization: true,
      byot: 'ENABLE',
    },
  )
  type CardTokens = { readonly [K in 'holder' | 'number' | 'phone' | 'serial' | 'code' | 'owner' | 'expires']?: string }
  holds<Same<keyof (typeof records)[number]['tokens'], keyof CardTokens>>()
  // @ts-expect-error a column without tokens
  await session.insert('cards', [{ fields: { bare: 'x' }, tokens: { bare: 'mine' } }], { byot: 'ENABLE' })
  // @ts-expect-error tokens are texts
  await session.insert('cards', [{ fields: { holder: 'Ann' }, tokens: { holder: 5 } }], { byot: 'ENABLE' })
  // @ts-expect-error no such mode
  await session.insert('cards', [{ fields: { holder: 'Ann' } }], { byot: 'STRICT' })
  await session.updateOne('cards', id, { code: '123' }, { tokens: { code: 'mine' }, byot: 'ENABLE_STRICT' })
  // @ts-expect-error a column without tokens
  await session.updateOne('cards', id, { bare: 'x' }, { tokens: { bare: 'mine' }, byot: 'ENABLE' })
  const asked = await session.tokenize([
    { value: 'Ann', table: 'cards', column: 'holder' },
    { value: '+46 70 123 45 67', table: 'cards', column: 'phone' },
    { value: '2030-01-31', table: 'cards', column: 'expires' },
    { value: 'Ann', columnGroup: 'names' },
  ])
  holds<Same<(typeof asked.records)[number], { token: string }>>()
  // @ts-expect-error tokens of this column are drawn
  await session.tokenize([{ value: 'x', table: 'cards', column: 'number' }])
  // @ts-expect-error values of this column live apart
  await session.tokenize([{ value: 'x', table: 'cards', column: 'code' }])
  // @ts-expect-error a column of another table
  await session.tokenize([{ value: 'x', table: 'orders', column: 'holder' }])
  // @ts-expect-error no such group
  await session.tokenize([{ value: 'x', columnGroup: 'people' }])
  // @ts-expect-error neither a column nor a group
  await session.tokenize([{ value: 'x' }])
  await session.get('cards', { where: { holder: 'Ann' } })
  // @ts-expect-error values of this column live apart
  await session.get('cards', { where: { code: 'x' } })
  const found = await session.getByTokens<'cards' | 'orders'>(['mine'], { redaction: 'PLAIN_TEXT' })
  const [record] = found.records
  if (record === undefined || record.error !== undefined) return record?.error
  holds<Same<typeof record.table, 'cards' | 'orders'>>()
  if (record.table === 'orders') return record.id
  // @ts-expect-error a column of another table
  record.fields.total
  return record.fields.holder ?? undefined
}

/** Statements as text and as objects; objects name tables and columns of the schema. */
export const policy: PolicyFor<typeof schema.tables> = {
  clerk: [
    "ALLOW READ ON customers.* WITH REDACTION = MASKED WHERE customers.country = 'DE'",
    { effect: 'ALLOW', actions: ['READ', 'SEARCH'], on: ['customers.email', 'orders.*'], redaction: 'PLAIN_TEXT' },
    { effect: 'DENY', actions: ['ALL'], on: ['cards.*'] },
  ],
  // @ts-expect-error a column of another table
  wrong: [{ effect: 'ALLOW', actions: ['READ'], on: ['customers.total'] }],
  // @ts-expect-error no such action
  odd: [{ effect: 'ALLOW', actions: ['WRITE'], on: ['*'] }],
}

/** A vault with a policy, tracing and a log; its trail read, checked, signed and exported. */
export async function account(privateKey: string): Promise<boolean> {
  const vault = await createVault({
    id: 'v1',
    accountId: 'acme',
    schema,
    policy,
    storage: memoryStorage(),
    keys: localKeys({ file: 'vault.key' }),
    tracing: openTelemetry(),
    log: console,
  })
  const caller: Caller = {
    actor: 'ann@acme.example',
    actorType: 'USER',
    roles: ['clerk'],
    context: { team: 'emea' },
    request: { requestID: 'r1', authMode: 'API_KEY' },
  }
  // @ts-expect-error no such mode
  vault.as({ ...caller, request: { authMode: 'PASSWORD' } })
  const { records } = await vault.as(caller).query<{ name: string }>('select name from customers where country = $1', ['DE'])
  const { events, nextOps } = await vault.as(caller).listEvents({ filterOps: { accountID: 'acme', actionType: 'QUERY' } })
  const [column] = vault.explain(caller, 'READ', 'customers').columns
  // @ts-expect-error no such table
  vault.explain(caller, 'READ', 'people')
  const checkpoint = await vault.checkpointAudit({ signer: localSigner({ keyId: 'k1', privateKey }) })
  const verdict = await verifyExport(vault.exportAudit({ checkpoints: [checkpoint] }))
  const isWhole = (await vault.verifyAudit({ checkpoints: [checkpoint] })).ok && verdict.ok
  return (
    isWhole && column?.decision !== 'DENIED' && events[0]?.response.code === 200 && nextOps?.changeID !== '' && records.length > 0
  )
}

/** Inferred results, passed on. */
export async function handOn(id: string) {
  const session = await openSession()
  return {
    inserted: await session.insert('customers', [{ fields: { name: 'Ann' } }], { tokenization: true }),
    read: await session.get('customers', { ids: [id], fields: ['name'] }),
    updated: await session.updateOne('customers', id, { visits: 4 }),
    values: await session.detokenize([{ token: id }]),
  }
}

/** Errors carry a closed list of codes. */
export function explain(error: unknown): string {
  if (!isVaultError(error)) return 'unknown'
  holds<Same<typeof error, VaultError>>()
  // @ts-expect-error no such code
  if (error.code === 'teapot') return ''
  return error.code === 'not_found' ? error.message : String(error.grpcCode)
}

/** Files: columns that hold them take no values, and only they take files. */
export async function useFiles(vault: Vault<(typeof withFiles)['tables']>): Promise<readonly Vault[]> {
  const session = vault.as({ actor: 'consumer', actorType: 'SERVICE_ACCOUNT', roles: [] })
  const { records } = await session.insert('people', [{ fields: { name: 'Ann' } }])
  const id = records[0]?.id ?? ''
  // @ts-expect-error a file is uploaded, not inserted
  await session.insert('people', [{ fields: { paper: 'a file' } }])
  // @ts-expect-error a name is no file
  await session.uploadFile({ table: 'people', id, column: 'name', file: new Uint8Array(1) })
  // @ts-expect-error text is no content
  await session.uploadFile({ table: 'people', id, column: 'paper', file: 'text' })
  const uploaded = await session.uploadFile({
    table: 'people',
    id,
    column: 'paper',
    file: new Uint8Array(1),
    returnFileMetadata: true,
  })
  const size: number | undefined = uploaded.fileMetadata.paper?.fileSizeKB
  const { stream } = await session.openFile('people', id, 'paper', { range: { start: 0, end: size ?? 1 } })
  for await (const piece of stream) holds<Same<typeof piece, Uint8Array>>()
  const read = await session.getOne('people', id, { downloadTickets: true })
  const ticket: string | undefined = read.downloadTickets.paper
  await vault.downloadWithTicket(ticket ?? '')
  // @ts-expect-error there are tickets only where they are asked for
  ;(await session.getOne('people', id)).downloadTickets
  // A helper of the application can take any vault.
  return [vault]
}

const withFiles = defineSchema({ people: { name: column.string(), paper: column.file({ allowedTypes: ['image/*'] }) } })
