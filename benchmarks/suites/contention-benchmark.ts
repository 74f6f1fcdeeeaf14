/** Benchmark: 64 callers update one record at once, each another column, against the same updates one after the other. */
import { localKeys } from '../../src/adapters/keys/index.ts'
import { memoryStorage } from '../../src/adapters/memory/index.ts'
import { postgresStorage } from '../../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { at } from '../../src/core/util/lists.ts'
import { column, createVault, defineSchema } from '../../src/index.ts'
import type { StorageHandle } from '../../src/storage-port.ts'
import { dropSchema } from '../baselines/postgres-plaintext.ts'
import { OWNER, SECRET, VAULT } from '../fixtures/people-vaults.ts'
import { assertSame } from '../measuring/check-reads.ts'
import { compareTimes } from '../measuring/compare.ts'
import { measure, probed, type Variant } from '../measuring/harness.ts'
import { CALLERS } from '../measuring/run-concurrently.ts'
import type { Entry, StorageName } from '../report/result-shape.ts'
import type { Benchmark, Measurement, RunConfig } from '../runner/run-config.ts'

/** Maximum time of the updates at once divided by their time one after the other. Commits that are shared make it less. */
const TARGET = 1.2

const storages: Readonly<Partial<Record<StorageName, Measurement>>> = {
  sqlite: (config) => measureOn(config, 'sqlite', sqliteStorage({ filename: config.environments.sqliteFile() })),
  async postgres(config) {
    const pool = config.environments.postgresPool()
    const schema = config.environments.postgresName()
    const entries = await measureOn(config, 'postgres', postgresStorage({ pool, schema }))
    await dropSchema(pool, schema)
    return entries
  },
  memory: (config) => measureOn(config, 'memory', memoryStorage()),
}

export const contentionBenchmark: Benchmark = { names: ['contention'], storages, quick: storages }

const COLUMNS = Array.from({ length: CALLERS }, (_, caller) => `column_${caller}`)

/** A record with one column per caller. */
const schema = defineSchema({ counters: Object.fromEntries(COLUMNS.map((name) => [name, column.string()])) })

async function measureOn({ scale }: RunConfig, name: StorageName, storage: StorageHandle): Promise<Entry[]> {
  const vault = await createVault({ id: VAULT, schema, storage, keys: localKeys({ key: SECRET }) })
  const session = vault.as(OWNER)
  const { records } = await session.insert('counters', [{ fields: Object.fromEntries(COLUMNS.map((one) => [one, 'none'])) }])
  const { id } = at(records, 0)
  let drawn = 0
  let value = ''
  const prepare = (): void => {
    value = `value ${++drawn}`
  }
  const update = (one: string): Promise<unknown> => session.updateOne('counters', id, { [one]: value })
  const atOnce = async (): Promise<number> => (await Promise.all(COLUMNS.map(update))).length
  const inOrder = async (): Promise<number> => {
    for (const one of COLUMNS) await update(one)
    return COLUMNS.length
  }
  const ours: Variant = { name: 'strongroom', prepare, run: atOnce }
  const baseline: Variant = { name: 'the same, one after the other', prepare, run: inOrder }
  const [fast, slow] = await measure([ours, baseline], scale.slowTiming)
  const held = fast && (await probed(ours, fast))
  prepare()
  await atOnce()
  const { fields } = await session.getOne('counters', id, { redaction: 'PLAIN_TEXT' })
  assertSame(
    COLUMNS.map((one) => fields[one]),
    COLUMNS.map(() => value),
  )
  await vault.close()
  const subject = { benchmark: `${CALLERS} callers updating one record`, storage: name, rows: 1, target: TARGET }
  return held === undefined || slow === undefined ? [] : [compareTimes(subject, held, slow)]
}
