/** Property: queries with known results return them, for any sealed columns and on any storage. Texts that are not a query are rejected. */
import { beforeAll, describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { nameProblem } from '../../src/core/schema/names.ts'
import { checkQueries, type Inquiry, isRefusal, listed } from '../support/sql/known-checks.ts'
import { asQueryable, type Keeping, openKnown, placeDatabases, type Queryable } from '../support/sql/known-vault.ts'
import { isParsed } from '../support/sql/rewrite.ts'
import { type KnownDatabase, type KnownQuery, readDatabases, readVectors, type WrongQuery } from '../support/sql/vectors.ts'
import { onEachStorage } from '../support/storages/engines.ts'
import type { EngineName } from '../support/storages/places.ts'
import { openLoose } from '../support/vaults/open-untyped.ts'

const TIMEOUT_MS = 300_000
/** The files of queries and the expected outcome of each. */
const FILES: readonly (Omit<Inquiry, 'places'> & { readonly name: string })[] = [
  { name: 'strict', queries: readVectors<KnownQuery>('strict'), expectation: 'answer' },
  { name: 'generated', queries: readVectors<KnownQuery>('generated'), expectation: 'answer' },
  { name: 'extended', queries: readVectors<KnownQuery>('extended'), expectation: 'answer or refuse' },
  { name: 'errors', queries: readVectors<WrongQuery>('errors'), expectation: 'refuse' },
]

/** The databases of all queries that parse. */
const places = placeDatabases(databasesOf(FILES.flatMap(({ queries }) => queries)))

function databasesOf(queries: readonly (KnownQuery | WrongQuery)[]): ReadonlyMap<string, KnownDatabase> {
  const asked = new Set(queries.filter(({ sql }) => isParsed(sql)).map(({ db }) => db))
  return new Map([...readDatabases()].filter(([id]) => asked.has(id)))
}

/** Vaults that take queries in turn: each query is asked of one in memory and of one in a database. A database is asked for rows by one column at a time, so one has columns of each kind; joins of them are on the way. */
const TURNS: Readonly<Record<EngineName, readonly (readonly [keeping: Keeping, turn: number])[]>> = {
  memory: [
    ['sealed', 0],
    ['plain', 1],
  ],
  sqlite: [['mixed', 0]],
  postgres: [['mixed', 1]],
}
/** EVERY_QUERY=1 in the environment asks each vault everything. */
const isEvery = process.env.EVERY_QUERY !== undefined

/** Those of a list that are asked at this turn, of so many. */
function inTurn<Item>(items: readonly Item[], turn: number, turns: number): readonly Item[] {
  return isEvery ? items : items.filter((_, position) => position % turns === turn)
}

onEachStorage('queries with known results', ({ name: engine, fresh }) => {
  for (const [keeping, turn] of TURNS[engine]) {
    describe(`with every column ${keeping}`, () => {
      let vault: Queryable
      beforeAll(async () => {
        vault = await openKnown(fresh().open(), places, keeping)
      }, TIMEOUT_MS)

      for (const { name, queries: all, expectation } of FILES) {
        const queries = inTurn(all, turn, 2)
        it(
          `${name}: ${expectation}`,
          async () => {
            const { answered, refused, faults } = await checkQueries(vault, { places, queries, expectation })
            expect.soft(answered + refused).toBe(queries.length)
            expect(listed(faults)).toBe('none')
          },
          TIMEOUT_MS,
        )
      }
    })
  }
})

describe('the check of known results', () => {
  /** Vaults with one fault each. */
  const FAULTS: Readonly<Record<string, (vault: Queryable) => Queryable>> = {
    'the last record is dropped': (vault) => ({
      query: async (sql) => ({ records: (await vault.query(sql)).records.slice(0, -1) }),
    }),
    'more than 25 records are returned': (vault) => ({
      query: async (sql) => {
        const { records } = await vault.query(sql)
        return { records: records.length === 25 ? [...records, ...records.slice(0, 1)] : records }
      },
    }),
    'OFFSET is ignored': (vault) => ({ query: (sql) => vault.query(sql.replace(/\boffset\s+\d+/i, '')) }),
    'LIKE ignores case': (vault) => ({ query: (sql) => vault.query(sql.replaceAll(/\blike\b/gi, 'ILIKE')) }),
    'OR is read as AND': (vault) => ({ query: (sql) => vault.query(sql.replaceAll(/\bor\b/gi, 'AND')) }),
    'outer joins are read as inner joins': (vault) => ({
      query: (sql) => vault.query(sql.replaceAll(/\b(?:left|right|full)(?:\s+outer)?\s+join\b/gi, 'JOIN')),
    }),
    'nothing is rejected': (vault) => ({ query: (sql) => vault.query(sql).catch(() => ({ records: [] })) }),
  }
  /** The first fault. The vault without a fault has none: see above. */
  const find = async (vault: Queryable): Promise<readonly string[]> => {
    for (const { queries, expectation } of FILES.filter((file) => file.name !== 'extended')) {
      const { faults } = await checkQueries(vault, { places, queries, expectation, isOneEnough: true })
      if (faults.length > 0) return faults
    }
    return []
  }
  let vault: Queryable
  beforeAll(async () => {
    vault = await openKnown(memoryStorage(), places, 'plain')
  }, TIMEOUT_MS)

  for (const [name, fault] of Object.entries(FAULTS)) {
    it(`fails when ${name}`, async () => {
      expect((await find(fault(vault))).length).toBeGreaterThan(0)
    })
  }
})

/** Texts that are not one SELECT, and injection payloads. */
const REJECTED: readonly Pick<WrongQuery, 'id' | 'sql'>[] = readVectors<WrongQuery>('reject')
const PAYLOADS = [...new Set(readVectors<{ readonly payload: string }>('injection').map(({ payload }) => payload))]

/** Every table name in the rejected statements, so that a statement that were executed would find its table. */
function namedTables(rejected: typeof REJECTED): string[] {
  const names = rejected.flatMap(({ sql }) =>
    [...sql.toLowerCase().matchAll(/\b(?:from|into|table|update|on|truncate|exists|analyze|copy)\s+"?(\w+)/g)].map(
      ([, name]) => name ?? '',
    ),
  )
  return [...new Set(names)].filter((name) => nameProblem(name) === undefined)
}

/** The turns of the engines for texts that no engine gets to see, or that each gets in the same way. */
const ENGINE_TURNS: readonly EngineName[] = ['memory', 'sqlite', 'postgres']

onEachStorage('a text that is not one SELECT', ({ name: engine, fresh }) => {
  it(
    'is rejected and changes nothing',
    async () => {
      const rejected = inTurn(REJECTED, ENGINE_TURNS.indexOf(engine), ENGINE_TURNS.length)
      const tables = namedTables(rejected)
      expect(tables.length).toBeGreaterThan(20)
      const columns = { a: { type: 'INTEGER' }, x: { type: 'INTEGER', encrypted: false }, id: { type: 'STRING' } } as const
      const { session: loose } = await openLoose(fresh().open(), Object.fromEntries(tables.map((table) => [table, columns])))
      const session = asQueryable(loose)
      for (const table of tables) await session.insert(table, [{ fields: { a: 1, x: 1, id: table } }, { fields: { a: 2 } }])
      const stored = (): Promise<unknown[]> => Promise.all(tables.map((table) => session.get(table, { redaction: 'PLAIN_TEXT' })))
      const before = await stored()
      const faults: string[] = []
      for (const { id, sql } of rejected) {
        const fault = await refusalFault(session, sql)
        if (fault !== undefined) faults.push(`${id} ${fault}`)
      }
      expect(listed(faults)).toBe('none')
      expect(await stored()).toEqual(before)
    },
    TIMEOUT_MS,
  )
})

/** Returns what is wrong; undefined if the text is rejected with an error of the query that does not repeat the text. */
async function refusalFault(session: Queryable, sql: string): Promise<string | undefined> {
  try {
    await session.query(sql)
    return `is answered: ${sql}`
  } catch (error) {
    if (!isRefusal(error)) return `fails: ${String(error)}: ${sql}`
    const isSpecific = sql.length > 5 && !/^\w*$/.test(sql)
    return isSpecific && String(error).includes(sql) ? `is repeated in the error: ${sql}` : undefined
  }
}

/** What thousands of queries record is no part of what they return. */
const QUIET = { audit: 'off' } as const

onEachStorage('injection payloads', ({ name: engine, fresh }) => {
  const payloads = inTurn(PAYLOADS, ENGINE_TURNS.indexOf(engine), ENGINE_TURNS.length)

  it('are rejected as queries and as names of tables and columns', async () => {
    const { session: loose } = await openLoose(
      fresh().open(),
      { notes: { text: { type: 'STRING', redaction: 'PLAIN_TEXT' } } },
      QUIET,
    )
    const session = asQueryable(loose)
    await session.insert('notes', [{ fields: { text: 'kept' } }])
    const faults: string[] = []
    for (const payload of payloads) {
      const name = payload.replaceAll('"', '""')
      const queries = [
        payload,
        `SELECT * FROM ${payload}`,
        `SELECT * FROM "${name}"`,
        `SELECT * FROM notes "${name}`,
        `SELECT ${payload} FROM notes`,
        `SELECT "${name}" FROM notes`,
        `SELECT notes."${name}" FROM notes`,
        `SELECT text FROM notes WHERE "${name}" = 'kept'`,
        `SELECT text FROM notes WHERE notes."${name}" IS NULL`,
      ]
      for (const sql of queries) {
        const fault = await refusalFault(session, sql)
        if (fault !== undefined) faults.push(fault)
      }
    }
    expect(listed(faults)).toBe('none')
    expect((await session.get('notes')).records).toHaveLength(1)
  })

  it('are returned unchanged as values, and match as literals', async () => {
    const shown = { type: 'STRING', redaction: 'PLAIN_TEXT' } as const
    const columns = { sealed: shown, found: { ...shown, searchable: true }, plain: { ...shown, encrypted: false } }
    const { session: loose } = await openLoose(fresh().open(), { notes: columns }, QUIET)
    const session = asQueryable(loose)
    await session.insert(
      'notes',
      PAYLOADS.map((payload) => ({ fields: { sealed: payload, found: payload, plain: payload } })),
    )
    const faults: string[] = []
    for (const payload of payloads) {
      const pattern = payload.replaceAll(/[\\%_]/g, '\\$&')
      const conditions = Object.keys(columns).flatMap((column) => [
        `${column} = '${payload.replaceAll("'", "''")}'`,
        `${column} = "${payload.replaceAll('"', '""')}"`,
        `${column} LIKE '${pattern.replaceAll("'", "''")}'`,
      ])
      for (const condition of conditions) {
        const { records } = await session.query(`SELECT sealed, found, plain FROM notes WHERE ${condition}`)
        const [first] = records
        const isSame = records.length === 1 && Object.values(first?.fields ?? {}).every((value) => value === payload)
        if (!isSame) faults.push(`${records.length} records: ${condition}`)
      }
    }
    expect(listed(faults)).toBe('none')
  })
})
