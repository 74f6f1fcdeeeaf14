/** Runs the benchmarks: prints a table, and writes the figures as JSON and as SVG charts. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { drawChart } from './report/draw-chart.ts'
import { drawGrowth } from './report/draw-growth.ts'
import { drawOverview } from './report/draw-overview.ts'
import { formatTable } from './report/format-table.ts'
import { type Entry, type Result, resultShape } from './report/result-shape.ts'
import { type Arguments, isFullRun, parseArguments, USAGE } from './runner/arguments.ts'
import { BENCHMARKS } from './runner/benchmarks.ts'
import { startServer } from './runner/environments.ts'
import { longestHoldOf } from './runner/longest-hold.ts'
import { describeCommit, describeMachine } from './runner/machine.ts'
import { scaleOf } from './runner/run-config.ts'
import { runTask } from './runner/run-task.ts'
import { tasksOf } from './runner/task.ts'

/** Runs the tasks one after the other, all on one PostgreSQL server. No figure of a smoke run is kept, so its tasks share the cores. */
async function runAll(args: Arguments): Promise<Entry[]> {
  const [tasks, scale] = [tasksOf(args), scaleOf(args)]
  const server = tasks.some(({ storage }) => storage === 'postgres') ? await startServer() : undefined
  const entries: Entry[][] = []
  const waiting = tasks.entries()
  const runWaiting = async (): Promise<void> => {
    for (const [place, task] of waiting) {
      const begun = performance.now()
      const address = server !== undefined && task.storage === 'postgres' ? { postgresUrl: server.url } : {}
      entries[place] = await runTask({ task, scale, ...address })
      console.error(`${task.benchmark} on ${task.storage} took ${((performance.now() - begun) / 1000).toFixed(1)} s`)
    }
  }
  try {
    await Promise.all(Array.from({ length: args.smoke ? 2 : 1 }, runWaiting))
  } finally {
    await server?.stop()
  }
  return [...entries.flat(), ...longestHoldOf(entries.flat())]
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
