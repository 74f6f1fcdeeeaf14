/** Batches that change the same records in opposite orders wait for each other in one direction only, so that none is ended by a deadlock. */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import type { PolicyDefinition } from '../../../src/core/policy/statement.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { at } from '../../../src/core/util/lists.ts'
import type { Vault } from '../../../src/core/vault/vault.ts'
import { column } from '../../../src/index.ts'
import { callerOf } from '../../support/audit/audited-clients.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { queryServer } from '../../support/postgres/query-server.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const PLAIN = { redaction: 'PLAIN_TEXT' } as const
const SCHEMA = {
  notes: {
    key: column.string({ unique: true, ...PLAIN }),
    text: column.string({ token: 'random', ...PLAIN }),
    /** Unique, and not for clerks. */
    secret: column.string({ unique: true, ...PLAIN }),
  },
  others: { key: column.string({ unique: true, ...PLAIN }) },
}
/** Clerks write notes, and do not know that these have a secret. */
const POLICY: PolicyDefinition = {
  clerk: [{ effect: 'ALLOW', actions: ['READ', 'CREATE', 'UPDATE'], on: ['notes.key', 'notes.text'], redaction: 'PLAIN_TEXT' }],
}

/** Both batches name these keys, in opposite orders. The middle one is locked until both wait. */
const KEYS = ['first', 'middle', 'last'] as const
/** So many items of a batch, beside the three, that it is prepared before its transaction. */
const MANY = 64

type Key = (typeof KEYS)[number]

const fieldsOf = (key: string, text: string) => ({ key, text })
const insert = (key: string) => ({ insert: 'notes', fields: fieldsOf(key, 'own') }) as const
const upsert = (key: string, text: string) => ({ insert: 'notes', upsert: 'key', fields: fieldsOf(key, text) }) as const
const put = (id: string, text: string) => ({ update: 'notes', id, fields: { text } }) as const
const remove = (id: string) => ({ delete: 'notes', id }) as const

type Item = ReturnType<typeof insert> | ReturnType<typeof upsert> | ReturnType<typeof put> | ReturnType<typeof remove>
/** Makes an item that changes the record of a key, whose id is given. */
type Change = (key: Key, id: string, text: string) => Item

interface Contention {
  readonly name: string
  readonly change: Change
  /** Further items of each batch, of records of its own. */
  readonly others?: (batch: string) => readonly Item[]
  /** False if the records of the keys are new. */
  readonly areStored?: boolean
  /** Items that fail: one that is refused, and those whose record the other batch deleted. Default 0. */
  readonly refused?: number
}

const many = (batch: string): Item[] => Array.from({ length: MANY }, (_, index) => upsert(`${batch} ${index}`, 'own'))
/** Both batches are refused before they change a record. Then they run in halves. */
const taken = (): Item[] => [insert('middle')]
const mixed: Change = (key, id, text) => (key === 'middle' ? upsert(key, text) : put(id, text))

const CONTENTIONS: readonly Contention[] = [
  { name: 'upserts of records that exist', change: (key, _, text) => upsert(key, text) },
  { name: 'many upserts of records that exist', change: (key, _, text) => upsert(key, text), others: many },
  { name: 'many upserts of new records', change: (key, _, text) => upsert(key, text), others: many, areStored: false },
  { name: 'updates and upserts', change: mixed },
  { name: 'many updates and upserts', change: mixed, others: many },
  { name: 'updates beside an item that is refused', change: (_, id, text) => put(id, text), others: taken, refused: 2 },
  { name: 'deletions beside an item that is refused', change: (_, id) => remove(id), others: taken, refused: 4 },
]

it.each(CONTENTIONS)('$name', ({ change, others, areStored = true, refused = 0 }) =>
  besideHolder(async ({ holder, url, open }) => {
    const vaults = [await open(), await open()] as const
    const records = KEYS.map((key) => ({ fields: { key, text: 'old' } }))
    const stored = areStored ? (await vaults[0].as(OWNER).insert('notes', records)).records : undefined
    const batchOf = (name: string, keys: readonly Key[]): Item[] => {
      const [one, ...more] = keys.map((key) => change(key, stored?.[KEYS.indexOf(key)]?.id ?? '', name))
      return [...(one === undefined ? [] : [one]), ...(others?.(name) ?? []), ...more]
    }
    await holder.query('begin')
    const beside = vaults[0].withTransaction(holder).as(OWNER)
    if (areStored) await holder.query('select 1 from strongroom.records_1_notes order by id limit 1 offset 1 for update')
    else await beside.insert('notes', [{ fields: { key: 'middle' } }])
    const running = [KEYS, KEYS.toReversed()].map((keys, index) =>
      at(vaults, index)
        .as(OWNER)
        .batch(batchOf(`batch ${index}`, keys), { continueOnError: true }),
    )
    await untilWaiting(url, 2)
    await holder.query('rollback')
    const responses = (await Promise.all(running)).flatMap((ended) => ended.responses)
    expect(responses.filter(({ ok }) => !ok)).toHaveLength(refused)
    expect(await vaults[0].verifyAudit()).toMatchObject({ ok: true })
    expect(await vaults[0].verifyRecords()).toMatchObject({ ok: true })
  }),
)

