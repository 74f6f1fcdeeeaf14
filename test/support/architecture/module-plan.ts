/** The architecture as data: the layer of each module and what each may import. Source: docs/architecture.md. */

/** Layers of `src/core`, lowest first. A file imports from lower layers or from its own module. */
export const LAYERS: readonly (readonly string[])[] = [
  ['limits'],
  ['errors'],
  ['util'],
  ['ports'],
  ['values', 'tokens', 'redaction', 'sealing', 'files'],
  ['schema'],
  ['expressions', 'index-runs'],
  ['policy', 'barrier', 'sql', 'audit'],
  ['pace', 'maintenance', 'subject-keys'],
  ['audit-log', 'row-access', 'catalog', 'file-store', 'credentials', 'sealed-index'],
  ['unit-of-work', 'queries', 'retention'],
  ['records'],
  ['execution'],
  ['operations', 'verification', 'rotation', 'subjects'],
  ['schema-change'],
  ['batch'],
  ['vault'],
]

/** Modules of core whose code may be asynchronous. */
export const ASYNC_MODULES: ReadonlySet<string> = new Set([
  'util',
  'ports',
  'pace',
  'maintenance',
  'subject-keys',
  'rotation',
  'schema-change',
  'audit-log',
  'row-access',
  'catalog',
  'file-store',
  'credentials',
  'sealed-index',
  'unit-of-work',
  'queries',
  'retention',
  'execution',
  'records',
  'operations',
  'verification',
  'subjects',
  'batch',
  'vault',
])

/** The one file that lists every operation. */
export const REGISTRY = 'src/core/operations/operations.ts'

/** What an adapter, or a conformance suite, may import from core. */
export const ADAPTERS_SEE_CORE = /^src\/core\/(ports\/|util\/|errors\.ts$)/

/** Adapters that an adapter may import. */
export const ADAPTERS_SEE_ADAPTERS: Readonly<Record<string, readonly string[]>> = {
  keys: ['errors', 'packages', 'system'],
  blobs: ['errors', 'packages', 'system'],
  memory: ['errors'],
  sql: ['errors'],
  opentelemetry: ['packages'],
  sqlite: ['sql', 'errors', 'packages'],
  postgres: ['sql', 'errors', 'packages'],
}

/** The one file that connects the default keys and system ports to core, and what it may import. */
export const COMPOSITION_ROOT = 'src/create-vault.ts'
export const COMPOSITION_SEES = /^src\/(core|adapters\/keys|adapters\/system|adapters\/content-type)\//

/** What the offline audit verifier may import: it runs without a vault, storage or keys. */
export const VERIFIER_SEES =
  /^src\/(audit-verifier|core\/(audit|ports|util|values))\/|^src\/(core\/(errors|limits)|adapters\/system\/system)\.ts$/

/** Modules that use the vault as an application does: what each may import besides its own files. */
export const HOSTS_SEE: Readonly<Record<string, RegExp>> = {
  http: /^src\/(index\.ts$|core\/util\/)/,
  // Of the main entry it has the types alone: a test bundles it for browsers.
  client: /^src\/(index|core\/errors)\.ts$/,
  // The console talks to the vault over HTTP. Of the main entry it has the types alone: its build would fail with more.
  console: /^src\/index\.ts$/,
  // Whole vaults are copied below the vault: by the tables that each has, and the entries of the catalog that close a storage.
  transfer: /^src\/(index\.ts$|core\/(ports|util)\/|core\/(errors|schema\/system-tables|catalog\/vault-moves|pace\/pace)\.ts$)/,
  // The plan tries every row in a vault in memory.
  adopt: /^src\/(index\.ts$|core\/util\/|core\/errors\.ts$|adapters\/(memory|keys)\/index\.ts$)/,
  // The command uses entry points only, as the build has them: it is built on its own.
  cli: /^src\/((adapters\/.*|http|client|transfer|adopt|audit-verifier)\/index|index|public-errors|storage-port|blob-port)\.ts$/,
}

/** Files that only one other file may import. */
export const PRIVATE_FILES: Readonly<Record<string, string>> = {
  'src/core/sealing/open.ts': 'src/core/barrier/reveal.ts',
}

const MACHINE = ['node:crypto', 'node:fs', 'node:fs/promises', 'node:os', 'node:path', 'node:perf_hooks', 'node:url']

