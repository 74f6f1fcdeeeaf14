/** Texts of any length in indexes of PostgreSQL: they are unique, found by the index, and taken over from an earlier version. */
import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, describe, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { createPostgresSqlDialect } from '../../../src/adapters/postgres/postgres-sql-dialect.ts'
import { createSqlStatements } from '../../../src/adapters/sql/sql-statements.ts'
import { toTableShape } from '../../../src/adapters/sql/table-shapes.ts'
import type { Filter, PhysicalTable, StorageHandle } from '../../../src/core/ports/storage.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { queryServer } from '../../support/postgres/query-server.ts'

const database = await freshDatabase(inject('postgresUrl'))
afterAll(() => database.drop())

const CARDS: PhysicalTable = {
  name: 'cards',
  columns: [
    { name: 'body', type: 'bytes' },
    { name: 'owner', type: 'text' },
  ],
  indexes: [{ columns: ['owner'], unique: true }],
}

let schemas = 0
const opened: StorageHandle[] = []
afterEach(async () => {
  for (const handle of opened.splice(0)) await handle.close()
})

function open(schema: string): StorageHandle {
  const storage = postgresStorage({ schema, connectionString: database.url })
  opened.push(storage)
  return storage
}

async function prepared(): Promise<StorageHandle> {
  const storage = open(`own_${schemas++}`)
  await storage.prepare([CARDS])
  return storage
}

function asSuperuser<T extends object>(text: string): Promise<T[]> {
  return queryServer<T>(database.url, text)
}

/** The plan of a statement, as the server explains it. */
async function explained(text: string, parameters: readonly unknown[]): Promise<string> {
  const rows = await queryServer<{ 'QUERY PLAN': string }>(database.url, `explain ${text}`, parameters)
  return rows.map((row) => row['QUERY PLAN']).join('\n')
}

async function idsOf(storage: StorageHandle, filter: Filter): Promise<number[]> {
  return (await storage.find('cards', filter, { order: 'asc', limit: 1000 })).map((row) => row.id)
}

describe('texts', () => {
  it('of any length are unique, and found by the index of their column', async () => {
    const storage = await prepared()
    const owners = [4000, 20_000, 200_000].map((length) => randomBytes(length).toString('hex'))
    await storage.insert(
      'cards',
      owners.map((owner, at) => ({ id: at + 1, owner })),
    )
    const again = storage.insert('cards', [{ id: 7, owner: 'short' }, { id: 8, owner: owners[1] ?? '' }, { id: 9 }])
    await expect(again).rejects.toMatchObject({
      code: 'conflict',
      details: [{ table: 'cards', columns: ['owner'], index: 1 }],
    })
    const alike = `${(owners[1] ?? '').slice(0, 39_000)}!`
    const either = storage.insert('cards', [
      { id: 7, owner: alike },
      { id: 8, owner: owners[1] ?? '' },
    ])
    await expect(either).rejects.toMatchObject({ code: 'conflict', details: [expect.not.objectContaining({ index: 0 })] })
    await storage.insert('cards', [{ id: 7, owner: alike }])
    for (const [at, owner] of owners.entries()) {
      expect(await idsOf(storage, { kind: 'compare', column: 'owner', operator: '=', value: owner })).toEqual([at + 1])
    }
  })

  it('are found by the index in every comparison but <>', async () => {
    const schema = `own_${schemas}`
    const storage = await prepared()
    await storage.insert(
      'cards',
      Array.from({ length: 5000 }, (_, at) => ({ id: at + 1, owner: at % 50 === 0 ? null : `owner ${at}` })),
    )
    await asSuperuser(`analyze ${schema}.cards`)
    const value = 'owner 4999'
    const filters: Filter[] = [
      { kind: 'compare', column: 'owner', operator: '=', value },
      { kind: 'compare', column: 'owner', operator: '>', value },
      { kind: 'compare', column: 'owner', operator: '<', value: 'owner 1' },
      { kind: 'in', column: 'owner', values: [value, 'owner 7'] },
      { kind: 'isNull', column: 'owner' },
    ]
    const dialect = createPostgresSqlDialect(schema)
    const statements = createSqlStatements(dialect)
    for (const filter of filters) {
      const { statement, parameters } = statements.find(toTableShape(CARDS), filter, { order: 'asc', limit: 1000 })
      const plan = await explained(statement.text, parameters)
      expect(plan).toMatch(/Index/)
      expect(plan).not.toMatch(/Seq Scan|Index Scan using cards_pkey/)
    }
    expect(await idsOf(storage, { kind: 'in', column: 'owner', values: [value, 'owner 7'] })).toEqual([8, 5000])
  })
})

describe('bytes', () => {
  it('too long for the index of their column give an error that names the table, and the next call works', async () => {
    const storage = open(`own_${schemas++}`)
    await storage.prepare([{ ...CARDS, indexes: [{ columns: ['body'], unique: true }] }])
    for (const length of [4_000, 20_000]) {
      const message = expect.stringMatching(/^A value of table "cards" is too long for its index/)
      const insert = storage.insert('cards', [{ id: 1, body: randomBytes(length) }])
      await expect(insert).rejects.toMatchObject({
        code: 'unprocessable',
        message,
        details: [{ table: 'cards', index: 0 }],
      })
    }
    await storage.insert('cards', [{ id: 1, owner: 'short' }])
    expect((await storage.get('cards', [1])).map((row) => row?.owner)).toEqual(['short'])
  })
})
