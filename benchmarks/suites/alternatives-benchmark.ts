/** Benchmark: what applications build or use instead: a hand-rolled vault on SQLite, and pgcrypto on Postgres. */
import { at } from '../../src/core/util/lists.ts'
import { openHandRolledVault } from '../alternatives/hand-rolled-vault.ts'
import { openPgcryptoTable } from '../alternatives/pgcrypto-table.ts'
import type { Batch } from '../fixtures/people.ts'
import { fill, fillAndCollect, openPostgresVault, openSqliteVault, ssnToken } from '../fixtures/people-vaults.ts'
import { randomPositions } from '../measuring/check-reads.ts'
import { measurePair, type Variant } from '../measuring/harness.ts'
import { insertBatches } from '../measuring/measure-inserts.ts'
import { sequentialCalls } from '../measuring/sequential-calls.ts'
import type { Entry } from '../report/result-shape.ts'
import { BATCH, type Benchmark, type RunConfig } from '../runner/run-config.ts'

const HAND_ROLLED = 'hand-rolled vault'
const INSERT = 'insert 1,000, alternative'

/** The baseline is one prepared statement that makes no tokens. */
const PGCRYPTO_TARGET = 1.8
/** Rows per statement where each cell derives a key from a password, which takes milliseconds. */
const PASSWORD_ROWS = 50

export const alternativesBenchmark: Benchmark = {
  names: ['alternatives'],
  storages: { sqlite: compareHandRolled, postgres: comparePgcrypto },
  quick: { postgres: comparePgcrypto },
}

async function compareHandRolled(config: RunConfig): Promise<Entry[]> {
  const { environments, people, scale } = config
  const vault = await openSqliteVault(environments.sqliteFile())
  const file = environments.sqliteFile()
  const filling = openHandRolledVault(file, 'filling')
  const ourTokens = (await fillAndCollect(scale.rows, people.next, vault.insert)).map(ssnToken)
  const tokens = await fillAndCollect(scale.rows, people.next, filling.insert)
  filling.close()
  const alternative = openHandRolledVault(file)
  const subject = { storage: 'sqlite', rows: scale.rows } as const
  const reads = {
    ours: detokenizeLists(config, { name: 'strongroom', tokens: ourTokens, detokenize: vault.detokenize }),
    baseline: detokenizeLists(config, { name: HAND_ROLLED, tokens, detokenize: alternative.detokenize }),
  }
  const read = await measurePair({ ...subject, benchmark: 'detokenize 1,000, alternative', target: 4 }, reads, scale.timing)
  const inserts = {
    ours: inserting(config, 'strongroom', vault.insert),
    baseline: inserting(config, HAND_ROLLED, alternative.insert),
  }
  const insert = await measurePair({ ...subject, benchmark: INSERT, target: 8 }, inserts, scale.timing)
  await vault.close()
  alternative.close()
  return [insert, read]
}

/** Returns no entry if the server has no pgcrypto. */
async function comparePgcrypto(config: RunConfig): Promise<Entry[]> {
  const { environments, people, scale } = config
  const pool = environments.postgresPool()
  const alternative = await openPgcryptoTable(pool, environments.postgresName(), 'raw')
  const byPassword = await openPgcryptoTable(pool, environments.postgresName(), 'password')
  if (alternative === undefined || byPassword === undefined) return []
  const vault = await openPostgresVault(pool, environments.postgresName())
  await fill(scale.rows, people.next, vault.insert)
  const inserts = {
    ours: inserting(config, 'strongroom', vault.insert),
    baseline: inserting(config, 'pgcrypto, no tokens', alternative.insert),
  }
  const subject = { benchmark: INSERT, storage: 'postgres', rows: scale.rows } as const
  const raw = await measurePair({ ...subject, target: PGCRYPTO_TARGET }, inserts, scale.timing)
  const derived = {
    ours: inserts.ours,
    baseline: sequentialCalls({
      name: 'pgcrypto by password, no tokens',
      prepareItems: () => [people.next(PASSWORD_ROWS)],
      call: byPassword.insert,
      operationsPerCall: PASSWORD_ROWS,
    }),
  }
  const password = await measurePair(subject, derived, scale.slowTiming)
  await vault.close()
  await alternative.close()
  await byPassword.close()
  return [raw, password]
}

function inserting({ scale, people }: RunConfig, name: string, insert: (batch: Batch) => unknown): Variant {
  return insertBatches({ name, insert }, { batches: scale.batches, next: people.next })
}

interface Detokenizing<T> {
  readonly name: string
  readonly tokens: readonly T[]
  detokenize(tokens: readonly T[]): unknown
}

function detokenizeLists<T>(config: RunConfig, { name, tokens, detokenize }: Detokenizing<T>): Variant {
  return sequentialCalls({
    name,
    prepareItems: () =>
      randomPositions(config, tokens.length, BATCH).map((positions) => positions.map((position) => at(tokens, position))),
    call: detokenize,
    operationsPerCall: BATCH,
  })
}
