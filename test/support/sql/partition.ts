/** Splits the result of a query by a condition, its negation and its unknown case, and checks that the parts equal the whole. */
import type { SeededRandom } from '../random/seeded-random.ts'

import { MAX_RECORDS } from './compare.ts'
import { described, type OpenSubject, type Subject } from './differential.ts'
import { drawFixture, type Fixture } from './fixture.ts'
import type { Answer } from './known-vault.ts'
import { printQuery } from './print-query.ts'
import { columnsOf, type Item, type Predicate, type RandomQuery, sourcesOf } from './query-tree.ts'
import { drawPredicate } from './random-predicate.ts'
import { drawReading } from './random-query.ts'
import { canonicalJson } from './reference-engine.ts'
import { unknownOf } from './unknown.ts'
import { vaultDialect } from './vault-dialect.ts'

/** Above this number of rows only the number is compared, because a query returns 25 at a time. */
const MAX_ROWS = 100

/** What a run checks. */
export interface Partitioning {
  readonly random: SeededRandom
  readonly open: OpenSubject
  readonly fixtures: number
  /** Conditions for each fixture. */
  readonly conditions: number
  /** Nesting of connectives. */
  readonly depth: number
  readonly maxFaults: number
}

/** The result of a run: one line for each fault. */
export interface Outcome {
  readonly conditions: number
  readonly faults: readonly string[]
}

/** Draws fixtures and conditions. */
export async function partition(run: Partitioning): Promise<Outcome> {
  const faults: string[] = []
  let conditions = 0
  for (let at = 0; at < run.fixtures && faults.length < run.maxFaults; at++) {
    const fixture = drawFixture(run.random)
    const subject = await run.open(fixture)
    for (let asked = 0; asked < run.conditions; asked++) {
      const fault = await partitionOnce(run, fixture, subject)
      if (fault !== undefined) faults.push(fault)
      conditions++
    }
    await subject.close()
  }
  return { conditions, faults }
}

type Reading = Pick<RandomQuery, 'from' | 'joins' | 'where'>

/** A whole, and its parts. */
interface Parted {
  readonly whole: Reading
  readonly parts: readonly Reading[]
}

async function partitionOnce({ random, depth }: Partitioning, fixture: Fixture, subject: Subject): Promise<string | undefined> {
  const whole = { ...drawReading(random, fixture), where: undefined }
  const condition = drawPredicate(random, { fixture, sources: sourcesOf(whole), depth })
  const wheres: readonly Predicate[] = [condition, { kind: 'not', operand: condition }, unknownOf(condition)]
  const parted = { whole, parts: wheres.map((where) => ({ ...whole, where })) }
  const print = (query: RandomQuery): string => printQuery(vaultDialect(random, query), query)
  const ask = (query: RandomQuery): Promise<Answer> => subject.ask(query, print)
  const difference = await mismatch(ask, parted).catch((error: unknown) => `is not answered: ${String(error)}`)
  if (difference === undefined) return undefined
  return described(fixture, { sql: print(counted({ ...whole, where: condition })), engine: 'itself', difference })
}

type Ask = (query: RandomQuery) => Promise<Answer>

/** Returns how the parts differ from the whole: by number, and for few rows by record. */
async function mismatch(ask: Ask, { whole, parts }: Parted): Promise<string | undefined> {
  const total = countOf(await ask(counted(whole)))
  const counts: number[] = []
  for (const part of parts) counts.push(countOf(await ask(counted(part))))
  if (counts.reduce((sum, one) => sum + one, 0) !== total) return `${counts.join(' + ')} records are not ${total}`
  if (total > MAX_ROWS) return undefined
  const together: string[] = []
  for (const part of parts) together.push(...(await readAll(ask, shown(part))))
  const all = await readAll(ask, shown(whole))
  return String(together.toSorted()) === String(all.toSorted()) ? undefined : 'the parts hold other records than the whole'
}

const UNGROUPED = { groupBy: [], orderBy: [] } as const

function counted(reading: Reading): RandomQuery {
  const count: Item = {
    kind: 'aggregate',
    name: 'count',
    term: undefined,
    isDistinct: false,
    isQualified: false,
    alias: undefined,
  }
  return { ...reading, ...UNGROUPED, items: [count], limit: undefined, offset: undefined }
}

/** Every column under a name of its own. */
function shown(reading: Reading): RandomQuery {
  const items = sourcesOf(reading)
    .flatMap(columnsOf)
    .map((term, at): Item => ({ kind: 'column', term, level: undefined, alias: `o${at}` }))
  return { ...reading, ...UNGROUPED, items, limit: undefined, offset: undefined }
}

function countOf({ records }: Answer): number {
  return Number(records[0]?.fields['count(*)'])
}

/** All records, page by page. Stops at an impossible number, which occurs if OFFSET does nothing. */
async function readAll(ask: Ask, query: RandomQuery): Promise<string[]> {
  const all: string[] = []
  while (all.length <= MAX_ROWS) {
    const { records } = await ask({ ...query, offset: all.length })
    all.push(...records.map(({ fields }) => canonicalJson(fields)))
    if (records.length < MAX_RECORDS) break
  }
  return all
}
