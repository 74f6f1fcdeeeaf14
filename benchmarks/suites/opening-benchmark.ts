/** Benchmark: the time before an application's first call: importing the package, and opening a vault of 20 tables. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as z from 'zod'
import { builtName } from '../../scripts/entry-points.ts'
import { localKeys } from '../../src/adapters/keys/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { column, createVault, defineSchema } from '../../src/index.ts'
import { SECRET, VAULT } from '../fixtures/people-vaults.ts'
import { compareWithLimit } from '../measuring/compare.ts'
import { median } from '../measuring/median.ts'
import type { Entry } from '../report/result-shape.ts'
import { buildPackage } from '../runner/build-package.ts'
import type { Benchmark, RunConfig } from '../runner/run-config.ts'

const TABLES = 20
const MAX_OPENING_MS = 50
const MAX_IMPORT_MS = 80

export const openingBenchmark: Benchmark = {
  names: ['opening'],
  storages: { sqlite: measureOpening, none: async (config) => [measureImport(config)] },
  quick: { none: async (config) => [measureImport(config)] },
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
  const subject = { benchmark: 'opening 20 tables', storage: 'sqlite', rows: 0 } as const
  return [compareWithLimit(subject, { figure: median(times), limit: MAX_OPENING_MS, unit: 'ms' })]
}

/** What a small application imports. */
const IMPORTED = ['.', './sqlite', './keys']

/** Each import runs in a new process and is timed inside it, without the start of Node. */
function measureImport({ scale: { timing } }: RunConfig): Entry {
  const built = buildPackage()
  const files = IMPORTED.map((entryPoint) => pathToFileURL(join(built, `${builtName(entryPoint)}.js`)).href)
  const importOnce = (): ImportCost =>
    costShape.parse(
      JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', scriptOf(files)], { encoding: 'utf8' })),
    )
  for (let round = 0; round < timing.warmups; round++) importOnce()
  const costs = Array.from({ length: timing.rounds }, importOnce)
  return compareWithLimit(
    { benchmark: 'importing the built package, SQLite and keys', storage: 'none', rows: 0 },
    {
      ...{ figure: median(costs.map(({ wall }) => wall)), limit: MAX_IMPORT_MS, unit: 'ms', isReported: true },
      cpu: { figure: median(costs.map(({ cpu }) => cpu)), limit: MAX_IMPORT_MS * 1000 },
    },
  )
}

/** Milliseconds, and microseconds of CPU in all threads. */
const costShape = z.strictObject({ wall: z.number().positive(), cpu: z.number().positive() })
type ImportCost = z.infer<typeof costShape>

function scriptOf(files: readonly string[]): string {
  return `const begun = performance.now()
const before = process.cpuUsage()
${files.map((file) => `await import(${JSON.stringify(file)})`).join('\n')}
const { user, system } = process.cpuUsage(before)
console.log(JSON.stringify({ wall: performance.now() - begun, cpu: user + system }))`
}
