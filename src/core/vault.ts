/** The vault as an application holds it: opens storage and keys, and hands ports to operations. No rules here. */
import { z } from 'zod'
import type { Barrier } from './barrier/barrier.ts'
import type { Byot } from './barrier/brought-tokens.ts'
import { VaultError } from './errors.ts'
import { adoptSchema } from './operations/adopt-schema.ts'
import type { Limits, OperationContext } from './operations/context.ts'
import { ALL, deleteAllRecords, deleteRecords } from './operations/delete-records.ts'
import type { DetokenizedRecord, DetokenizeOptions, DetokenizeParameter } from './operations/detokenize-tokens.ts'
import { detokenizeTokens } from './operations/detokenize-tokens.ts'
import type { GetByTokensOptions } from './operations/get-by-tokens.ts'
import { getByTokens } from './operations/get-by-tokens.ts'
import type { GetOptions, ShowOptions } from './operations/get-records.ts'
import { getRecord, getRecords } from './operations/get-records.ts'
import type { RecordInput } from './operations/insert-records.ts'
import { insertRecords } from './operations/insert-records.ts'
import { openCatalog } from './operations/open-catalog.ts'
import type { TokenizeParameter } from './operations/tokenize-values.ts'
import { tokenizeValues } from './operations/tokenize-values.ts'
import type { UpdateOptions } from './operations/update-record.ts'
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
  DeterministicColumn,
  Given,
  GroupName,
  LookupColumn,
  NewFields,
  TableName,
  TokensOf,
  UniqueColumn,
} from './schema/infer.ts'
import type { Layout } from './schema/layout.ts'
import { sweepTransients } from './stores/transient-store.ts'
import { isWellFormed } from './values/well-formed.ts'

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
  /** Bounds of single requests. */
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
  readonly byot?: Byot
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

/** A value whose token is wanted: in a deterministic column, or in a column group. */
export type TokenizeInput<S extends SchemaDefinition> =
  | {
      [T in TableName<S>]: { readonly value: string; readonly table: T; readonly column: DeterministicColumn<S[T]> }
    }[TableName<S>]
  | { readonly value: string; readonly columnGroup: GroupName<S> }

/** A record found by a token: its table tells the type of its fields. */
export type FoundRecord<S extends SchemaDefinition, T extends TableName<S>> =
  | {
      [K in T]: {
        readonly token: string
        readonly id: string
        readonly table: K
        readonly fields: AnsweredFields<S[K], undefined>
        readonly error?: undefined
      }
    }[T]
  | {
      readonly token: string
      readonly id?: undefined
      readonly table?: undefined
      readonly fields: Readonly<Record<never, never>>
      readonly error: string
    }