/** Packages that each folder may import. The longest matching folder applies; a folder without an entry may import none. */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'src/core': ['re2js', 'uuid', 'zod'],
  'src/adapters/sql': ['kysely', 'node:async_hooks'],
  'src/adapters/packages': ['node:module'],
  'src/adapters/sqlite': ['better-sqlite3', 'kysely', 'node:fs', 'node:path', 'node:sqlite', 'node:timers/promises'],
  'src/adapters/postgres': ['kysely', 'node:net', 'pg'],
  'src/adapters/memory': ['node:async_hooks'],
  'src/adapters/keys': MACHINE,
  'src/adapters/keys/aws': ['@aws-sdk/client-kms'],
  'src/adapters/keys/google': ['@google-cloud/kms'],
  'src/adapters/keys/azure': ['@azure/keyvault-keys', 'node:crypto'],
  'src/adapters/keys/pkcs11': ['node:crypto', 'node:worker_threads'],
  'src/adapters/opentelemetry': ['@opentelemetry/api'],
  'src/adapters/blobs': [...MACHINE, 'node:stream', '@aws-sdk/client-s3'],
  'src/adapters/scanner': ['node:net', 'node:timers/promises'],
  'src/adapters/content-type': ['file-type'],
  'src/adapters/system': MACHINE,
  'src/audit-verifier': ['node:crypto'],
  'src/adopt': ['node:crypto', 'node:timers/promises'],
  'src/client': [],
  'src/console': ['@fontsource-variable/geist', '@fontsource-variable/geist-mono', 'preact'],
  'src/console/ui': ['@tanstack/table-core', '@tanstack/virtual-core', 'preact'],
  'src/console/pages/query': [
    '@codemirror/autocomplete',
    '@codemirror/commands',
    '@codemirror/lang-sql',
    '@codemirror/language',
    '@codemirror/lint',
    '@codemirror/state',
    '@codemirror/view',
    '@lezer/highlight',
    'preact',
  ],
  'src/console/pages/audit': ['preact', 'uplot'],
  'src/cli': ['commander', 'node:process'],
  'src/cli/audit': ['node:fs', 'node:fs/promises', 'node:path', 'node:process'],
  'src/cli/admin': ['@clack/prompts', 'node:crypto', 'node:fs', 'node:fs/promises', 'node:path', 'node:process'],
  'src/cli/config': [
    'jiti',
    'node:fs',
    'node:fs/promises',
    'node:module',
    'node:os',
    'node:path',
    'node:process',
    'node:url',
    'zod',
  ],
  // A follower writes files, and speaks syslog over TCP, TLS and UDP; HTTP is fetch.
  'src/cli/follow': [
    'node:dgram',
    'node:fs/promises',
    'node:net',
    'node:os',
    'node:path',
    'node:process',
    'node:timers/promises',
    'node:tls',
  ],
  'src/cli/init': ['@clack/prompts', 'node:fs/promises', 'node:module', 'node:path', 'node:process'],
  'src/cli/serve': [
    'node:cluster',
    'node:crypto',
    'node:fs/promises',
    'node:http',
    'node:https',
    'node:net',
    'node:process',
    'node:timers/promises',
    'node:tls',
    'pino',
    'prom-client',
  ],
  'src/cli/output': ['node:fs/promises', 'node:path', 'node:process'],
  'src/cli/transfer': ['node:fs/promises', 'node:path', 'node:process'],
  'src/transfer': ['node:crypto', 'node:fs', 'node:fs/promises', 'node:util', 'node:zlib'],
  'src/http/console': ['node:fs', 'node:path', 'node:url'],
  'src/http': ['@fastify/busboy', 'jose', 'node:crypto', 'node:http', 'node:net', 'node:stream', 'zod'],
}

/** Files that load a module of the user by its path, which no literal can name. */
export const LOADERS: ReadonlySet<string> = new Set(['src/cli/config/load-config.ts'])

/** Paths that may exist in `src`. */
export const TOP_LEVEL =
  /^src\/(index\.ts|create-vault\.ts|public-errors\.ts|storage-port\.ts|blob-port\.ts|(core|adapters|adopt|audit-verifier|cli|client|conformance|console|http|transfer)\/.+)$/

/** Names of files or folders that do not say what they hold. */
export const EMPTY_NAMES: ReadonlySet<string> = new Set([
  'utils',
  'helpers',
  'types',
  'common',
  'manager',
  'service',
  'data',
  'info',
])

/** Where a tool requires a default export. */
export const MAY_EXPORT_DEFAULT = /^test\/support\//

/** Lines a file may have, at most. */
export const MAX_FILE_LINES = 400

/**
 * Calls that may have a list in place of their arguments, and why the list is short. An engine takes some 100,000 arguments at most: with more, a call
 * throws a RangeError. A list that grows with a request is added by `append`, or passed as a list.
 */
export const BOUNDED_SPREADS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'src/core/util/bytes.ts': { 'String.fromCharCode(...units)': 'at most 4,096 units, and 32 of a short text' },
  'src/adapters/sqlite/connection.ts': { 'statement.get(...step.parameters)': 'SQLite has at most 32,766 parameters' },
  'src/adapters/sqlite/drivers.ts': {
    'statement.run(...bound(parameters))': 'SQLite has at most 32,766 parameters',
    'statement.all(...bound(parameters))': 'SQLite has at most 32,766 parameters',
    'statement.get(...bound(parameters))': 'SQLite has at most 32,766 parameters',
  },
}

/** Globals that core may not use: time, randomness and the system come in through ports. */
export const FORBIDDEN_GLOBALS: ReadonlySet<string> = new Set(['globalThis', 'process', 'Buffer'])

/** Type names that make code asynchronous. */
export const ASYNC_TYPES: ReadonlySet<string> = new Set(['Promise', 'PromiseLike', 'AsyncIterable', 'AsyncGenerator'])
