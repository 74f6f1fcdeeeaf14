/** Every type in the declarations of an entry point can be named: it is exported. So can what a compiler writes for an inferred result. */
import { join } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { ENTRY_POINTS } from '../../scripts/entry-points.ts'
import { COMPUTATIONS, findUnnamedTypes } from '../support/compiler/find-unnamed.ts'
import { openProgram } from '../support/compiler/open-program.ts'

const HELPERS = 'test/inference/helpers-of-an-application.ts'

/** What an application exports without a word about its type. */
const helpers = `
import { column, createVault, defineSchema, type SchemaDefinition, type Session, type TableName } from 'strongroom'
import { verifyExport } from 'strongroom/audit-verifier'
import { blobCases } from 'strongroom/blob-conformance'
import { folderBlobs, s3Blobs, type S3ClientLike } from 'strongroom/blobs'
import { apiKeys, createApiKey, createHandler, jwt, serviceAccounts, toNodeHandler } from 'strongroom/http'
import { ed25519Signer, localKeys } from 'strongroom/keys'
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
export const signer = ed25519Signer({ keyId: 'a', privateKey: '' })
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
export const suites = [storageCases, blobCases] as const
export const change = (id: string, fields: Parameters<typeof session.updateOne<'people'>>[2]) => session.updateOne('people', id, fields)
`

const program = openProgram(Object.values(ENTRY_POINTS), { [HELPERS]: helpers })

it('exports every type that an exported declaration names', () => {
  expect(findUnnamedTypes(program)).toEqual([])
})

it('finds a type that is not exported', () => {
  const text = `export interface Hidden { readonly a: string }\nexport interface Shown { readonly hidden: Hidden }\nexport type Both = Shown\n`
  const entry = join('src', 'http', 'index.ts')
  const broken = openProgram([], {
    ...Object.fromEntries(Object.values(ENTRY_POINTS).map((path) => [path, 'export {}\n'])),
    'src/hidden.ts': text,
    [entry]: "export type { Both, Shown } from '../hidden.ts'\n",
  })
  expect(findUnnamedTypes(broken)).toEqual([{ name: 'Hidden', file: 'src/hidden.ts', namedBy: 'Shown' }])
})

it('keeps its list of computations to aliases that are declared', () => {
  const aliases = program
    .getSourceFiles()
    .filter(({ fileName }) => fileName.includes('/src/'))
    .flatMap(({ statements }) => statements.filter(ts.isTypeAliasDeclaration).map(({ name }) => name.text))
  expect([...COMPUTATIONS].filter((name) => !aliases.includes(name))).toEqual([])
})

it('lets an application emit declarations of inferred results', () => {
  const file = program.getSourceFiles().find(({ fileName }) => fileName.endsWith(HELPERS))
  const problems = [...program.getSemanticDiagnostics(file), ...program.getDeclarationDiagnostics(file)]
  expect(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([])
})
