/** Runs the benchmarks: a table on the screen, figures and a picture in files. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Arguments, isFullRun, parseArguments, USAGE } from './arguments.ts'
import { auditBench } from './benches/audit-bench.ts'
import { detokenizeBench } from './benches/detokenize-bench.ts'
import { diskBench } from './benches/disk-bench.ts'
import { getBench } from './benches/get-bench.ts'
import { insertBench } from './benches/insert-bench.ts'
import { insertConcurrentBench } from './benches/insert-concurrent-bench.ts'
import { insertUniqueBench } from './benches/insert-unique-bench.ts'
import { memoryBench } from './benches/memory-bench.ts'
import { openingBench } from './benches/opening-bench.ts'
import { peersBench } from './benches/peers-bench.ts'
import { queryBench } from './benches/query-bench.ts'
import { tokensBench } from './benches/tokens-bench.ts'
import { drawChart } from './chart.ts'
import { type Entry, type Result, resultShape } from './entries.ts'
import { describeCommit, describeMachine } from './machine.ts'
import { createPeople } from './people.ts'
import { createPlaces } from './places.ts'
import { formatReport } from './report.ts'
import { type Bench, type Scope, scaleOf } from './scope.ts'

const BENCHES: readonly Bench[] = [
  insertBench,
  insertUniqueBench,
  insertConcurrentBench,
  getBench,
  detokenizeBench,
  auditBench,
  queryBench,
  tokensBench,
  diskBench,
  memoryBench,
  peersBench,
  openingBench,
]

const SEED = 20_260_101

async function runBenches(asked: Arguments): Promise<Entry[]> {
  const places = createPlaces()
  const has = (storage: string): boolean => asked.storage === undefined || asked.storage === storage
  const scope: Scope = { scale: scaleOf(asked), places, people: createPeople(SEED), has }
  const entries: Entry[] = []
  try {
    for (const bench of BENCHES) {
      if (asked.only !== undefined && !bench.names.includes(asked.only)) continue
      const begun = performance.now()
      entries.push(...(await bench.run(scope)))
      console.error(`${bench.names[0]} took ${((performance.now() - begun) / 1000).toFixed(1)} s`)
    }
  } finally {
    await places.close()
  }
  return entries
}

/** `latest` is committed; anything less than a full run is only for whoever ran it. */
function pathOf(asked: Arguments): string {
  return asked.json ?? fileURLToPath(new URL(`results/${isFullRun(asked) ? 'latest' : 'local-run'}.json`, import.meta.url))
}

async function main(words: readonly string[]): Promise<void> {
  const asked = parseArguments(
    words,
    BENCHES.flatMap((bench) => bench.names),
  )
  const result: Result = { machine: describeMachine(), commit: describeCommit(), entries: await runBenches(asked) }
  console.log(formatReport(result))
  const path = pathOf(asked)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(resultShape.parse(result), undefined, 2)}\n`)
  writeFileSync(path.replace(/(\.json)?$/, '.svg'), drawChart(result))
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  console.error(USAGE)
  process.exitCode = 1
}
