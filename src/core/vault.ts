/** The vault as an application holds it: opens storage and keys, and hands ports to operations. No rules here. */
import { z } from 'zod'
import type { Barrier } from './barrier/barrier.ts'
import { VaultError } from './errors.ts'
import { adoptSchema } from './operations/adopt-schema.ts'
import type { Limits, OperationContext } from './operations/context.ts'
import { deleteRecords } from './operations/delete-records.ts'
import type { DetokenizedRecord, DetokenizeOptions, DetokenizeParameter } from './operations/detokenize-tokens.ts'
import { detokenizeTokens } from './operations/detokenize-tokens.ts'
import type { GetOptions, ShowOptions } from './operations/get-records.ts'
import { getRecord, getRecords } from './operations/get-records.ts'
import { insertRecords } from './operations/insert-records.ts'
import { openCatalog } from './operations/open-catalog.ts'
import { updateRecord } from './operations/update-record.ts'
import type { Caller } from './policy/caller.ts'
import { parseCaller } from './policy/caller.ts'
import type { Clock } from './ports/clock.ts'
import type { Entropy } from './ports/entropy.ts'
import type { KeyEngine, KeyProvider } from './ports/keys.ts'
import type { Storage, StorageHandle } from './ports/storage.ts'
import type { SchemaDefinition, TableDefinition } from './schema/column.ts'
import type { Schema } from './schema/define-schema.ts'
import { defineSchema } from './schema/define-schema.ts'
import type {
  AnsweredFields,
  ChangedFields,
  ColumnName,
  Given,
  LookupColumn,
  NewFields,
  TableName,
  TokensOf,
  UniqueColumn,
} from './schema/infer.ts'
import type { Layout } from './schema/layout.ts'

/** What a vault is made of. */
export interface VaultOptions<S extends SchemaDefinition> {
  /** Names the vault for good: everything sealed is bound to it. 1 to 128 characters. */
  readonly id: string
  readonly schema: Schema<S>
  readonly storage: StorageHandle
  readonly keys: KeyProvider
  /** Where time comes from. Default: the system's clock. */
  readonly clock?: Clock
  /** Where luck comes from. Default: the system's secure source. */
  readonly entropy?: Entropy
  readonly limits?: Partial<Limits>
}

/** The same, with nothing left to default. */
export type OpenOptions<S extends SchemaDefinition> = VaultOptions<S> & {
  readonly clock: Clock
  readonly entropy: Entropy
  readonly engine: KeyEngine
}

/** Options of an insert, with column names checked by the compiler. */
export interface SessionInsertOptions<T extends TableDefinition> {
  readonly tokenization?: boolean
  readonly upsert?: UniqueColumn<T>
  readonly homogeneous?: boolean
}

/** Options of a read of one record, with column names checked by the compiler. */
export interface SessionShowOptions<T extends TableDefinition> extends Omit<ShowOptions, 'fields'> {
  readonly fields?: readonly ColumnName<T>[]
}

/** Options of a read of several, with column names and look-up values checked by the compiler. */
export interface SessionGetOptions<T extends TableDefinition> extends Omit<GetOptions, 'fields' | 'columnName' | 'columnValues'> {
  readonly fields?: readonly ColumnName<T>[]
  readonly columnName?: LookupColumn<T>
  readonly columnValues?: readonly Given<T[LookupColumn<T>]>[]
}

type AskedFields<O> = O extends { readonly fields: infer F } ? F : undefined

/** One stored record; tokens only where they were asked for. */
export type Stored<T extends TableDefinition, O> = { readonly id: string } & (O extends { readonly tokenization: true }
  ? { readonly tokens: TokensOf<T> }
  : O extends { readonly tokenization: boolean }
    ? { readonly tokens?: TokensOf<T> }
    : unknown)

/** One record as read: shown fields, or in the token view the tokens. */
export type Shown<T extends TableDefinition, O> = { readonly id: string } & (O extends { readonly tokenization: true }
  ? { readonly fields: TokensOf<T>; readonly tokens: TokensOf<T> }
  : { readonly fields: AnsweredFields<T, AskedFields<O>> })

/** What one caller can do. Every method checks its input at run time too; errors are `VaultError`s that name places, never values. */
export interface Session<S extends SchemaDefinition> {
  /**
   * Inserts records, all or none, in order. With `upsert`, a record whose value in that unique column exists is updated instead.
   * Throws `invalid_request`, `rule_broken`, `conflict`, `forbidden`. Source: specification, "Records".
   */
  insert<T extends TableName<S>, const O extends SessionInsertOptions<S[T]> = Record<never, never>>(
    table: T,
    records: readonly { readonly fields: NewFields<S[T]> }[],
    options?: O,
  ): Promise<{ records: Stored<S[T], O>[] }>
  /** Reads by `ids`, by `columnName` and `columnValues`, or page by page. Throws `not_found` when an id names no record. */
  get<T extends TableName<S>, const O extends SessionGetOptions<S[T]> = Record<never, never>>(
    table: T,
    options?: O,
  ): Promise<{ records: Shown<S[T], O>[] }>
  /** Reads one record. Throws `not_found`. */
  getOne<T extends TableName<S>, const O extends SessionShowOptions<S[T]> = Record<never, never>>(
    table: T,
    id: string,
    options?: O,
  ): Promise<Shown<S[T], O>>
  /** Writes the named columns of one record, each whole. Throws `not_found`, `rule_broken`, `conflict`. */
  update<T extends TableName<S>, const O extends { readonly tokenization?: boolean } = Record<never, never>>(
    table: T,
    id: string,
    change: { readonly fields: ChangedFields<S[T]> },
    options?: O,
  ): Promise<Stored<S[T], O> & { readonly updatedAt: string }>
  /** Deletes the named records, all or none, or every record with '*'. Throws `not_found`. */
  delete(table: TableName<S>, ids: readonly string[] | '*'): Promise<{ ids: string[] }>
  /** Deletes one record. Throws `not_found`. */
  deleteOne(table: TableName<S>, id: string): Promise<{ id: string; deleted: true }>
  /** Tokens back to values, as text, in order. Throws `not_found` naming positions, unless `continueOnError` and some are good. */
  detokenize(parameters: readonly DetokenizeParameter[], options?: DetokenizeOptions): Promise<{ records: DetokenizedRecord[] }>
}

