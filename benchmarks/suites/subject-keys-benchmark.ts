/** Benchmark: a key for each person against the key of the vault: inserts, reads of many people and of one, and a scan of a sealed column. */
import { localKeys } from '../../src/adapters/keys/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { required } from '../../src/core/util/lists.ts'
import { column, createVault, defineSchema } from '../../src/index.ts'
import { OWNER, SECRET, VAULT } from '../fixtures/people-vaults.ts'
import { measurePair } from '../measuring/harness.ts'
import type { Entry } from '../report/result-shape.ts'
import { BATCH, type Benchmark, type RunConfig } from '../runner/run-config.ts'

/** Minimum share of the rate without keys. */
const TARGETS: Readonly<Record<string, number>> = { 'get 1,000 of 1,000 people': 0.55, 'get 1,000 of one person': 0.9 }

/** Reads in one timed run. */
const READS = 5

export const subjectKeysBenchmark: Benchmark = {
  names: ['subject-keys'],
  storages: { sqlite: measureKeys },
}

async function measureKeys(config: RunConfig): Promise<readonly Entry[]> {
  const [ours, baseline] = [await fillPeople(config, true), await fillPeople(config, false)]
  try {
    const entries: Entry[] = []
    for (const [name, run] of Object.entries(ours.works)) {
      const target = TARGETS[name]
      const subject = { benchmark: `subject-keys: ${name}`, storage: 'sqlite', rows: BATCH } as const
      const pair = {
        ours: { name: `${name}, with keys`, run },
        baseline: { name: `${name}, without`, run: required(baseline.works[name]) },
      }
      entries.push(await measurePair({ ...subject, ...(target !== undefined && { target }) }, pair, config.scale.callTiming))
    }
    return entries
  } finally {
    await ours.close()
    await baseline.close()
  }
}

/** Opens a vault with 1,000 people, and as many orders of the first. */
async function fillPeople({ environments }: RunConfig, ownKeys: boolean) {
  const text = () => column.string({ redaction: 'PLAIN_TEXT' })
  const schema = defineSchema(
    {
      people: { name: text(), street: text(), note: text() },
      orders: { person: column.string({ searchable: true, redaction: 'PLAIN_TEXT' }), memo: text(), note: text() },
    },
    {
      subjects: {
        person: { table: 'people', relations: [{ table: 'orders', column: 'person', references: 'people' }], ownKeys },
      },
    },
  )
  const storage = sqliteStorage({ filename: environments.sqliteFile() })
  const vault = await createVault({ id: VAULT, schema, storage, keys: localKeys({ key: SECRET }), audit: 'off' })
  const session = vault.as(OWNER)
  const records = Array.from({ length: BATCH }, (_, n) => ({
    fields: { name: `Ann Smith ${n}`, street: `${n} Market Street, Springfield`, note: `prefers mail on weekdays, ${n}` },
  }))
  const { records: stored } = await session.insert('people', records)
  const ids = stored.map(({ id }) => id)
  const person = ids[0] ?? ''
  const { records: ordered } = await session.insert(
    'orders',
    records.map(({ fields }) => ({ fields: { person, memo: fields.street, note: fields.note } })),
  )
  const orders = ordered.map(({ id }) => id)
  const repeated = async (work: () => Promise<unknown>): Promise<number> => {
    for (let i = 0; i < READS; i++) await work()
    return READS * BATCH
  }
  const works: Readonly<Record<string, () => Promise<number>>> = {
    'get 1,000 of 1,000 people': () => repeated(() => session.get('people', { ids })),
    'get 1,000 of one person': () => repeated(() => session.get('orders', { ids: orders })),
    'scan of a sealed column': () => repeated(() => session.query(`SELECT count(*) AS n FROM people WHERE note LIKE '%x%'`)),
    async 'insert 1,000 people'() {
      await session.insert('people', records)
      return BATCH
    },
  }
  return { works, close: () => vault.close() }
}
