/** Benchmark: detokenizes to plain text, 1, 25 and 1,000 tokens per call, against plaintext reads of the column by row id. */
import { at } from '../../src/core/util/lists.ts'
import { type FilledReaders, fillPostgresReaders, fillSqliteReaders } from '../fixtures/filled-readers.ts'
import { ssnToken } from '../fixtures/people-vaults.ts'
import { assertSame } from '../measuring/check-reads.ts'
import { measureReads, type Reading, type ReadVerb } from '../measuring/measure-reads.ts'
import type { Entry } from '../report/result-shape.ts'
import type { Benchmark, RunConfig } from '../runner/run-config.ts'

const QUICK_SQLITE: readonly Reading[] = [
  { kind: 'list', length: 1, audit: 'off', target: 0.18 },
  { kind: 'list', length: 1000, audit: 'on', target: 0.42 },
]

const QUICK_POSTGRES: readonly Reading[] = [{ kind: 'list', length: 1000, audit: 'on', target: 0.26 }]

const SQLITE: readonly Reading[] = [
  ...QUICK_SQLITE,
  { kind: 'list', length: 25, audit: 'off' },
  { kind: 'durable', length: 1 },
  { kind: 'durable', length: 25 },
  { kind: 'singles', callers: 64, against: 'commits' },
]

const POSTGRES: readonly Reading[] = [
  ...QUICK_POSTGRES,
  { kind: 'durable', length: 1 },
  { kind: 'singles', callers: 64, against: 'commits' },
]

export const detokenizeBenchmark: Benchmark = {
  names: ['detokenize'],
  storages: {
    sqlite: async (config) => measureDetokenize(config, await fillSqliteReaders(config), SQLITE),
    postgres: async (config) => measureDetokenize(config, await fillPostgresReaders(config), POSTGRES),
  },
  quick: {
    sqlite: async (config) => measureDetokenize(config, await fillSqliteReaders(config), QUICK_SQLITE),
    postgres: async (config) => measureDetokenize(config, await fillPostgresReaders(config), QUICK_POSTGRES),
  },
}

async function measureDetokenize(config: RunConfig, readers: FilledReaders, readings: readonly Reading[]): Promise<Entry[]> {
  await assertSameRead(readers)
  return measureReads(config, readers, { verb: detokenizeVerb(readers), readings })
}

function detokenizeVerb({ stored, plaintext }: FilledReaders): ReadVerb {
  return {
    name: 'detokenize',
    prepareCall(vault, positions) {
      const tokens = positions.map((position) => ssnToken(at(stored, position)))
      return () => vault.detokenize(tokens)
    },
    readPlaintext: plaintext.getSsn,
  }
}

async function assertSameRead({ vaults, stored, plaintext }: FilledReaders): Promise<void> {
  const positions = [0, stored.length - 1]
  const { records } = await vaults.audited.detokenize(positions.map((position) => ssnToken(at(stored, position))))
  assertSame(
    records.map(({ value }) => value),
    await plaintext.getSsn(positions.map((position) => position + 1)),
  )
}
