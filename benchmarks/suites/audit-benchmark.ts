/** Benchmark: the cost of auditing inserts, against the same vault with audit off. */
import { fill, openPostgresVault, openSqliteVault, type PeopleVault } from '../fixtures/people-vaults.ts'
import { type FilledPair, measureInserts } from '../measuring/measure-inserts.ts'
import type { Entry, StorageName } from '../report/result-shape.ts'
import type { Benchmark, RunConfig } from '../runner/run-config.ts'
import { measureQuickTrail, measureTrail } from './audit-trail.ts'

/** Minimum rate of audited inserts divided by the rate without audit: auditing takes at most a fifth of the throughput. */
const INSERT_TARGET = 0.8

export const auditBenchmark: Benchmark = {
  names: ['audit'],
  storages: {
    async sqlite(config) {
      const { environments } = config
      const open = (audit: 'on' | 'off') => openSqliteVault(environments.sqliteFile(), { audit })
      return [...(await measureInsert(config, 'sqlite', open)), ...(await measureTrail(config))]
    },
    async postgres(config) {
      const { environments } = config
      const pool = environments.postgresPool()
      const open = (audit: 'on' | 'off') => openPostgresVault(pool, environments.postgresName(), { audit })
      return measureInsert(config, 'postgres', open)
    },
  },
  quick: { sqlite: measureQuickTrail },
}

/** Two vaults with the same number of rows: one audited, one not. */
function measureInsert(
  { people, scale }: RunConfig,
  storage: StorageName,
  open: (audit: 'on' | 'off') => Promise<PeopleVault>,
): Promise<Entry[]> {
  const fillPair = async (rows: number): Promise<FilledPair> => {
    const [audited, unaudited] = [await open('on'), await open('off')]
    await fill(rows, people.next, audited.insert)
    await fill(rows, people.next, unaudited.insert)
    return { ours: { name: 'strongroom', ...audited }, baseline: { name: 'the same, audit off', ...unaudited } }
  }
  // The two rates are close. Many short rounds spread the variation of the disk over both sides.
  const { warmups, rounds } = scale.timing
  const timing = { warmups: warmups * scale.batches, rounds: rounds * scale.batches }
  const subject = { benchmark: 'insert 1,000, audited', storage, target: INSERT_TARGET }
  return measureInserts({ subject, timing, sizes: [scale.rows], batches: 1, next: people.next, fillPair })
}