/** A vault inside a transaction: only callers, whose changes commit or vanish together. */
export interface VaultInTransaction<S extends SchemaDefinition> {
  as(caller: Caller): Session<S>
}

/** An open vault. */
export interface Vault<S extends SchemaDefinition = SchemaDefinition> extends VaultInTransaction<S> {
  readonly id: string
  /** A session for a caller the application vouches for. Throws `invalid_request` when the caller is not as described. */
  as(caller: Caller): Session<S>
  /** Runs work in one transaction; a throw undoes all of it. After a deadlock or serialization failure work may run again. */
  transaction<T>(work: (vault: VaultInTransaction<S>) => Promise<T>): Promise<T>
  /** The vault inside a transaction the application opened itself on the same database (a Kysely transaction or the driver's own client): it commits, not we. */
  withTransaction(hostTransaction: unknown): VaultInTransaction<S>
  /** Lets go of the storage. Later calls throw `unavailable`. */
  close(): Promise<void>
}

const limitsShape = z.strictObject({
  records: z.int().min(1).max(1_000_000).default(1000),
  page: z.int().min(1).max(1_000_000).default(1000),
})

const optionsShape = z.strictObject({
  id: z.string().min(1).max(128),
  schema: z.looseObject({ tables: z.unknown() }),
  storage: z.custom(
    (value) => typeof value === 'object' && value !== null && 'joinTransaction' in value,
    'must be a storage, such as sqliteStorage({ … })',
  ),
  keys: z.custom(
    (value) => typeof value === 'object' && value !== null && 'unwrap' in value,
    'must be a key provider, such as localKeys({ … })',
  ),
  clock: z.unknown(),
  entropy: z.unknown(),
  engine: z.unknown(),
  limits: limitsShape.partial().optional(),
})

/** Times opening begins again because another process is opening the same vault with a changed schema. */
const MOST_ATTEMPTS = 10

/** Opens a vault on the ports given. Throws `invalid_request` for options, `rule_broken` when storage, key or schema do not fit; then nothing was written. */
export async function openVault<S extends SchemaDefinition>(options: OpenOptions<S>): Promise<Vault<S>> {
  const parsed = optionsShape.safeParse(options)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new VaultError(
      'invalid_request',
      `The vault was not opened. Option ${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? 'is wrong'}.`,
    )
  }
  const limits = limitsShape.parse(options.limits ?? {})
  const { tables } = defineSchema(options.schema.tables)
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const catalog = await openCatalog(options, options.id)
    const barrier = { ring: catalog.ring, entropy: options.entropy, vault: catalog.vault }
    const layout = await adoptSchema(options.storage, barrier, {
      known: catalog.allotment,
      definition: tables,
      remember: catalog.remember,
    })
    if (layout !== undefined) return createVault({ ...options, barrier, layout, limits })
  }
  throw new VaultError('unavailable', 'The vault was not opened: its schema keeps being changed by another process. Try again.')
}

interface Ports {
  readonly id: string
  readonly storage: StorageHandle
  readonly barrier: Barrier
  readonly clock: Clock
  readonly layout: Layout
  readonly limits: Limits
}

function createVault<S extends SchemaDefinition>(ports: Ports): Vault<S> {
  const bound = (storage: Storage): VaultInTransaction<S> => ({
    as: (caller) => createSession<S>({ ...ports, storage, caller: parseCaller(caller) }),
  })
  return {
    id: ports.id,
    as: bound(ports.storage).as,
    transaction: (work) => ports.storage.transaction((storage) => work(bound(storage))),
    withTransaction: (hostTransaction) => bound(ports.storage.joinTransaction(hostTransaction)),
    close: () => ports.storage.close(),
  }
}

/** Operations check what they are handed; the casts here only say, to the compiler, what the schema made of their answers. */
function createSession<S extends SchemaDefinition>(context: OperationContext): Session<S> {
  const session = {
    insert: (table: string, records: readonly { readonly fields: unknown }[], options = {}) =>
      insertRecords(context, table, records, options),
    get: (table: string, options = {}) => getRecords(context, table, options),
    getOne: (table: string, id: string, options = {}) => getRecord(context, table, id, options),
    update: (table: string, id: string, change: { readonly fields: unknown }, options = {}) =>
      updateRecord(context, table, { id, fields: change?.fields }, options),
    delete: (table: string, ids: readonly string[] | '*') => deleteRecords(context, table, ids),
    async deleteOne(table: string, id: string) {
      await deleteRecords(context, table, [id])
      return { id, deleted: true as const }
    },
    detokenize: (parameters: readonly DetokenizeParameter[], options = {}) => detokenizeTokens(context, parameters, options),
  }
  return session as unknown as Session<S>
}
