/** The plan of the house as data: which room stands on which step, and who may import what. Source: docs/architecture.md. */

/** Steps of the staircase in `src/core`, lowest first. A file imports from lower steps or from its own room. */
export const STAIRS: readonly (readonly string[])[] = [
  ['limits'],
  ['errors'],
  ['util'],
  ['ports'],
  ['values', 'tokens', 'redaction', 'sealing', 'files'],
  ['schema'],
  ['expressions'],
  ['policy', 'barrier', 'sql', 'audit'],
  ['journal'],
  ['stores'],
  ['queries'],
  ['operations'],
  ['vault'],
]

/** The rooms of core that may wait. */
export const WAITING_ROOMS: ReadonlySet<string> = new Set([
  'util',
  'ports',
  'journal',
  'stores',
  'queries',
  'operations',
  'vault',
])

/** The operations every other operation may import. */
export const SHARED_OPERATIONS: ReadonlySet<string> = new Set(['context', 'audited', 'grants', 'operation', 'perform', 'story'])

/** The one file that names every operation. */
export const REGISTRY = 'src/core/operations/operations.ts'

/** What an adapter may import of core. */
export const ADAPTERS_SEE_CORE = /^src\/core\/(ports\/|util\/|errors\.ts$)/

/** Other adapters an adapter may import. */
export const ADAPTERS_SEE_ADAPTERS: Readonly<Record<string, readonly string[]>> = {
  memory: ['errors'],
  sql: ['errors'],
  sqlite: ['sql', 'errors'],
  postgres: ['sql', 'errors'],
}

/** The one file that puts the default engines into core's vault, and what it may import. */
export const COMPOSITION_ROOT = 'src/create-vault.ts'
export const COMPOSITION_SEES = /^src\/(core|adapters\/keys|adapters\/system)\//

/** What the offline verifier of the audit trail may import: it needs no vault, no storage and no vault's keys. */
export const VERIFIER_SEES =
  /^src\/(audit-verifier|core\/(audit|ports|util|values))\/|^src\/(core\/(errors|limits)|adapters\/system\/system-hash)\.ts$/

/** Modules with one named importer. */
export const PRIVATE_FILES: Readonly<Record<string, string>> = {
  'src/core/sealing/open.ts': 'src/core/barrier/reveal.ts',
}

const MACHINE = ['node:crypto', 'node:fs', 'node:fs/promises', 'node:os', 'node:path', 'node:perf_hooks', 'node:url']

/** Packages each place may import; the longest matching place counts, and a place without a line may import none. */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'src/core': ['re2js', 'uuid', 'zod'],
  'src/adapters/sql': ['kysely', 'node:async_hooks'],
  'src/adapters/sqlite': ['better-sqlite3', 'kysely', 'node:fs', 'node:timers/promises'],
  'src/adapters/postgres': ['kysely', 'pg'],
  'src/adapters/memory': ['node:async_hooks'],
  'src/adapters/keys': MACHINE,
  'src/adapters/opentelemetry': ['@opentelemetry/api'],
  'src/adapters/system': MACHINE,
  'src/audit-verifier': ['node:crypto', 'zod'],
}

/** What may stand in `src` itself. */
export const TOP_LEVEL = /^src\/(index\.ts|create-vault\.ts|(core|adapters|audit-verifier|http)\/.+)$/

/** Names that say nothing about what a file holds, as a whole name, of a file or a folder. */
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

/** Where a default export is what a tool asks for. */
export const MAY_EXPORT_DEFAULT = /^test\/support\//

/** Lines a file may have. */
export const LONGEST_FILE = 400

/** Globals core may not touch: time, luck and the machine come in through ports. */
export const FORBIDDEN_GLOBALS: ReadonlySet<string> = new Set(['globalThis', 'process', 'Buffer'])

/** Words by which code waits. */
export const WAITING_TYPES: ReadonlySet<string> = new Set(['Promise', 'PromiseLike', 'AsyncIterable', 'AsyncGenerator'])
