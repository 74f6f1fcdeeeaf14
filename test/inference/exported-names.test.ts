/** What an application writes has a name at an entry point, and so has what a compiler writes for what it infers. Other types are reached through these. */
import ts from 'typescript'
import { expect, it } from 'vitest'
import { ENTRY_POINTS } from '../../scripts/entry-points.ts'
import { openProgram } from '../support/compiler/open-program.ts'

const HELPERS = 'test/inference/helpers-of-an-application.ts'

/** What an application exports without a word about its type. */
const helpers = `
import { column, createVault, defineSchema, type SchemaDefinition, type Session, type TableName } from 'strongroom'
import { verifyExport } from 'strongroom/audit-verifier'
import { blobCases } from 'strongroom/blob-conformance'
import { folderBlobs, s3Blobs, type S3ClientLike } from 'strongroom/blobs'
import { apiKeys, createApiKey, createHandler, jwt, serviceAccounts, toNodeHandler } from 'strongroom/http'
import { keyProviderCases } from 'strongroom/key-conformance'
import { localSigner, type KeyService, localKeys, serviceKeys } from 'strongroom/keys'
import { type AwsKmsClientLike, awsKmsKeys } from 'strongroom/keys/aws'
import { type GoogleKmsClientLike, googleKmsKeys } from 'strongroom/keys/google'
import { memoryStorage } from 'strongroom/memory'
import { openTelemetry, openTelemetryMetrics } from 'strongroom/opentelemetry'
import { postgresStorage } from 'strongroom/postgres'
import { clamdScanner } from 'strongroom/scanner'
import { sqliteStorage } from 'strongroom/sqlite'
import { storageCases } from 'strongroom/storage-conformance'

export const schema = defineSchema({
  people: { name: column.string({ required: true, token: 'random' }), level: column.integer({ oneOf: [1, 2] }), paper: column.file() },
})
export const vault = await createVault({
  id: 'v1',
  schema,
  storage: memoryStorage(),
  keys: localKeys({ file: 'vault.key' }),
  policy: { clerk: ['ALLOW READ ON people.*'] },
})
export const session = vault.as({ actor: 'ann', actorType: 'USER', roles: ['clerk'] })
export const read = await session.get('people')
export const plain = await session.getOne('people', '1', { redaction: 'PLAIN_TEXT', onLowered: 'throw', fields: ['name'] })
export const found = await session.getByTokens(['t'])
export const batch = await session.batch([{ get: 'people', id: '1' }], { continueOnError: true })
export const query = await session.query('SELECT name FROM people')
export const text = column.string({ maxLength: 10 })
export const inserted = await session.insert('people', [{ fields: { name: 'Ann' } }], { onConflict: 'ignore', tokenization: true })
export const insertedOne = await session.insertOne('people', { name: 'Ann' }, { onConflict: 'ignore' })
export const updated = await session.update('people', [{ id: '1', fields: { name: 'Ann' } }], { tokenization: true })
export const changed = await session.updateWhere('people', {} as never, { name: 'Ann' })
export const paged = session.pages('people', { fields: ['name'] })
export const detokenized = await session.detokenize([{ token: 't' }])
export const tokenized = await session.tokenize([])
export const opened = await session.openFile('people', '1', 'paper')
export const uploaded = await session.uploadFile({ table: 'people', column: 'paper', file: new Uint8Array(1), returnFileMetadata: true })
export const status = await session.fileStatus('people', '1', 'paper')
export const statuses = await session.fileStatuses([])
export const ticket = await session.downloadTicket('people', '1', 'paper')
export const tickets = await session.uploadTicket({ table: 'people', columns: ['paper'] })
export const credential = await session.createCredential({ kind: 'API_KEY', name: 'a', roles: [], verifier: '' })
export const credentials = await session.listCredentials()
export const events = await session.listEvents({ filterOps: { accountID: 'v1' } })
export const performed = await session.perform('getOne', { table: 'people', id: '1' })
export const recordsFound = await vault.verifyRecords()
export const trail = await vault.verifyAudit()
export const plan = vault.explainQuery('SELECT name FROM people', { actor: 'ann', actorType: 'USER', roles: ['clerk'] })
export const explained = vault.explain({ actor: 'ann', actorType: 'USER', roles: ['clerk'] }, 'READ', 'people')
export const work = vault.transaction(async (inner) => inner.as({ actor: 'ann', actorType: 'USER', roles: ['clerk'] }))
export const description = vault.schema
export const found1 = await vault.credentials.find('k')
export const shownName = plain.fields.name
export function list<S extends SchemaDefinition, T extends TableName<S>>(from: Session<S>, table: T) {
  return from.get(table)
}
export const update = session.update
export const updateOne = session.updateOne
export const memory = memoryStorage()
export const sqlite = sqliteStorage({ filename: 'vault.db' })
export const postgres = postgresStorage({ connectionString: 'postgres://localhost/a', ssl: true })
export const keys = localKeys({ file: 'vault.key' })
export const ofAws = (client: AwsKmsClientLike) => awsKmsKeys({ client, keyId: 'alias/vault' })
export const ofGoogle = (client: GoogleKmsClientLike) => googleKmsKeys({ client, key: 'projects/a' })
export const ofService = (service: KeyService) => serviceKeys(service, { callTimeoutMs: 1000 })
export const signer = localSigner({ keyId: 'a', privateKey: '' })
export const folder = folderBlobs({ directory: 'blobs' })
export const objects = (client: S3ClientLike) => s3Blobs({ client, bucket: 'blobs' })
export const scanner = clamdScanner({ socket: '/clamd' })
export const tracing = openTelemetry()
export const metrics = openTelemetryMetrics()
export const authenticate = [apiKeys(), serviceAccounts(), jwt({ issuers: [], roles: () => [] })]
export const handler = createHandler({ vaults: vault, authenticate })
export const listener = toNodeHandler(handler)
export const key = createApiKey(vault.as({ actor: 'ann', actorType: 'USER', roles: [] }), { name: 'a', roles: [] })
export const verified = verifyExport([])
export const suites = [storageCases, blobCases, keyProviderCases] as const
export const change = (id: string, fields: Parameters<typeof session.updateOne<'people'>>[2]) => session.updateOne('people', id, fields)
`

