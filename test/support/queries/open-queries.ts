/** Opens tables for queries without a vault: a layout, keys, access by a policy, and a storage that records its calls. */
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { systemEntropy, systemScheduler } from '../../../src/adapters/system/system.ts'
import { parseFields } from '../../../src/core/barrier/parse-record.ts'
import { EventBuilder } from '../../../src/core/execution/event-builder.ts'
import { MAX_JSON_MEMBERS } from '../../../src/core/limits.ts'
import { type QueryOptions, query } from '../../../src/core/operations/query-records.ts'
import { compilePolicy } from '../../../src/core/policy/compile-policy.ts'
import { accessOf } from '../../../src/core/policy/create-access.ts'
import type { PolicyDefinition } from '../../../src/core/policy/statement.ts'
import type { Storage } from '../../../src/core/ports/storage.ts'
import type { Scheduler } from '../../../src/core/ports/time.ts'
import { readQuery } from '../../../src/core/queries/query-text.ts'
import { explainQuery, type QueryContext, type QueryResult, runQuery } from '../../../src/core/queries/run-query.ts'
import { assignIds, EMPTY_CATALOG_SCHEMA } from '../../../src/core/schema/catalog-schema.ts'
import type { SchemaDefinition } from '../../../src/core/schema/column.ts'
import { layoutSchema, type Table } from '../../../src/core/schema/layout.ts'
import { RECORD_ID_NAME } from '../../../src/core/schema/names.ts'
import { HeadCache } from '../../../src/core/sealed-index/index-rows.ts'
import { createIndexReader } from '../../../src/core/sealed-index/read-index.ts'
import { createJsonBudget } from '../../../src/core/values/json-types.ts'
import { limitsShape } from '../../../src/core/vault/options.ts'
import { defineSchema } from '../../../src/index.ts'
import { scansOf, scanWith } from '../storages/whole-column.ts'
import { sealRecords } from '../vaults/seal-records.ts'

/** Fields of one record. */
export type Record_ = Readonly<Record<string, unknown>>

/** One call of the storage. */
export interface Call {
  readonly verb: 'find' | 'scan column' | 'scan bytes' | 'aggregate'
  readonly table: string
  readonly rows: number
}

/** Tables to query. */
export interface Queries {
  readonly context: QueryContext
  /** The storage, which tests may also write to directly. */
  readonly storage: Storage
  /** Calls since the last `forget`. */
  readonly calls: Call[]
  /** Bodies opened since the last `forget`. */
  opened(): number
  forget(): void
  insert(table: string, records: readonly Record_[]): Promise<string[]>
  /** The fields of each record of the result. */
  query(sql: string, options?: QueryOptions, values?: unknown): Promise<QueryResult['records'][number]['fields'][]>
  explain(sql: string): ReturnType<typeof explainQuery>
  /** The same tables for another caller. */
  as(roles: readonly string[]): Queries
}

/** Options; each has a default. */
export interface QueriesOptions {
  readonly storage?: Storage
  readonly policy?: PolicyDefinition
  readonly roles?: readonly string[]
  readonly clock?: { now(): bigint }
}

/** Runs a query as the operation does, without a session. */
export function answer(
  context: QueryContext,
  sql: unknown,
  { values, ...options }: QueryOptions & { readonly values?: unknown } = {},
): Promise<QueryResult> {
  const layout = layoutSchema(EMPTY_CATALOG_SCHEMA)
  const parsing = { layout, limits: limitsShape.parse({}), event: new EventBuilder() }
  return runQuery(context, query.parse({ query: sql, values, options }, parsing))
}

/** Opens these tables in an empty storage. */
export async function openQueries(tables: SchemaDefinition, options: QueriesOptions = {}): Promise<Queries> {
  const { storage = memoryStorage(), policy = {}, clock = { now: () => process.hrtime.bigint() } } = options
  const layout = layoutSchema(assignIds(defineSchema(tables).tables, EMPTY_CATALOG_SCHEMA))
  const compiled = compilePolicy(policy, layout)
  await storage.prepare([...layout.tables.values()].map((table) => table.physical))
  const ring = keyRingFactory.createRing('v1', [{ version: 1, key: new Uint8Array(32).fill(7) }])
  const counts = { opened: 0 }
  const calls: Call[] = []
  const barrier = {
    ring: {
      ...ring,
      open(...asked: Parameters<typeof ring.open>) {
        counts.opened += asked[3].count
        return ring.open(...asked)
      },
    },
    entropy: systemEntropy,
    vault: new Uint8Array(16).fill(1),
  }

  function tableNamed(name: string) {
    const table = layout.tables.get(name)
    if (table === undefined) throw new Error(`no table ${name}`)
    return table
  }

  async function insert(name: string, records: readonly Record_[]): Promise<string[]> {
    const table = tableNamed(name)
    const ids = await storage.reserveIds(table.physical.name, records.length)
    const values = records.map((fields, index) =>
      parseFields(table, fields, { index, json: createJsonBudget({ maxJsonMembers: MAX_JSON_MEMBERS }) }),
    )
    const sources = { textOf: () => undefined, supplied: [], transientIds: records.map((_, index) => index + 1), nowMs: 0 }
    await storage.insert(table.physical.name, sealRecords(barrier, table, { ids, records: values, sources }).rows)
    return ids.map(String)
  }

  function queriesOf(roles: readonly string[]): Queries {
    const cache = new HeadCache()
    const readIndexes = (table: Table, scheduler: Scheduler) =>
      createIndexReader({ storage, keys: barrier, cache, clock, scheduler }, table)
    const access = accessOf(compiled, { roles })
    const context: QueryContext = {
      storage: watched(storage, calls),
      barrier,
      clock,
      scheduler: systemScheduler,
      layout,
      access,
      readIndexes,
    }
    return {
      context,
      storage,
      calls,
      insert,
      opened: () => counts.opened,
      forget() {
        calls.length = 0
        counts.opened = 0
      },
      query: async (sql, asked = {}, values = undefined) =>
        (await answer(context, sql, { ...asked, values })).records.map(({ fields }) => fields),
      explain: (sql) => explainQuery(context, readQuery(sql, { layout, idName: RECORD_ID_NAME })),
      as: queriesOf,
    }
  }
  return queriesOf(options.roles ?? ['VAULT_OWNER'])
}

function watched(storage: Storage, calls: Call[]): Storage {
  const scans = scansOf(storage)
  return {
    ...storage,
    ...scanWith({
      async column(table, filter, page) {
        const part = await scans.column(table, filter, page)
        calls.push({ verb: 'scan column', table, rows: part.cells.length })
        return part
      },
      async bytes(table, filter, page) {
        const part = await scans.bytes(table, filter, page)
        calls.push({ verb: 'scan bytes', table, rows: part.ids.length })
        return part
      },
    }),
    async find(table, filter, page) {
      const rows = await storage.find(table, filter, page)
      calls.push({ verb: 'find', table, rows: rows.length })
      return rows
    },
    async aggregate(table, filter, aggregates) {
      calls.push({ verb: 'aggregate', table, rows: 0 })
      return storage.aggregate(table, filter, aggregates)
    },
  }
}
