/** Transactions of the application beside long operations: its driver stops the process while it waits for the writer, so no turn may be taken with that. */
import { DatabaseSync } from 'node:sqlite'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/index.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { column, createVault, defineSchema, type Session, type Vault } from '../../../src/index.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()
const COUNT = 1000
/** Nanoseconds since 1970 of a clock that began to run with the computer. */
const START = BigInt(Date.UTC(2030, 0, 1)) * 1_000_000n

const drawn = () =>
  column.string({ redaction: 'PLAIN_TEXT', token: { kind: 'formatPreserving', format: { pattern: '[a-z]{20}' } } })
const schema = defineSchema({
  people: {
    key: column.string({ unique: true, redaction: 'PLAIN_TEXT' }),
    city: column.string({ searchable: true, redaction: 'PLAIN_TEXT' }),
    a: drawn(),
    b: drawn(),
    same: column.string({ redaction: 'PLAIN_TEXT', token: 'deterministic' }),
    brief: column.string({ redaction: 'PLAIN_TEXT', token: { kind: 'transient' } }),
    long: column.string({ redaction: 'PLAIN_TEXT' }),
    file: column.file(),
  },
})
type Tables = (typeof schema)['tables']

/** May change the records of one city. */
const GROUPER = { actor: 'grouper', actorType: 'USER', roles: ['grouper'] } as const
const policy = {
  grouper: [
    "ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT WHERE city = 'Oslo'",
    "ALLOW DELETE ON people.* WHERE city = 'Oslo'",
  ],
}

const fields = (index: number, text: string, city: string) => ({
  key: `key ${index}`,
  city,
  a: `${text} a ${index}`,
  b: `${text} b ${index}`,
  same: `same ${index}`,
  brief: text,
  long: text.padEnd(1500, '.'),
})
const records = (text: string, { first = 0, count = COUNT, city = 'Oslo' } = {}) =>
  Array.from({ length: count }, (_, index) => ({ fields: fields(first + index, text, city) }))

/** An application of a vault, and a handle of its own on the file. */
interface World {
  readonly vault: Vault<Tables>
  readonly session: Session<Tables>
  readonly host: Host
  advance(seconds: number): void
}

interface Host {
  exec(text: string): unknown
  close(): unknown
}

/** Writes in each turn of the event loop until an operation ends. Throws if the file was locked. */
async function writeBeside(operation: Promise<unknown>, host: Host): Promise<void> {
  let isOver = false
  const end = (): void => {
    isOver = true
  }
  operation.then(end, end)
  while (!isOver) {
    host.exec('begin immediate; insert into orders values (1); commit')
    await new Promise((resolve) => setImmediate(resolve))
  }
  await operation
}

/** Inserts records, and returns their ids. */
async function stored(
  session: Session<Tables>,
  text: string,
  range: { first?: number; count?: number; city?: string } = {},
): Promise<string[]> {
  const inserted = await session.insert('people', records(text, range))
  return inserted.records.map(({ id }) => id ?? '')
}

