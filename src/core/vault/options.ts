/** What a vault is made of, and what is wrong with what it was given. */
import { z } from 'zod'
import { VaultError } from '../errors.ts'
import type { Limits } from '../execution/context.ts'
import type { PolicyFor } from '../policy/statement.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { Hash } from '../ports/hash.ts'
import type { KeyProvider, KeyRingFactory } from '../ports/keys.ts'
import type { Log } from '../ports/log.ts'
import type { Scheduler } from '../ports/scheduler.ts'
import type { StorageHandle } from '../ports/storage.ts'
import type { Tracing } from '../ports/tracing.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import type { Schema } from '../schema/define-schema.ts'
import { isWellFormed } from '../values/well-formed.ts'

/** What a vault is made of. */
export interface VaultOptions<S extends SchemaDefinition> {
  /** Names the vault for good: everything sealed is bound to it. 1 to 128 characters. */
  readonly id: string
  /** What `defineSchema` answered. */
  readonly schema: Schema<S>
  /** Where everything is kept; belongs to this vault alone. */
  readonly storage: StorageHandle
  /** Where the key lives that wraps the vault's own keys. */
  readonly keys: KeyProvider
  /** Where time comes from. Default: the system's clock. */
  readonly clock?: Clock
  /** Where luck comes from. Default: the system's secure source. */
  readonly entropy?: Entropy
  /** Names the account the vault belongs to in audit events. 1 to 128 characters. Default: the vault's id. */
  readonly accountId?: string
  /** Who may do what: statements by role. Without it there are only the built-in roles VAULT_OWNER, VAULT_EDITOR and VAULT_VIEWER. */
  readonly policy?: PolicyFor<S>
  /** Whether every operation is recorded. Default 'on'; 'off' is for data nobody has to account for. */
  readonly audit?: 'on' | 'off'
  /** Where spans go, such as `openTelemetry()`. None unless given. */
  readonly tracing?: Tracing
  /** Where lines about failures go, in pino's shape. None unless given. */
  readonly log?: Log
  /** Bounds of single requests. */
  readonly limits?: Partial<Limits>
}

/** The same, with nothing left to default. */
export type OpenOptions<S extends SchemaDefinition> = VaultOptions<S> & {
  readonly clock: Clock
  readonly entropy: Entropy
  readonly keyRingFactory: KeyRingFactory
  readonly hash: Hash
  readonly scheduler: Scheduler
}

const limitsShape = z.strictObject({
  maxRecords: z.int().min(1).max(1_000_000).default(1000),
  maxPageSize: z.int().min(1).max(1_000_000).default(1000),
})

function hasMethod(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function'
}

const optionsShape = z.strictObject({
  id: z.string().min(1).max(128).refine(isWellFormed, 'must be well-formed text'),
  schema: z.looseObject({ tables: z.unknown() }),
  storage: z.custom(
    (value) => typeof value === 'object' && value !== null && 'joinTransaction' in value,
    'must be a storage, such as sqliteStorage({ … })',
  ),
  keys: z.custom(
    (value) => typeof value === 'object' && value !== null && 'unwrap' in value,
    'must be a key provider, such as localKeys({ … })',
  ),
  clock: z.custom((value) => hasMethod(value, 'now'), 'must be a clock: { now(): bigint }'),
  entropy: z.custom((value) => hasMethod(value, 'bytes'), 'must be a source of luck: { bytes(count): Uint8Array }'),
  keyRingFactory: z.unknown(),
  hash: z.unknown(),
  scheduler: z.unknown(),
  accountId: z.string().min(1).max(128).refine(isWellFormed, 'must be well-formed text').optional(),
  policy: z.unknown().optional(),
  audit: z.enum(['on', 'off']).optional(),
  tracing: z
    .custom((value) => value === undefined || hasMethod(value, 'startActiveSpan'), 'must be tracing, such as openTelemetry()')
    .optional(),
  log: z
    .custom(
      (value) => value === undefined || ['info', 'warn', 'error'].every((name) => hasMethod(value, name)),
      "must be a log of pino's shape",
    )
    .optional(),
  limits: limitsShape.partial().optional(),
})

/** Checks what a vault is to be made of, and answers its limits. Throws `invalid_request` naming the option. */
export function parseOptions(options: unknown): Limits {
  const parsed = optionsShape.safeParse(options)
  if (parsed.success) return limitsShape.parse(parsed.data.limits ?? {})
  const issue = parsed.error.issues[0]
  throw new VaultError(
    'invalid_request',
    `The vault was not opened. Option ${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? 'is wrong'}.`,
  )
}
