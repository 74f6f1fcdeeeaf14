/** Benchmark: reads records by id in plain text, 1, 25 and 1,000 per call, audited and not, and by many callers. */
import { at } from '../../src/core/util/lists.ts'
import { type FilledReaders, fillMemoryReaders, fillPostgresReaders, fillSqliteReaders } from '../fixtures/filled-readers.ts'
import { COLUMNS } from '../fixtures/people.ts'
import { assertSame } from '../measuring/check-reads.ts'
import { measureReads, type Reading, type ReadVerb } from '../measuring/measure-reads.ts'
import type { Entry } from '../report/result-shape.ts'
import type { Benchmark, Measurement, RunConfig } from '../runner/run-config.ts'

/** One audited record per call, by so many callers at once. */
const singles = (callers: number, against: 'commits' | 'audit off', target?: number): Reading => ({
  ...{ kind: 'singles', callers, against },
  ...(target === undefined ? {} : { target }),
})

const QUICK_SQLITE: readonly Reading[] = [
  { kind: 'list', length: 1, audit: 'off', target: 0.22 },
  { kind: 'list', length: 1000, audit: 'on', target: 0.45 },
  singles(1, 'commits'),
  singles(8, 'commits'),
  singles(64, 'commits', 1.8),
]

const QUICK_POSTGRES: readonly Reading[] = [
  { kind: 'list', length: 1000, audit: 'on', target: 0.38 },
  singles(1, 'commits'),
  singles(8, 'commits'),
  singles(64, 'commits'),
]

const MEMORY: readonly Reading[] = [singles(1, 'audit off', 0.15), singles(8, 'audit off'), singles(64, 'audit off')]

const SQLITE: readonly Reading[] = [
  ...QUICK_SQLITE,
  { kind: 'list', length: 25, audit: 'off', target: 0.45 },
  { kind: 'durable', length: 25 },
]

const POSTGRES: readonly Reading[] = [
  ...QUICK_POSTGRES,
  { kind: 'list', length: 1, audit: 'off', target: 0.5 },
  { kind: 'list', length: 25, audit: 'off', target: 0.5 },
  { kind: 'durable', length: 25 },
]

const inMemory: Measurement = async (config) => measureGet(config, await fillMemoryReaders(config), MEMORY)

export const getBenchmark: Benchmark = {
  names: ['get'],
  storages: {
    sqlite: async (config) => measureGet(config, await fillSqliteReaders(config), SQLITE),
    postgres: async (config) => measureGet(config, await fillPostgresReaders(config), POSTGRES),
    memory: inMemory,
  },
  quick: {
    sqlite: async (config) => measureGet(config, await fillSqliteReaders(config), QUICK_SQLITE),
    postgres: async (config) => measureGet(config, await fillPostgresReaders(config), QUICK_POSTGRES),
    memory: inMemory,
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