const OPERATIONS: readonly (readonly [string, (world: World) => Promise<() => Promise<unknown>>])[] = [
  [
    'an insert',
    async ({ session }) =>
      () =>
        session.insert('people', records('new'), { tokenization: true }),
  ],
  [
    'inserts that wait for each other',
    async ({ session }) =>
      () =>
        Promise.all([0, 1, 2].map((part) => session.insert('people', records('new', { first: part * COUNT })))),
  ],
  [
    'an insert that leaves out records',
    async ({ session }) => {
      await stored(session, 'old', { count: COUNT / 2 })
      return () => session.insert('people', records('new'), { onConflict: 'ignore' })
    },
  ],
  [
    'an upsert of new records',
    async ({ session }) =>
      () =>
        session.insert('people', records('new'), { upsert: 'key', tokenization: true }),
  ],
  [
    'an upsert of existing and new records',
    async ({ session }) => {
      await stored(session, 'old', { count: COUNT / 2 })
      return () => session.insert('people', records('new'), { upsert: 'key', tokenization: true })
    },
  ],
  [
    'updates of the same records',
    async ({ session }) => {
      const ids = await stored(session, 'old')
      const changes = ids.map((id, index) => ({ id, fields: fields(index, 'changed', 'Oslo') }))
      return () => Promise.all([1, 2, 3].map(() => session.update('people', changes, { tokenization: true })))
    },
  ],
  [
    'an update by a value',
    async ({ session }) => {
      await stored(session, 'old')
      return () =>
        Promise.all([1, 2].map(() => session.updateWhere('people', { city: 'Oslo' }, { long: 'changed'.padEnd(1500) })))
    },
  ],
  [
    'a deletion by ids',
    async ({ session }) => {
      const ids = await stored(session, 'old')
      return () => session.delete('people', ids)
    },
  ],
  [
    'a deletion by ids under a condition',
    async ({ vault, session }) => {
      const ids = await stored(session, 'old')
      return () => vault.as(GROUPER).delete('people', ids)
    },
  ],
  [
    'a deletion by a value',
    async ({ session }) => {
      await stored(session, 'old')
      return () => session.deleteWhere('people', { city: 'Oslo' })
    },
  ],
  [
    'the deletion of all records',
    async ({ session }) => {
      for (let part = 0; part < 4; part++) await stored(session, 'old', { first: part * COUNT })
      return () => session.delete('people', ['*'])
    },
  ],
  [
    'the deletion of all records under a condition',
    async ({ vault, session }) => {
      await stored(session, 'old')
      return () => vault.as(GROUPER).delete('people', ['*'])
    },
  ],
  [
    'a batch of inserts and upserts',
    async ({ session }) => {
      await stored(session, 'old', { count: 100 })
      const items = records('new', { first: 50, count: COUNT }).map(({ fields }, index) => ({
        ...({ insert: 'people', fields, tokenization: true } as const),
        ...(index < 100 ? ({ upsert: 'key' } as const) : {}),
      }))
      return () => session.batch(items)
    },
  ],
  [
    'a batch of all methods',
    async ({ session }) => {
      const ids = await stored(session, 'old')
      const items = ids.map((id, index) => {
        const tableName = 'people'
        if (index % 4 === 0) return { update: tableName, id, fields: fields(index, 'changed', 'Oslo') } as const
        if (index % 4 === 1) return { delete: tableName, id } as const
        if (index % 4 === 2) return { get: tableName, id } as const
        return { insert: tableName, fields: fields(index + COUNT, 'new', 'Oslo') } as const
      })
      return () => session.batch(items, { continueOnError: true })
    },
  ],
  [
    'a batch with a refused item',
    async ({ session }) => {
      await stored(session, 'old', { first: COUNT / 2, count: 1 })
      const items = records('new').map(({ fields }) => ({ insert: 'people', fields }) as const)
      return () => session.batch(items, { continueOnError: true })
    },
  ],
  [
    'tokens of values, and values of tokens',
    async ({ session }) => {
      const { records: inserted } = await session.insert('people', records('old'), { tokenization: true })
      const values = records('old').map(({ fields }) => ({ table: 'people', column: 'same', value: fields.same }) as const)
      const tokens = inserted.map(({ tokens }) => ({ token: tokens?.a ?? '' }))
      return async () => {
        await session.tokenize(values)
        await session.detokenize(tokens)
      }
    },
  ],
  [
    'the removal of what expired',
    async ({ vault, session, advance }) => {
      await stored(session, 'old')
      advance(3600)
      return () => vault.sweep()
    },
  ],
  [
    'a file that is stored and removed',
    async ({ session }) => {
      const [id = ''] = await stored(session, 'old', { count: 1 })
      return async () => {
        await session.uploadFile({ table: 'people', id, column: 'file', fileName: 'a.bin', file: new Uint8Array(5_000_000) })
        await session.deleteFile('people', id, 'file')
      }
    },
  ],
]

describe.each([
  ['better-sqlite3', (filename: string) => new Database(filename, { timeout: 0 })],
  ['node:sqlite', (filename: string) => new DatabaseSync(filename, { timeout: 0 })],
] as const)('a transaction of the application on %s never finds the file locked beside', (driver, open) => {
  it.each(OPERATIONS)('%s', async (_, prepare) => {
    const filename = nextFile()
    let ahead = 0n
    const clock = { now: () => process.hrtime.bigint() + START + ahead }
    const vault = await createVault({
      ...{ id: 'v1', schema, policy, clock },
      storage: sqliteStorage({ filename, driver }),
      keys: localKeys({ key: TEST_SECRET }),
    })
    const session = vault.as(OWNER)
    // The head of the chain is known then, so that the next insert is one commit.
    for (const first of [-1, -2, -3]) await stored(session, 'before', { first, count: 1, city: 'Rome' })
    const host = open(filename)
    host.exec('create table orders (total integer)')
    const advance = (seconds: number): void => {
      ahead += BigInt(seconds) * 1_000_000_000n
    }
    const operation = await prepare({ vault, session, host, advance })
    await expect(writeBeside(operation(), host)).resolves.toBeUndefined()
    host.close()
    await vault.close()
  })
})