it('many upserts of new records of two tables, in opposite orders of the tables', () =>
  besideHolder(async ({ holder, url, open }) => {
    const vaults = [await open(), await open()] as const
    const of = (tableName: string) => KEYS.map((key) => ({ insert: tableName, upsert: 'key', fields: { key } }) as const)
    await holder.query('begin')
    const beside = vaults[0].withTransaction(holder).as(OWNER)
    // Each batch holds the new rows of one table when it waits, unless both begin with the same one.
    for (const table of ['notes', 'others']) await beside.insert(table, [{ fields: { key: 'middle' } }])
    const running = [
      [...of('notes'), ...many('batch 0'), ...of('others')],
      [...of('others'), ...many('batch 1'), ...of('notes')],
    ].map((items, index) => at(vaults, index).as(OWNER).batch(items))
    await untilWaiting(url, 2)
    await holder.query('rollback')
    const responses = (await Promise.all(running)).flatMap((ended) => ended.responses)
    expect(responses.filter(({ ok }) => !ok)).toEqual([])
  }))

it('upserts by a column that the caller cannot write wait for no row, from which they would learn that it exists', () =>
  besideHolder(async ({ holder, open }) => {
    const vault = await open()
    await vault.as(OWNER).insert('notes', [{ fields: { key: 'first', secret: 'known' } }])
    await holder.query('begin')
    await holder.query('select 1 from strongroom.records_1_notes for update')
    const item = { insert: 'notes', upsert: 'secret', fields: { key: 'other', secret: 'known' } } as const
    // The row stays locked, so a batch that wanted its lock would not end.
    const { responses } = await vault.as(callerOf('clerk')).batch([item, item], { continueOnError: true })
    expect(responses.map((response) => !response.ok && response.error.code)).toEqual(['invalid_request', 'invalid_request'])
  }))

/** A database, and a connection beside the vaults on it, which holds locks. */
interface Places {
  readonly holder: pg.Client
  readonly url: string
  /** Opens the vault once more, on a storage of its own. */
  open(): Promise<Vault>
}

/** Runs work on a database of its own, in which no deadlock must be left. */
async function besideHolder(work: (places: Places) => Promise<void>): Promise<void> {
  const database = await freshDatabase(inject('postgresUrl'))
  const { url } = database
  const storages: StorageHandle[] = []
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  try {
    await work({
      ...{ holder, url },
      async open() {
        const storage = postgresStorage({ connectionString: url })
        storages.push(storage)
        return (await openLoose(storage, SCHEMA, { policy: POLICY })).vault
      },
    })
  } finally {
    await holder.end()
    for (const storage of storages) await storage.close()
  }
  expect(await deadlocksOf(url)).toBe(0)
  await database.drop()
}

/** Returns when so many transactions of the database wait for others. */
async function untilWaiting(url: string, transactions: number): Promise<void> {
  const text = `select count(*)::int as count from pg_locks as l join pg_stat_activity as a on a.pid = l.pid
    where not l.granted and a.datname = current_database()`
  for (let poll = 0; poll < 1000; poll++) {
    const [row] = await queryServer<{ count: number }>(url, text)
    if (row?.count === transactions) return
    await pause(5)
  }
  throw new Error(`there are never ${transactions} transactions that wait`)
}

/** Returns how many deadlocks there were. A connection reports its own when it ends. */
async function deadlocksOf(url: string): Promise<number> {
  const text = `select deadlocks::int, (select count(*) - 1 from pg_stat_activity where datname = current_database())::int as open
    from pg_stat_database where datname = current_database()`
  for (;;) {
    const [row] = await queryServer<{ deadlocks: number; open: number }>(url, text)
    if (row?.open === 0) return row.deadlocks
    await pause(10)
  }
}
