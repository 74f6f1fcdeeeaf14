/**
 * The soak: every law with fresh seeds and large figures, for a given time.
 * `npm run soak -- [--law NAME] [--minutes M] [--seed S] [--case N] [--jobs J] [--record]`
 */
import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { ALL_LAWS } from '../test/laws/all-laws.ts'
import type { Law } from '../test/laws/law.ts'
import { startPostgres } from '../test/support/postgres/server.ts'
import { tableOf, writeTable } from './soak-report.ts'
import { runInProcess, type SoakRow } from './soak-run.ts'
import { takeTurns } from './soak-turns.ts'

const USAGE = `npm run soak -- [options]
  --law NAME     one law, or several with commas; default all
  --minutes M    time for all laws together; default 30
  --seed S       the seed of every law; default a fresh one for each
  --case N       one case alone, as a failure prints it
  --jobs J       laws at the same time, each in its own process; default 2
  --record       writes the table of docs/reliability.md
Laws: ${ALL_LAWS.map(({ name }) => name).join(', ')}`

const MINUTE_MS = 60_000
/** Failed cases after which a law ends. */
const MAX_FAILURES = 5
/** Time after its share in which a law may end its last case before the next law begins beside it, in milliseconds. */
const OVERTIME_MS = 5000

interface SoakOptions {
  readonly laws: readonly Law[]
  readonly minutes: number
  readonly seed: string | undefined
  readonly onlyCase: number | undefined
  readonly jobs: number
  readonly isRecorded: boolean
}

function optionsOf(args: readonly string[]): SoakOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ law: { type: 'string' }, minutes: { type: 'string' }, seed: { type: 'string' }, case: { type: 'string' } },
      ...{ jobs: { type: 'string' }, record: { type: 'boolean' } },
    },
  })
  const names = values.law?.split(',')
  const laws = names?.map(lawNamed) ?? ALL_LAWS
  const onlyCase = values.case === undefined ? undefined : numberOf('--case', values.case, 0)
  return {
    laws,
    onlyCase,
    seed: values.seed,
    minutes: numberOf('--minutes', values.minutes ?? '30', 0.01),
    jobs: numberOf('--jobs', values.jobs ?? '2', 1),
    isRecorded: values.record ?? false,
  }
}

function lawNamed(name: string): Law {
  const law = ALL_LAWS.find((one) => one.name === name)
  if (law === undefined) throw new Error(`There is no law "${name}".`)
  return law
}

function numberOf(option: string, text: string, min: number): number {
  const number = Number(text)
  if (!Number.isFinite(number) || number < min) throw new Error(`${option} must be a number of at least ${min}.`)
  return number
}

/** Runs the laws, each with its share of the time. Returns their results in the order of the laws. */
async function soak({ laws, minutes, seed, onlyCase, jobs }: SoakOptions, postgresUrl: string): Promise<SoakRow[]> {
  const rows: SoakRow[] = []
  await takeTurns(laws, { milliseconds: minutes * MINUTE_MS, jobs, overtimeMs: OVERTIME_MS }, async (law, deadline) => {
    const row = await runInProcess(law, {
      ...{ seed: seed ?? randomBytes(6).toString('hex'), deadline, postgresUrl, maxFailures: MAX_FAILURES },
      ...(onlyCase === undefined ? {} : { onlyCase }),
    })
    console.log(lineOf(row))
    rows.push(row)
  })
  return laws.flatMap((law) => rows.filter((row) => row.law === law))
}

function lineOf({ law, figure, seed, seconds, share, failures, met }: SoakRow): string {
  const counted = `${figure.toLocaleString('en')} of ${law.figures.soak.toLocaleString('en')} ${law.unit}${met === undefined ? '' : ` (${met})`}`
  const outcome = failures.length === 0 ? 'holds' : `FAILED ${failures.length} times`
  const details = failures.map(({ text, again }) => `\n${text}\n  Again: ${again}\n`)
  return `${law.name}: ${outcome}, ${counted}, seed ${seed}, ${seconds} s of ${share} s${details.join('')}`
}

async function main(): Promise<void> {
  const options = optionsOf(process.argv.slice(2))
  const server = await startPostgres()
  try {
    const rows = await soak(options, server.url)
    const table = tableOf(rows)
    console.log(`\n${table}`)
    if (options.isRecorded) writeTable(rows)
    if (rows.some(({ failures }) => failures.length > 0)) process.exitCode = 1
  } finally {
    await server.stop()
  }
}

try {
  await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  console.error(USAGE)
  process.exitCode = 1
}
