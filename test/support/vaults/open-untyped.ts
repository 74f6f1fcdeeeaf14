/** Opens vaults whose schema is made at run time, with a clock and entropy that the test controls. */
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { systemEntropy } from '../../../src/adapters/system/system.ts'
import type { PolicyDefinition } from '../../../src/core/policy/statement.ts'
import type { BlobStore } from '../../../src/core/ports/blobs.ts'
import type { Entropy, KeyRing, KeyRingFactory } from '../../../src/core/ports/crypto.ts'
import type { Log, Tracing } from '../../../src/core/ports/observability.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import type { Scheduler, Timer } from '../../../src/core/ports/time.ts'
import type { ReadCosts } from '../../../src/core/queries/candidate-rows.ts'
import type { SchemaDefinition } from '../../../src/core/schema/column.ts'
import { checkSchema } from '../../../src/core/schema/define-schema.ts'
import type { SchemaRules } from '../../../src/core/schema/schema-rules.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import type { Vault } from '../../../src/core/vault/vault.ts'
import { SYSTEM_PORTS } from './system-ports.ts'
import { OWNER, TEST_SECRET } from './test-vault.ts'

/** Columns to texts or values. */
export type Cells = Readonly<Record<string, unknown>>

/** A record to insert. */
export interface LooseRecord {
  readonly fields: Cells
  readonly tokens?: Cells
}

/** A stored record with the tokens it was asked for. */
export interface LooseStored {
  readonly id: string
  readonly tokens: Readonly<Record<string, string>>
}

/** A record as it is read: its fields, or its tokens. */
export interface LooseRead {
  readonly id: string
  readonly fields: Cells
  readonly levels: Cells
  readonly tokens: Readonly<Record<string, string>>
}

/** A session without types, as a JavaScript caller sees it. */
export interface LooseSession {
  insert(table: string, records: readonly LooseRecord[], options?: Cells): Promise<{ records: LooseStored[] }>
  insertOne(table: string, fields: Cells, options?: Cells): Promise<LooseStored>
  update(table: string, records: readonly Cells[], options?: Cells): Promise<{ records: LooseStored[] }>
  updateOne(table: string, id: string, fields: Cells, options?: Cells): Promise<LooseStored>
  updateWhere(table: string, where: Cells, fields: Cells, options?: Cells): Promise<{ records: LooseStored[] }>
  batch(
    items: readonly Cells[],
    options?: Cells,
  ): Promise<{ responses: readonly { readonly ok: boolean; readonly value?: unknown }[] }>
  get(table: string, options?: Cells): Promise<{ records: LooseRead[] }>
  pages(table: string, options?: Cells): AsyncIterable<{ records: LooseRead[] }>
  getOne(table: string, id: string, options?: Cells): Promise<LooseRead>
  perform(operation: string, input: Cells): Promise<unknown>
  delete(table: string, ids: readonly string[] | '*'): Promise<{ ids: string[] }>
  detokenize(
    parameters: readonly Cells[],
    options?: Cells,
  ): Promise<{ records: { token: string; valueType: string; value: string; level?: string; error?: string }[] }>
  query(sql: string, options?: Cells): Promise<{ records: { fields: Cells; levels: Cells }[] }>
  tokenize(parameters: readonly unknown[]): Promise<{ records: { token: string }[] }>
  getByTokens(
    tokens: readonly unknown[],
    options?: Cells,
  ): Promise<{ records: { token: string; id?: string; table?: string; fields: Cells; levels: Cells; error?: string }[] }>
}

/** A vault under test, and its parts. */
export interface LooseVault {
  readonly vault: Vault
  readonly session: LooseSession
  readonly storage: StorageHandle
  readonly ring: KeyRing
  /** The vault's clock in milliseconds. The test moves it. */
  readonly clock: { ms: number }
}

/** Options; each has a default. */
export interface LooseOptions {
  readonly id?: string
  readonly secret?: string
  readonly entropy?: Entropy
  readonly clock?: { ms: number }
  readonly policy?: PolicyDefinition
  readonly audit?: 'on' | 'off'
  readonly blobs?: BlobStore
  readonly log?: Log
  readonly tracing?: Tracing
  readonly factory?: KeyRingFactory
  readonly rules?: SchemaRules
  readonly readCosts?: ReadCosts
  readonly scheduler?: Scheduler
  readonly timer?: Timer
  readonly schemaChanges?: 'small' | 'apply' | 'refuse'
}

/** Start of every fixed clock, in milliseconds since 1970. */
export const START_MS = Date.UTC(2026, 0, 31, 12)

/** Opens a vault of these tables, with a session of the owner, who may do everything. */
export async function openLoose(
  storage: StorageHandle,
  tables: SchemaDefinition,
  options: LooseOptions = {},
): Promise<LooseVault> {
  const {
    id = 'v1',
    secret: key = TEST_SECRET,
    entropy = systemEntropy,
    clock = { ms: START_MS },
    factory = keyRingFactory,
    rules,
    ...others
  } = options
  const rings: KeyRing[] = []
  // The ring of a vault is made from that of its active key alone.
  const noted = (ring: KeyRing): KeyRing => {
    rings.push(ring)
    return { ...ring, withRoots: (...given) => noted(ring.withRoots(...given)) }
  }
  const vault = await openVault({
    ...SYSTEM_PORTS,
    ...others,
    id,
    storage,
    entropy,
    schema: checkSchema(tables, rules),
    keys: localKeys({ key }),
    clock: { now: () => BigInt(clock.ms) * 1_000_000n },
    keyRingFactory: { ...factory, createRing: (...given) => noted(factory.createRing(...given)) },
  })
  const ring = rings.at(-1)
  if (ring === undefined) throw new Error('the vault opened without keys')
  return { vault, session: asLoose(vault.as(OWNER)), storage, ring, clock }
}

/** A typed session as an untyped one. */
export function asLoose(session: unknown): LooseSession {
  return session as LooseSession // The tests pass invalid calls on purpose; the vault must reject them.
}

/** Inserts one record. Returns it with its tokens. */
export async function insertOne(
  session: LooseSession,
  table: string,
  fields: Cells,
  more: { readonly tokens?: Cells; readonly options?: Cells } = {},
): Promise<LooseStored> {
  const record = more.tokens === undefined ? { fields } : { fields, tokens: more.tokens }
  const { records } = await session.insert(table, [record], { tokenization: true, ...more.options })
  const [stored] = records
  if (stored === undefined) throw new Error('the insert returned no record')
  return stored
}

/** The values of tokens; undefined for a token that does not exist. */
export async function valuesOf(session: LooseSession, tokens: readonly (string | undefined)[]): Promise<(string | undefined)[]> {
  const answer = await session
    .detokenize(
      tokens.map((token) => ({ token: token ?? '', redaction: 'PLAIN_TEXT' })),
      { continueOnError: true },
    )
    .catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'not_found') return undefined
      throw error
    })
  return tokens.map((_, index) => {
    const record = answer?.records[index]
    if (record?.error !== undefined && record.error !== 'Token Not Found') throw new Error(record.error)
    return record === undefined || record.valueType === 'NONE' ? undefined : record.value
  })
}
