/** Benchmark: reads records by id in plain text, 1, 25 and 1,000 per call, audited and not. */
import { at } from '../../src/core/util/at.ts'
import { type FilledReaders, fillPostgresReaders, fillSqliteReaders } from '../fixtures/filled-readers.ts'
import { COLUMNS } from '../fixtures/people.ts'
import { assertSame } from '../measuring/check-reads.ts'
import { measureReads, type Reading, type ReadVerb } from '../measuring/measure-reads.ts'
import type { Entry } from '../report/result-shape.ts'
import type { Benchmark, RunConfig } from '../runner/run-config.ts'

const DURABLE: readonly Reading[] = [{ kind: 'durable', length: 1 }, { kind: 'durable', length: 25 }, { kind: 'concurrent' }]

const SQLITE: readonly Reading[] = [
  { kind: 'list', length: 1, audit: 'off', target: 0.25 },
  { kind: 'list', length: 25, audit: 'off', target: 0.6 },
  { kind: 'list', length: 1000, audit: 'on', target: 1 },
  ...DURABLE,
]

const POSTGRES: readonly Reading[] = [
  { kind: 'list', length: 1, audit: 'off', target: 0.5 },
  { kind: 'list', length: 25, audit: 'off', target: 0.5 },
  { kind: 'list', length: 1000, audit: 'on', target: 0.5 },
  ...DURABLE,
]

export const getBenchmark: Benchmark = {
  names: ['get'],
  storages: {
    sqlite: async (config) => measureGet(config, await fillSqliteReaders(config), SQLITE),
    postgres: async (config) => measureGet(config, await fillPostgresReaders(config), POSTGRES),
  },
}

async function measureGet(config: RunConfig, readers: FilledReaders, readings: readonly Reading[]): Promise<Entry[]> {
  await assertSameRead(readers)
  return measureReads(config, readers, { verb: getVerb(readers), readings })
}

function getVerb({ stored, plaintext }: FilledReaders): ReadVerb {
  return {
    name: 'get',
    prepareCall(vault, positions) {
      const ids = positions.map((position) => at(stored, position).id)
      return ids.length === 1 ? () => vault.getOne(at(ids, 0)) : () => vault.get(ids)
    },
    readPlaintext: plaintext.get,
  }
}

async function assertSameRead({ vaults, stored, plaintext }: FilledReaders): Promise<void> {
  const positions = [0, stored.length - 1]
  const { records } = await vaults.audited.get(positions.map((position) => at(stored, position).id))
  const persons = await plaintext.get(positions.map((position) => position + 1))
  assertSame(
    records.map(({ fields }) => COLUMNS.map((name) => fields[name])),
    persons.map((person) => COLUMNS.map((name) => person[name])),
  )
}
