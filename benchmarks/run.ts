/** Runs the benchmarks: prints a table, and writes the figures as JSON and as SVG charts. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createPeople } from './fixtures/people.ts'
import { drawChart } from './report/draw-chart.ts'
import { drawGrowth } from './report/draw-growth.ts'
import { drawOverview } from './report/draw-overview.ts'
import { formatTable } from './report/format-table.ts'
import { type Entry, type Result, resultShape, storageNames } from './report/result-shape.ts'
import { type Arguments, isFullRun, parseArguments, USAGE } from './runner/arguments.ts'
import { createEnvironments } from './runner/environments.ts'
import { longestHoldOf } from './runner/longest-hold.ts'
import { describeCommit, describeMachine } from './runner/machine.ts'
import { type Benchmark, type RunConfig, scaleOf } from './runner/run-config.ts'
import { alternativesBenchmark } from './suites/alternatives-benchmark.ts'
import { auditBenchmark } from './suites/audit-benchmark.ts'
import { auditedReadBenchmark } from './suites/audited-read-benchmark.ts'
import { batchBenchmark } from './suites/batch-benchmark.ts'
import { blobsBenchmark } from './suites/blobs-benchmark.ts'
import { contentionBenchmark } from './suites/contention-benchmark.ts'
import { detokenizeBenchmark } from './suites/detokenize-benchmark.ts'
import { diskBenchmark } from './suites/disk-benchmark.ts'
import { filesBenchmark } from './suites/files-benchmark.ts'
import { getBenchmark } from './suites/get-benchmark.ts'
import { growthBenchmark } from './suites/growth-benchmark.ts'
import { httpBenchmark } from './suites/http-benchmark.ts'
import { insertBenchmark } from './suites/insert-benchmark.ts'
import { insertConcurrentBenchmark } from './suites/insert-concurrent-benchmark.ts'
import { insertUniqueBenchmark } from './suites/insert-unique-benchmark.ts'
import { memoryBenchmark } from './suites/memory-benchmark.ts'
import { openingBenchmark } from './suites/opening-benchmark.ts'
import { queryBenchmark } from './suites/query-benchmark.ts'
import { tokensBenchmark } from './suites/tokens-benchmark.ts'

const BENCHMARKS: readonly Benchmark[] = [
  insertBenchmark,
  insertUniqueBenchmark,
  insertConcurrentBenchmark,
  contentionBenchmark,
  batchBenchmark,
  getBenchmark,
  detokenizeBenchmark,
  auditBenchmark,
  auditedReadBenchmark,
  queryBenchmark,
  tokensBenchmark,
  diskBenchmark,
  memoryBenchmark,
  alternativesBenchmark,
  blobsBenchmark,
  filesBenchmark,
  growthBenchmark,
  openingBenchmark,
  httpBenchmark,
]

const SEED = 20_260_101

async function runAll(args: Arguments): Promise<Entry[]> {
  const environments = createEnvironments()
  const config: RunConfig = { scale: scaleOf(args), environments, people: createPeople(SEED) }
  const entries: Entry[] = []
  try {
    for (const benchmark of BENCHMARKS) {
      if (args.only !== undefined && !benchmark.names.includes(args.only)) continue
      const begun = performance.now()
      entries.push(...(await runOne(benchmark, args, config)))
      console.error(`${benchmark.names[0]} took ${((performance.now() - begun) / 1000).toFixed(1)} s`)
    }
  } finally {
    await environments.close()
  }
  return [...entries, ...longestHoldOf(entries)]
}

/** Runs a benchmark on each storage of the run and returns its entries. */
async function runOne(benchmark: Benchmark, { storage: only, quick }: Arguments, config: RunConfig): Promise<Entry[]> {
  const measurements = quick ? (benchmark.quick ?? {}) : benchmark.storages
  const entries: Entry[] = []
  for (const storage of storageNames) {
    const measurement = measurements[storage]
    if (measurement !== undefined && (only === undefined || only === storage)) entries.push(...(await measurement(config)))
  }
  return entries
}

/** Returns the path of the JSON result. `latest` is committed; a partial run writes to a file that git ignores. */
function resultPath(args: Arguments): string {
  return args.json ?? fileURLToPath(new URL(`results/${isFullRun(args) ? 'latest' : 'local-run'}.json`, import.meta.url))
}

async function main(words: readonly string[]): Promise<void> {
  const args = parseArguments(
    words,
    BENCHMARKS.flatMap((benchmark) => benchmark.names),
  )
  const result: Result = { machine: describeMachine(), commit: describeCommit(), entries: await runAll(args) }
  console.log(formatTable(result))
  const path = resultPath(args)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(resultShape.parse(result), undefined, 2)}\n`)
  writeFileSync(path.replace(/(\.json)?$/, '.svg'), drawChart(result))
  for (const [name, svg] of Object.entries({ growth: drawGrowth(result), overview: drawOverview(result) })) {
    if (svg !== undefined) writeFileSync(path.replace(/(\.json)?$/, `-${name}.svg`), svg)
  }
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  console.error(USAGE)
  process.exitCode = 1
}
