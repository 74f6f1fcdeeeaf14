/** Our side of every comparison: a vault of people through the public API, opened as an application would. */
import type pg from 'pg'
import { localKeys } from '../src/adapters/keys/index.ts'
import { memoryStorage } from '../src/adapters/memory/index.ts'
import { postgresStorage } from '../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../src/adapters/sqlite/index.ts'
import { type Caller, column, createVault, defineSchema, type StorageHandle } from '../src/index.ts'
import type { Batch, Person } from './people.ts'
import { BATCH } from './scope.ts'

export const OWNER: Caller = { actor: 'bench@acme.example', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] }
export const SECRET = Buffer.alloc(32, 7).toString('base64')

/** Id of every vault here, and of the account its events name. */
export const VAULT = 'bench'

/** Six text columns, five of them tokenized. */
const people = defineSchema({
  people: {
    name: column.string({ token: 'random' }),
    email: column.string({ token: 'random' }),
    phone: column.string({ token: 'random' }),
    address: column.string({ token: 'random' }),
    ssn: column.string({ token: 'random' }),
    city: column.string(),
  },
})

/** The same with one unique column. */
const uniquePeople = defineSchema({
  people: { ...people.tables.people, email: column.string({ token: 'random', unique: true }) },
})

/** A record as an insert answers it. */
export interface StoredPerson {
  readonly id: string
  readonly tokens: { readonly [K in keyof Person]?: string }
}

/** The calls the benches time; each is one call of the public API. */
export interface PeopleVault {
  insert(batch: Batch): Promise<readonly StoredPerson[]>
  getOne(id: string): Promise<{ readonly fields: { readonly [K in keyof Person]?: unknown } }>
  get(
    ids: readonly string[],
  ): Promise<{ readonly records: readonly { readonly fields: { readonly [K in keyof Person]?: unknown } }[] }>
  detokenize(
    tokens: readonly { readonly token: string; readonly redaction: 'PLAIN_TEXT' }[],
  ): Promise<{ readonly records: readonly { readonly value: string }[] }>
  /** The newest events of the audit trail, one page of them. */
  newestEvents(limit: number): Promise<{ readonly events: readonly unknown[] }>
  /** Reads and checks the whole audit trail. */
  verifyAudit(): Promise<{ readonly ok: boolean; readonly events: number }>
  close(): Promise<void>
}

export interface VaultManner {
  readonly unique?: boolean
  /** Whether operations are recorded; they are, unless said, as for every vault. */
  readonly audit?: 'on' | 'off'
}

export async function openPeopleVault(
  storage: StorageHandle,
  { unique = false, audit = 'on' }: VaultManner = {},
): Promise<PeopleVault> {
  const options = { id: VAULT, storage, keys: localKeys({ secret: SECRET }), audit }
  // Both schemas take and answer the same people; only what the engine must watch differs.
  const schema = unique ? (uniquePeople as unknown as typeof people) : people
  const vault = await createVault({ ...options, schema })
  const session = vault.as(OWNER)
  return {
    insert: async (batch) => (await session.insert('people', batch, { tokenization: true })).records,
    getOne: (id) => session.getOne('people', id, { redaction: 'PLAIN_TEXT' }),
    get: (ids) => session.get('people', { ids, redaction: 'PLAIN_TEXT' }),
    detokenize: (tokens) => session.detokenize(tokens),
    newestEvents: (limit) => session.listEvents({ filterOps: { accountID: VAULT }, limit }),
    verifyAudit: () => vault.verifyAudit(),
    close: () => vault.close(),
  }
}

export function openSqliteVault(filename: string, manner?: VaultManner): Promise<PeopleVault> {
  return openPeopleVault(sqliteStorage({ filename }), manner)
}

/** `schema` is one of its own; closing removes it with all that was stored. */
export async function openPostgresVault(pool: pg.Pool, schema: string, manner?: VaultManner): Promise<PeopleVault> {
  const vault = await openPeopleVault(postgresStorage({ pool, schema }), manner)
  return {
    ...vault,
    async close() {
      await vault.close()
      await pool.query(`drop schema ${schema} cascade`)
    },
  }
}

export function openMemoryVault(manner?: VaultManner): Promise<PeopleVault> {
  return openPeopleVault(memoryStorage(), manner)
}

/** One vault opened twice on one storage: with and without a record of what is done. Both read the same rows from the same cache. */
export interface VaultPair {
  readonly audited: PeopleVault
  readonly unaudited: PeopleVault
  close(): Promise<void>
}

export async function openVaultPair(storage: StorageHandle): Promise<VaultPair> {
  const audited = await openPeopleVault(storage)
  return { audited, unaudited: await openPeopleVault(storage, { audit: 'off' }), close: audited.close }
}

/** Inserts `rows` records in batches. */
export async function fill(rows: number, next: (count: number) => Batch, insert: (batch: Batch) => unknown): Promise<void> {
  for (let done = 0; done < rows; done += BATCH) await insert(next(Math.min(BATCH, rows - done)))
}

/** The same, and answers what each insert answered, in order. */
export async function fillAndKeep<T>(
  rows: number,
  next: (count: number) => Batch,
  insert: (batch: Batch) => readonly T[] | Promise<readonly T[]>,
): Promise<T[]> {
  const kept: T[] = []
  await fill(rows, next, async (batch) => {
    for (const one of await insert(batch)) kept.push(one)
  })
  return kept
}
