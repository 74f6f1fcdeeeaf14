/** Measures reads by position, from a vault and from a plaintext table. */
import type { FilledReaders, PlaintextReader } from '../fixtures/filled-readers.ts'
import type { Person } from '../fixtures/people.ts'
import type { PeopleVault } from '../fixtures/people-vaults.ts'
import type { Entry } from '../report/result-shape.ts'
import { BATCH, type RunConfig } from '../runner/run-config.ts'
import { randomPositions } from './check-reads.ts'
import { measurePair, type Variant, type VariantPair } from './harness.ts'
import { runConcurrently } from './run-concurrently.ts'
import { sequentialCalls } from './sequential-calls.ts'

/**
 * One way of reading. `list`: `length` records per call, against plaintext reads, which record no event. `durable`: a call that
 * waits for its own commit, against the driver committing one row per call. `singles`: one audited record per call by `callers` at
 * once, against as many callers of the driver, each call a commit, or of the same vault with audit off.
 */
export type Reading =
  | { readonly kind: 'list'; readonly length: number; readonly audit: 'on' | 'off'; readonly target?: number }
  | { readonly kind: 'durable'; readonly length: number; readonly target?: number }
  | {
      readonly kind: 'singles'
      readonly callers: number
      readonly against: 'commits' | 'audit off'
      readonly target?: number
    }

/** What is read, from a vault and from plaintext, at positions of the stored records. */
export interface ReadVerb {
  readonly name: string
  /** Untimed: prepares one call of a vault. */
  prepareCall(vault: PeopleVault, positions: readonly number[]): () => Promise<unknown>
  readPlaintext(rowIds: readonly number[]): unknown
}

export interface ReadPlan {
  readonly verb: ReadVerb
  readonly readings: readonly Reading[]
}

/** Returns one entry per reading. Closes the readers. */
export async function measureReads(config: RunConfig, readers: FilledReaders, { verb, readings }: ReadPlan): Promise<Entry[]> {
  const entries: Entry[] = []
  for (const reading of readings) {
    const subject = { benchmark: `${verb.name} ${describeReading(reading)}`, storage: readers.storage, rows: config.scale.rows }
    const pair = pairFor(config, readers, { verb, reading })
    const { target } = reading
    // By the clock the ratio of single calls is that of the disk.
    const by = reading.kind === 'singles' ? ({ by: 'cpu' } as const) : {}
    entries.push(await measurePair(target === undefined ? subject : { ...subject, target, ...by }, pair, config.scale.callTiming))
  }
  await readers.close()
  return entries
}

/** Returns the end of the benchmark's name. Lists of 1,000 are audited unless the name says otherwise; others always name the setting. */
function describeReading(reading: Reading): string {
  if (reading.kind === 'singles') return `1, audited, ${reading.callers === 1 ? 'one caller' : `${reading.callers} callers`}`
  const length = reading.length.toLocaleString('en')
  if (reading.kind === 'durable') return `${length}, audited`
  if (reading.audit === 'off') return `${length}, audit off`
  return reading.length === BATCH ? length : `${length}, audited`
}

interface VerbReading<R extends Reading = Reading> {
  readonly verb: ReadVerb
  readonly reading: R
}

function pairFor(config: RunConfig, readers: FilledReaders, { verb, reading }: VerbReading): VariantPair {
  if (reading.kind === 'singles') return singlesPair(config, readers, { verb, reading })
  const draw = (length: number): number[][] => randomPositions(config, readers.stored.length, length)
  const { vaults, plaintext } = readers
  const { length } = reading
  if (reading.kind === 'durable') {
    const some = (): number[][] => draw(length).slice(0, config.scale.commits)
    const lists = { length, draw: some }
    return { ours: vaultReads(verb, vaults.audited, lists), baseline: commits(config, plaintext, lists) }
  }
  const lists = { length, draw: () => draw(length) }
  const vault = reading.audit === 'on' ? vaults.audited : vaults.unaudited
  return { ours: vaultReads(verb, vault, lists), baseline: plaintextReads(verb, plaintext, lists) }
}

const COMMITS = 'the driver, one commit per call'

type Singles = Extract<Reading, { kind: 'singles' }>

function singlesPair(
  config: RunConfig,
  { stored, vaults, plaintext }: FilledReaders,
  { verb, reading: { callers, against } }: VerbReading<Singles>,
): VariantPair {
  const total = against === 'commits' ? config.scale.commits : config.scale.reads
  const calls = Math.max(config.scale.insertsPerCaller, Math.ceil(total / callers))
  const reads = (name: string, vault: PeopleVault): Variant =>
    runConcurrently({
      name,
      callers,
      prepareItems: () =>
        randomPositions(config, stored.length, 1)
          .slice(0, calls)
          .map((positions) => verb.prepareCall(vault, positions)),
      call: (read) => read(),
    })
  const ours = reads('strongroom', vaults.audited)
  if (against === 'audit off') return { ours, baseline: reads('the same, audit off', vaults.unaudited) }
  const prepareItems = (): Person[] => nextPersons(config, calls)
  return { ours, baseline: runConcurrently({ name: COMMITS, callers, prepareItems, call: plaintext.insertOne }) }
}

/** Lists of positions, each of `length` items. */
interface PositionLists {
  readonly length: number
  draw(): number[][]
}

function vaultReads(verb: ReadVerb, vault: PeopleVault, { length, draw }: PositionLists): Variant {
  return sequentialCalls({
    name: 'strongroom',
    prepareItems: () => draw().map((positions) => verb.prepareCall(vault, positions)),
    call: (read) => read(),
    operationsPerCall: length,
  })
}

function plaintextReads(verb: ReadVerb, { name }: PlaintextReader, { length, draw }: PositionLists): Variant {
  return sequentialCalls({
    name,
    prepareItems: () => draw().map((positions) => positions.map((position) => position + 1)),
    call: verb.readPlaintext,
    operationsPerCall: length,
  })
}

/** Makes as many commits as there are calls, counted as the records those calls read. */
function commits(config: RunConfig, { insertOne }: PlaintextReader, { length, draw }: PositionLists): Variant {
  return sequentialCalls({
    name: COMMITS,
    prepareItems: () => nextPersons(config, draw().length),
    call: insertOne,
    operationsPerCall: length,
  })
}

function nextPersons({ people }: RunConfig, count: number): Person[] {
  return people.next(count).map(({ fields }) => fields)
}
