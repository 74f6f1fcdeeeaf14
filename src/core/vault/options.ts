/** The options of a vault, and their checks: shapes, and the default and the range of each limit. */
import * as z from 'zod'
import { VaultError } from '../errors.ts'
import type { Limits } from '../execution/context.ts'
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_ROWS, DEFAULT_TIMEOUT_MS, MAX_JSON_MEMBERS, QUERY_LIMITS } from '../limits.ts'
import type { PolicyFor } from '../policy/statement.ts'
import type { BlobStore, ContentTypeDetector, FileScanner } from '../ports/blobs.ts'
import type { Entropy, Hash, KeyProvider, KeyRingFactory } from '../ports/crypto.ts'
import type { Log, Metrics, Tracing } from '../ports/observability.ts'
import type { StorageHandle } from '../ports/storage.ts'
import type { Clock, Scheduler, Stopwatch, Timer } from '../ports/time.ts'
import type { ReadCosts } from '../queries/candidate-rows.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import type { Schema } from '../schema/define-schema.ts'
import type { SchemaChanges } from '../schema-change/open-schema.ts'
import { type OnProgress, readInput } from '../util/boundary.ts'
import { isWellFormed } from '../util/bytes.ts'
import { readOptions } from '../util/options.ts'
import type { Signal } from '../util/signal.ts'
import type { OnInfected } from './scan-worker.ts'

/** Options of `createVault`. `Role` are the roles of the policy, if they are known. */
export interface VaultOptions<S extends SchemaDefinition, Role extends string = string> {
  /** Id of the vault, 1 to 128 characters. All sealed data is bound to it, so it can never change. */
  readonly id: string
  /** The result of `defineSchema`, or `storedSchema`. */
  readonly schema: Schema<S>
  /** The storage, such as `sqliteStorage({ … })`. It belongs to this vault alone. */
  readonly storage: StorageHandle
  /**
   * Where the keys of subjects with `ownKeys` are kept, such as a second `sqliteStorage({ … })` with backups of its own: then no backup of `storage` opens
   * what was sealed for a person who was forgotten since. It belongs to this vault alone, and every process has to pass it. Default: `storage`.
   */
  readonly subjectKeys?: StorageHandle
  /** Provider of the key-encryption key that wraps the root keys, such as `localKeys({ … })`. */
  readonly keys: KeyProvider
  /** Whose ciphers compute: those of a WebAssembly module and the platform, or `node:crypto` alone, which is slower. The stored bytes are the same. Default 'wasm'. Source: docs/security.md. */
  readonly cryptography?: 'wasm' | 'node'
  /**
   * Milliseconds after which the vault asks the provider again to unwrap its active root key, 1,000 to 2,147,483,647. A provider that refuses
   * with `failed_precondition` closes the vault and wipes its keys; one that is away changes nothing. Default: it is not asked again.
   */
  readonly revokeCheckMs?: number
  /**
   * The fingerprint that the vault must have, as `vault.keys()` answers it: 64 hex digits. A database that was exchanged for another one, or was emptied and
   * founded anew, is then refused. Default: any.
   */
  readonly keyFingerprint?: string
  /** Clock for timestamps, expiry and time limits. Default: the clock of the operating system. */
  readonly clock?: Clock
  /** Source of random bytes. Default: the operating system's CSPRNG. */
  readonly entropy?: Entropy
  /** Id of the account in audit events, 1 to 128 characters. Default: the vault id. */
  readonly accountId?: string
  /** Policy statements by role. Default: only the built-in roles VAULT_OWNER, VAULT_EDITOR and VAULT_VIEWER. */
  readonly policy?: PolicyFor<S, Role>
  /** Whether each operation records an audit event. Default 'on'. */
  readonly audit?: 'on' | 'off'
  /** Receives a span for each operation, such as `openTelemetry()`. Default: no spans. */
  readonly tracing?: Tracing
  /** Receives counts, durations and sizes, such as `openTelemetryMetrics()`. Default: no metrics. */
  readonly metrics?: Metrics
  /** Receives log records about failures, in the shape of pino. Default: no log. */
  readonly log?: Log
  /** Store of the contents of files, such as `folderBlobs({ … })`. Default: the storage of the vault. */
  readonly blobs?: BlobStore
  /** Scanner of files, such as `clamdScanner({ … })`. With one, only clean files are opened. Default: files are not scanned. */
  readonly scanner?: FileScanner
  /** What is done with an infected file: its content is kept, and never opened, or destroyed. Default 'quarantine'. */
  readonly onInfected?: OnInfected
  /**
   * Limits of single requests. `maxRecords` and `maxPageSize`: 1,000 each. `maxJsonMembers`: 10,000. Of queries: `maxQueryRecords` 25, `maxQueryLength` 16,384,
   * `maxQueryLexemes` 4,000, `maxQueryNesting` 64, `maxQueryTables` 8, `queryExtensions` true, `maxRowsRead` 1,000,000, `queryTimeoutMs` 30,000, `maxQueryBytes`
   * 256 MiB. Ranges: docs/reliability.md.
   */
  readonly limits?: Partial<Limits>
  /**
   * What opening does where the schema differs from the stored one. `small`: what touches no record; more is refused, with its steps in the details of the
   * error. `apply`: all of it, as `applySchemaChange` does. `refuse`: nothing. Default 'small'. Source: docs/schema-changes.md.
   */
  readonly schemaChanges?: SchemaChanges
  /** An `AbortSignal`. When it is aborted before the vault is open, opening throws `cancelled`, and a change of the schema goes on at the next one; later it has no effect. */
  readonly signal?: Signal
  /**
   * Called while `schemaChanges: 'apply'` changes the schema, after each slice of rows, and awaited. Its error ends the opening, and is thrown unchanged.
   */
  readonly onProgress?: OnProgress
}

