/** Benchmark: a vault that computes with `node:crypto` alone, against one with the module. The stored bytes are the same. */
import { at } from '../../src/core/util/lists.ts'
import { fillAndCollect, openSqliteVault, type PeopleVault, type StoredPerson, ssnToken } from '../fixtures/people-vaults.ts'
import { measurePair, type Variant } from '../measuring/harness.ts'
import { sequentialCalls } from '../measuring/sequential-calls.ts'
import type { Entry } from '../report/result-shape.ts'
import { BATCH, type Benchmark, type RunConfig } from '../runner/run-config.ts'

export const cryptographyBenchmark: Benchmark = { names: ['cryptography'], storages: { sqlite: measureCryptography } }

/** A vault, and what it stores. */
interface Filled {
  readonly vault: PeopleVault
  readonly stored: readonly StoredPerson[]
}

/** A call with `count` records of a vault. */
type Call = (filled: Filled, count: number) => () => Promise<unknown>

async function measureCryptography(config: RunConfig): Promise<Entry[]> {
  const { people, scale, environments } = config
  const open = async (cryptography: 'wasm' | 'node'): Promise<Filled> => {
    const vault = await openSqliteVault(environments.sqliteFile(), { cryptography })
    return { vault, stored: await fillAndCollect(scale.rows, people.next, (batch) => vault.insert(batch)) }
  }
  const [ours, baseline] = [await open('node'), await open('wasm')]
  const positions = (count: number): number[] => Array.from({ length: count }, () => people.below(scale.rows))
  const calls: Readonly<Record<string, Call>> = {
    insert({ vault }, count) {
      const batch = people.next(count)
      return () => vault.insert(batch)
    },
    get({ vault, stored }, count) {
      const ids = positions(count).map((position) => at(stored, position).id)
      return () => vault.get(ids)
    },
    detokenize({ vault, stored }, count) {
      const tokens = positions(count).map((position) => ssnToken(at(stored, position)))
      return () => vault.detokenize(tokens)
    },
  }
  const entries: Entry[] = []
  for (const [verb, prepare] of Object.entries(calls)) {
    for (const count of [1, BATCH]) {
      const variant = (name: string, filled: Filled): Variant =>
        sequentialCalls({
          name,
          prepareItems: () => Array.from({ length: Math.ceil(scale.commits / Math.sqrt(count)) }, () => prepare(filled, count)),
          call: (run) => run(),
          operationsPerCall: count,
        })
      const subject = {
        benchmark: `${verb} ${count.toLocaleString('en')}, by node:crypto`,
        storage: 'sqlite',
        rows: scale.rows,
      } as const
      const pair = { ours: variant('strongroom', ours), baseline: variant('strongroom with the module', baseline) }
      entries.push(await measurePair(subject, pair, scale.callTiming))
    }
  }
  for (const { vault } of [ours, baseline]) await vault.close()
  return entries
}
