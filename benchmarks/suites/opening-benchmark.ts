/** Benchmark: the time before an application's first call: importing the package, and opening a vault of 20 tables. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { localKeys } from '../../src/adapters/keys/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { column, createVault, defineSchema } from '../../src/index.ts'
import { SECRET, VAULT } from '../fixtures/people-vaults.ts'
import { compareSizes, median } from '../measuring/harness.ts'
import type { Entry } from '../report/result-shape.ts'
import type { Benchmark, RunConfig } from '../runner/run-config.ts'

const TABLES = 20
const MAX_OPENING_MS = 50
const MAX_IMPORT_MS = 80

export const openingBenchmark: Benchmark = {
  names: ['opening'],
  storages: { sqlite: measureOpening, none: async (config) => [measureImport(config)] },
}

/** The warm-up creates the vault, so the figure is what a restart costs. */
async function measureOpening({ environments, scale: { timing } }: RunConfig): Promise<Entry[]> {
  const columns = {
    name: column.string({ token: 'random' }),
    email: column.string({ token: 'random', unique: true }),
    born: column.date(),
  }
  const schema = defineSchema(Object.fromEntries(Array.from({ length: TABLES }, (_, table) => [`table_${table}`, columns])))
  const filename = environments.sqliteFile()
  const times: number[] = []
  for (let round = -timing.warmups; round < timing.rounds; round++) {
    const begun = performance.now()
    const vault = await createVault({
      id: VAULT,
      schema,
      storage: sqliteStorage({ filename }),
      keys: localKeys({ key: SECRET }),
    })
    if (round >= 0) times.push(performance.now() - begun)
    await vault.close()
  }
  const limit = { baseline: `${MAX_OPENING_MS} ms`, baselineFigure: MAX_OPENING_MS, unit: 'ms' } as const
  const subject = { benchmark: 'opening 20 tables', storage: 'sqlite', rows: 0, target: 1 } as const
  return [compareSizes(subject, { figure: median(times), ...limit })]
}

/** Each import runs in a new process and is timed inside it, without the start of Node. */
function measureImport({ scale: { timing } }: RunConfig): Entry {
  const built = new URL('../../dist/index.js', import.meta.url)
  const isBuilt = existsSync(built)
  const entryPoint = isBuilt ? built : new URL('../../src/index.ts', import.meta.url)
  const script = `const begun = performance.now(); await import(${JSON.stringify(entryPoint.href)}); console.log(performance.now() - begun)`
  const importOnce = () => Number(execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }))
  for (let round = 0; round < timing.warmups; round++) importOnce()
  const times = Array.from({ length: timing.rounds }, importOnce)
  const baseline = `${MAX_IMPORT_MS} ms${isBuilt ? '' : ', from sources'}`
  const figures = { figure: median(times), baseline, baselineFigure: MAX_IMPORT_MS, unit: 'ms' } as const
  return compareSizes({ benchmark: 'importing', storage: 'none', rows: 0, target: 1 }, figures)
}