/** The options with all ports, as `createVault` passes them to core. */
export type OpenOptions<S extends SchemaDefinition, Role extends string = string> = VaultOptions<S, Role> & {
  readonly clock: Clock
  readonly entropy: Entropy
  readonly keyRingFactory: KeyRingFactory
  readonly hash: Hash
  readonly scheduler: Scheduler
  /** What reading costs, by which queries choose their indexes. Default: as it was measured. */
  readonly readCosts?: ReadCosts
  readonly stopwatch: Stopwatch
  readonly timer: Timer
  readonly contentTypes: ContentTypeDetector
  /** Names this process in the list of jobs. */
  readonly process: string
}

function hasMethod(value: unknown, name: string): boolean {
  return isObject(value) && typeof Reflect.get(value, name) === 'function'
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Returns the shape of an id. The storage compares ids byte by byte, so they must be well-formed. */
function idShape(): z.ZodString {
  const problem = 'must be a string of 1 to 128 characters'
  return z.string(problem).min(1, problem).max(128, problem).refine(isWellFormed, 'must be well-formed text')
}

/** Records and lexemes of one request. Each is held in memory as a whole. */
const MAX_ITEMS = 1_000_000
/** A condition is parsed and evaluated by functions that call themselves: each level takes some of the stack. */
const MAX_DEPTH = 256
/** Every table of a query buffers rows, and the rows of each are joined with those of all before. */
const MAX_TABLES = 64
/** The longest time of a timer. */
const MAX_MS = 2 ** 31 - 1
/** The shortest time between two checks of the key: services count calls, and refuse those above a rate. */
const MIN_CHECK_MS = 1000
const CHECK_RULE = `must be an integer from ${MIN_CHECK_MS} to ${MAX_MS}`

/** The limits of a vault, each with its default. */
export const limitsShape = z.object(
  {
    maxRecords: limit(1000, MAX_ITEMS),
    maxPageSize: limit(1000, MAX_ITEMS),
    maxJsonMembers: limit(MAX_JSON_MEMBERS, MAX_ITEMS),
    maxQueryRecords: limit(QUERY_LIMITS.maxQueryRecords, MAX_ITEMS),
    maxQueryLength: limit(QUERY_LIMITS.maxQueryLength, MAX_ITEMS),
    maxQueryLexemes: limit(QUERY_LIMITS.maxQueryLexemes, MAX_ITEMS),
    maxQueryNesting: limit(QUERY_LIMITS.maxQueryNesting, MAX_DEPTH),
    maxQueryTables: limit(QUERY_LIMITS.maxQueryTables, MAX_TABLES),
    queryExtensions: z.boolean('must be true or false').default(QUERY_LIMITS.queryExtensions),
    maxRowsRead: limit(DEFAULT_MAX_ROWS, Number.MAX_SAFE_INTEGER),
    queryTimeoutMs: limit(DEFAULT_TIMEOUT_MS, MAX_MS),
    maxQueryBytes: limit(DEFAULT_MAX_BYTES, Number.MAX_SAFE_INTEGER),
  },
  'must be an object',
) satisfies z.ZodType<Limits>

function limit(byDefault: number, highest: number) {
  const rule = `must be an integer from 1 to ${highest}`
  return z.int(rule).min(1, rule).max(highest, rule).default(byDefault)
}

const optionsShape = z.object({
  id: idShape(),
  schema: z.custom((value) => isObject(value) && 'tables' in value, 'must be the result of defineSchema'),
  storage: z.custom((value) => hasMethod(value, 'joinTransaction'), 'must be a storage, such as sqliteStorage({ … })'),
  subjectKeys: z
    .custom((value) => hasMethod(value, 'joinTransaction'), 'must be a storage, such as sqliteStorage({ … })')
    .optional(),
  keys: z.custom((value) => hasMethod(value, 'unwrap'), 'must be a key provider, such as localKeys({ … })'),
  cryptography: z.enum(['wasm', 'node'], "must be 'wasm' or 'node'").optional(),
  keyFingerprint: z
    .string('must be 64 hex digits')
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits')
    .optional(),
  revokeCheckMs: z.int(CHECK_RULE).min(MIN_CHECK_MS, CHECK_RULE).max(MAX_MS, CHECK_RULE).optional(),
  clock: z.custom((value) => hasMethod(value, 'now'), 'must have a method now() that returns nanoseconds as a bigint'),
  entropy: z.custom((value) => hasMethod(value, 'bytes'), 'must have a method bytes(count) that returns a Uint8Array'),
  accountId: idShape().optional(),
  policy: z.unknown().optional(),
  audit: z.enum(['on', 'off'], "must be 'on' or 'off'").optional(),
  tracing: z.custom((value) => hasMethod(value, 'startActiveSpan'), 'must be tracing, such as openTelemetry()').optional(),
  metrics: z
    .custom(
      (value) => ['operationEnded', 'committed', 'observeCaches'].every((name) => hasMethod(value, name)),
      'must be metrics, such as openTelemetryMetrics()',
    )
    .optional(),
  log: z
    .custom(
      (value) => ['info', 'warn', 'error'].every((name) => hasMethod(value, name)),
      'must have the methods info, warn and error, as a pino logger has',
    )
    .optional(),
  blobs: z.custom((value) => hasMethod(value, 'write'), 'must be a blob store, such as folderBlobs({ … })').optional(),
  scanner: z.custom((value) => hasMethod(value, 'scan'), 'must be a scanner, such as clamdScanner({ … })').optional(),
  onInfected: z.enum(['quarantine', 'delete'], "must be 'quarantine' or 'delete'").optional(),
  limits: limitsShape.partial().optional(),
  schemaChanges: z.enum(['small', 'apply', 'refuse'], "must be 'small', 'apply' or 'refuse'").optional(),
  signal: z.custom((value) => isObject(value) && 'aborted' in value, 'must be an AbortSignal').optional(),
  onProgress: z.custom((value) => typeof value === 'function', 'must be a function').optional(),
} satisfies Readonly<Record<keyof VaultOptions<SchemaDefinition>, z.ZodType>>)

/** Returns a copy of the options that an application passes. Throws `invalid_request` for one that is unknown or null, also of `limits`. */
export function readVaultOptions<Options extends Pick<VaultOptions<SchemaDefinition>, 'limits'>>(options: Options): Options {
  const given = readOptions(options, namesOf<Options>(optionsShape), { of: 'createVault' })
  if (given.limits === undefined) return given
  return { ...given, limits: readOptions(given.limits, namesOf<Limits>(limitsShape), { of: 'createVault', member: 'limits' }) }
}

/** The options of a shape. */
function namesOf<Options extends object>({ shape }: z.ZodObject): (keyof Options & string)[] {
  return Object.keys(shape) as (keyof Options & string)[]
}

/** Returns the limits of requests. Throws `invalid_request` that names the first invalid option. */
export function parseOptions(options: unknown): Limits {
  const parsed = readInput(() => optionsShape.safeParse(options))
  if (!parsed.success)
    throw new VaultError('invalid_request', `Cannot open the vault: ${problemOf(readInput(() => parsed.error.issues[0]))}.`)
  return limitsShape.parse(parsed.data.limits ?? {})
}

/** Returns a clause about one issue: which option is wrong, and what it must be. */
function problemOf(issue: z.core.$ZodIssue | undefined): string {
  const path = issue?.path.map(String).join('.') ?? ''
  return path === '' ? 'the options must be an object' : `option "${path}" ${issue?.message ?? 'is invalid'}`
}