/** What one caller can do. Every method checks its input at run time too; errors are `VaultError`s that name places, never values. */
export interface Session<S extends SchemaDefinition> {
  /**
   * Inserts records, all or none, in order. With `upsert`, a record whose value in that unique column exists is updated instead.
   * Throws `invalid_request`, `rule_broken`, `conflict`, `forbidden`. Source: specification, "Records".
   */
  insert<T extends TableName<S>, const O extends SessionInsertOptions<S[T]> = Record<never, never>>(
    table: T,
    records: readonly { readonly fields: NewFields<S[T]>; readonly tokens?: TokensOf<S[T]> }[],
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
  update<T extends TableName<S>, const O extends UpdateOptions = Record<never, never>>(
    table: T,
    id: string,
    change: { readonly fields: ChangedFields<S[T]>; readonly tokens?: TokensOf<S[T]> },
    options?: O,
  ): Promise<Stored<S[T], O> & { readonly updatedAt: string }>
  /** Deletes the named records, all or none, or every record with '*'. Throws `not_found`. */
  delete(table: TableName<S>, ids: readonly string[] | '*'): Promise<{ ids: string[] }>
  /** Deletes one record. Throws `not_found`. */
  deleteOne(table: TableName<S>, id: string): Promise<{ id: string; deleted: true }>
  /** Tokens back to values, as text, in order. Throws `not_found` naming positions, unless `continueOnError` and some are good. */
  detokenize(parameters: readonly DetokenizeParameter[], options?: DetokenizeOptions): Promise<{ records: DetokenizedRecord[] }>
  /** Values, as text, to their deterministic tokens, in order. Throws `not_found` when no live record holds one, `rule_broken` for other columns. */
  tokenize(parameters: readonly TokenizeInput<S>[]): Promise<{ records: { token: string }[] }>
  /** For each token the record its value stands in, in order; one that stands in none has an error. */
  getByTokens<const T extends TableName<S> = TableName<S>>(
    tokens: readonly string[],
    options?: GetByTokensOptions,
  ): Promise<{ records: FoundRecord<S, T>[] }>
}

/** A vault inside a transaction: only callers, whose changes commit or vanish together. */
export interface VaultInTransaction<S extends SchemaDefinition> {
  /** A session for a caller the application vouches for. Throws `invalid_request` when the caller is not as described. */
  as(caller: Caller): Session<S>
}

/** An open vault. */
export interface Vault<S extends SchemaDefinition = SchemaDefinition> extends VaultInTransaction<S> {
  readonly id: string
  /** A session for a caller the application vouches for. Throws `invalid_request` when the caller is not as described. */
  as(caller: Caller): Session<S>
  /**
   * Runs work in one transaction; a throw undoes all of it, and a change that fails and is caught undoes itself alone. Use the
   * vault handed to work, never the outer one, and await every call: one still running at the end is refused. SQLite and
   * memory have one writer, which waits for work. After a deadlock or serialization failure on Postgres work may run again.
   */
  transaction<T>(work: (vault: VaultInTransaction<S>) => Promise<T>): Promise<T>
  /** The vault inside a transaction the application opened itself on the same database (a Kysely transaction or the driver's own client): it commits, not we. */
  withTransaction(hostTransaction: unknown): VaultInTransaction<S>
  /** Removes transient values whose time is over; reading never shows one either way. Answers how many went. */
  sweep(): Promise<{ expired: number }>
  /** Lets go of the storage. Later calls throw `unavailable`, but on memory, which has nothing to let go of. */
  close(): Promise<void>
}

const limitsShape = z.strictObject({
  records: z.int().min(1).max(1_000_000).default(1000),
  page: z.int().min(1).max(1_000_000).default(1000),
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
  const inside = (storage: Storage): VaultInTransaction<S> => ({
    as: (caller) => createSession<S>({ ...ports, storage, caller: parseCaller(caller) }, inSavepoint),
  })
  return {
    id: ports.id,
    as: (caller) => createSession<S>({ ...ports, caller: parseCaller(caller) }, byItself),
    transaction: (work) => ports.storage.transaction((storage) => work(inside(storage))),
    withTransaction: (hostTransaction) => inside(ports.storage.joinTransaction(hostTransaction)),
    sweep: async () => ({ expired: await sweepTransients(ports) }),
    close: () => ports.storage.close(),
  }
}

/** How an operation that changes something is run. */
type RunChange = <T>(context: OperationContext, change: (context: OperationContext) => Promise<T>) => Promise<T>

const byItself: RunChange = (context, change) => change(context)

/** Inside a transaction a failed change undoes itself alone: whoever catches its error may go on, on every engine. */
const inSavepoint: RunChange = (context, change) => context.storage.transaction((storage) => change({ ...context, storage }))

/** Operations check what they are handed; the cast only says, to the compiler, what the schema made of their answers. */
function createSession<S extends SchemaDefinition>(context: OperationContext, run: RunChange): Session<S> {
  const session = {
    insert: (table: string, records: readonly RecordInput[], options = {}) =>
      run(context, (inner) => insertRecords(inner, table, records, options)),
    get: (table: string, options = {}) => getRecords(context, table, options),
    getOne: (table: string, id: string, options = {}) => getRecord(context, table, id, options),
    update: (table: string, id: string, change: RecordInput, options = {}) =>
      run(context, (inner) => updateRecord(inner, table, { id, fields: change?.fields, tokens: change?.tokens }, options)),
    delete: (table: string, ids: readonly string[] | '*') =>
      run(context, (inner) => (ids === ALL ? deleteAllRecords(inner, table) : deleteRecords(inner, table, ids))),
    async deleteOne(table: string, id: string) {
      await run(context, (inner) => deleteRecords(inner, table, [id]))
      return { id, deleted: true as const }
    },
    detokenize: (parameters: readonly DetokenizeParameter[], options = {}) => detokenizeTokens(context, parameters, options),
    tokenize: (parameters: readonly TokenizeParameter[]) => tokenizeValues(context, parameters),
    getByTokens: (tokens: readonly string[], options = {}) => getByTokens(context, tokens, options),
  }
  return session as unknown as Session<S>
}