const program = openProgram(Object.values(ENTRY_POINTS), { [HELPERS]: helpers })

/** Names that the main entry point may have. A type that only appears inside another is reached through it. */
const MAX_NAMES = 123

it('has few names at the main entry point', () => {
  const file = program.getSourceFiles().find(({ fileName }) => fileName.endsWith('/src/index.ts'))
  const main = file && program.getTypeChecker().getSymbolAtLocation(file)
  const names = main === undefined ? [] : program.getTypeChecker().getExportsOfModule(main)
  expect(names.length).toBeGreaterThan(100)
  expect(names.length).toBeLessThanOrEqual(MAX_NAMES)
})

it('lets an application emit declarations of inferred results', () => {
  const file = program.getSourceFiles().find(({ fileName }) => fileName.endsWith(HELPERS))
  const problems = [...program.getSemanticDiagnostics(file), ...program.getDeclarationDiagnostics(file)]
  expect(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([])
})

it('lets a compiler write them with names of entry points alone', () => {
  const settings = { declaration: true, emitDeclarationOnly: true, noEmit: false }
  const emitting = openProgram(Object.values(ENTRY_POINTS), { [HELPERS]: helpers }, settings)
  const file = emitting.getSourceFiles().find(({ fileName }) => fileName.endsWith(HELPERS))
  let text = ''
  emitting.emit(file, (_path, written) => (text += written), undefined, true)
  const named = [...text.matchAll(/import\("([^"]+)"\)\.(\w+)/g)].map(
    ([, path = '', name]) => `${name} of ${path.replace('../../', '')}`,
  )
  const entryPoints = Object.values(ENTRY_POINTS)
  const isNamed = (one: string) => one.includes(' of strongroom') || entryPoints.some((path) => one.endsWith(` of ${path}`))
  expect([...new Set(named)].filter((one) => !isNamed(one))).toEqual([])
  expect(named.length).toBeGreaterThan(20)
})
