/**
 * Property: what a thief of dumps learns of values from sealed indexes is what a vault without them shows. The known leakage-abuse attacks are played on both,
 * with the exact values known, and on indexes with planted faults, which they must find. What a watcher of queries learns is measured.
 */
import { afterAll, describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { INDEX_BLOCKS } from '../../src/core/schema/system-tables.ts'
import { required } from '../../src/core/util/lists.ts'
import { column } from '../../src/index.ts'
import {
  asFeatures,
  type Fault,
  featuresOf,
  isOfIndex,
  loggedStorage,
  SeenVault,
  UNPADDED,
  unsealed,
} from '../support/leaks/index-thief.ts'
import {
  attackCoOccurrence,
  attackFrequency,
  attackKind,
  attackOrder,
  attackVolumes,
  chanceOfKind,
  chanceOfOrder,
  type Features,
  guessByFrequency,
  rankCorrelation,
  shareOf,
} from '../support/leaks/leakage-attacks.ts'
import { randomFor, type SeededRandom } from '../support/random/seeded-random.ts'

const SEALED = { index: 'sealed', redaction: 'PLAIN_TEXT' } as const
const PLAIN = { redaction: 'PLAIN_TEXT' } as const
/** A vault without indexes, one with, and one with a planted fault. */
const VAULTS = ['without', 'indexed'] as const
type Figures = Partial<Record<'without' | 'indexed' | 'guess' | 'planted', number>>

/** What was measured, printed at the end: docs/inside/indexes.md has it. */
const measured = new Map<string, Figures>()
afterAll(() => {
  const figures = [...measured].map(([attack, own]) => [
    attack,
    Object.fromEntries(Object.entries(own).map(([name, figure]) => [name, figure.toFixed(3)])),
  ])
  if (process.env.LEAKS !== undefined) console.table(Object.fromEntries(figures))
})

function note(attack: string, figures: Figures): void {
  measured.set(attack, { ...measured.get(attack), ...figures })
}

/** Values of equal length, of which the first is a third of all. */
const ILLNESSES = Array.from({ length: 20 }, (_, n) => `illness-${String(n).padStart(2, '0')}`)

function skewed(random: SeededRandom, from: readonly string[] = ILLNESSES): string {
  return required(from[Math.floor(from.length * random() ** 3)])
}

/** Records, and what is seen of each: in its own row, in the rows that were stored with it, and in what the next merge stored. */
interface Seen {
  readonly illnesses: readonly string[]
  readonly numbers: readonly number[]
  readonly features: Features
}

/** A year of a vault, with a dump after each day: records come alone and together, and are merged now and then. */
async function liveYear(isIndexed: boolean, fault?: Fault): Promise<{ readonly all: Seen; readonly alone: Seen }> {
  const random = randomFor('year')
  const options = isIndexed ? SEALED : PLAIN
  const seen = await SeenVault.open(
    { illness: column.string(options), number: column.integer(options) },
    fault === undefined ? {} : { fault },
  )
  const days = random.shuffle([...new Array<number>(200).fill(1), ...new Array<number>(20).fill(30)])
  const numbers = random.shuffle(Array.from({ length: days.reduce((sum, count) => sum + count, 0) }, (_, n) => n))
  const illnesses = numbers.map(() => skewed(random))
  const isAlone = days.flatMap((count) => new Array<boolean>(count).fill(count === 1))
  const steps: Record<string, string | number>[] = []
  let merged = 0
  for (const [day, count] of days.entries()) {
    const from = steps.length
    const fields = illnesses.slice(from, from + count).map((illness, i) => ({ fields: { illness, number: numbers[from + i] } }))
    const stored = await seen.step(() => seen.vault.session.insert('records', fields))
    const beside = featuresOf(stored.filter(isOfIndex))
    for (const { table, row } of stored) {
      if (table !== seen.vault.table.physical.name) continue
      steps.push({ ...prefixed('own', featuresOf([{ table, row }])), ...prefixed('beside', beside) })
    }
    if (day % 20 !== 19 && day + 1 < days.length) continue
    const after = featuresOf(await seen.step(() => (day % 60 === 59 ? seen.vault.compact() : seen.vault.flush())))
    for (const step of steps.slice(merged)) Object.assign(step, prefixed('merged', after))
    merged = steps.length
  }
  const alone = (_: unknown, record: number): boolean => isAlone[record] === true
  return {
    all: { illnesses, numbers, features: asFeatures(steps) },
    alone: { illnesses: illnesses.filter(alone), numbers: numbers.filter(alone), features: asFeatures(steps.filter(alone)) },
  }
}

function prefixed(part: string, features: Readonly<Record<string, string | number>>): Record<string, string | number> {
  return Object.fromEntries(Object.entries(features).map(([name, value]) => [`${part} ${name}`, value]))
}

describe('a thief with a dump of each day of a year', () => {
  it.each(VAULTS)('%s: learns no value by frequency, and no order', async (kind) => {
    for (const [which, { illnesses, numbers, features }] of Object.entries(await liveYear(kind === 'indexed'))) {
      const { share, chance } = guessByFrequency(illnesses)
      const byFrequency = attackFrequency(features, illnesses)
      const byOrder = attackOrder(features, numbers)
      note(`values of records that came ${which}, by frequency`, { [kind]: byFrequency, guess: share })
      note(`order of records that came ${which}`, { [kind]: byOrder, guess: chanceOfOrder(numbers.length) })
      expect(byFrequency).toBeLessThan(share + chance)
      expect(byOrder).toBeLessThan(chanceOfOrder(numbers.length))
    }
  })

  it('finds values and their order in indexes that have the keys themselves', async () => {
    const byFrequency = (await liveYear(true, unsealed(0))).alone
    const byOrder = (await liveYear(true, unsealed(1))).alone
    const values = attackFrequency(byFrequency.features, byFrequency.illnesses)
    const order = attackOrder(byOrder.features, byOrder.numbers)
    note('values of records that came alone, by frequency', { planted: values })
    note('order of records that came alone', { planted: order })
    const { share, chance } = guessByFrequency(byFrequency.illnesses)
    expect(values).toBeGreaterThan(share + chance)
    expect(order).toBeGreaterThan(0.99)
  })

  it('learns no order of blocks from their ids, and would from ids in order', async () => {
    const random = randomFor('blocks')
    const writes = loggedStorage(memoryStorage())
    const seen = await SeenVault.open({ number: column.integer(SEALED) }, writes)
    const fields = random.shuffle(Array.from({ length: 3000 }, (_, number) => ({ fields: { number } })))
    await seen.vault.session.insert('records', fields.slice(0, 1000))
    await seen.vault.session.insert('records', fields.slice(1000, 2000))
    await seen.vault.session.insert('records', fields.slice(2000))
    let [byIds, planted, byWriting, blocks] = [0, 0, 0, 0]
    const merges = 5
    for (let merge = 0; merge < merges; merge++) {
      writes.writes.length = 0
      await seen.vault.compact()
      const [ids = []] = await seen.blocks()
      const places = ids.map((_, place) => place)
      byIds += rankCorrelation(ids, places) / merges
      planted +=
        rankCorrelation(
          ids.toSorted((one, other) => one - other),
          places,
        ) / merges
      byWriting +=
        rankCorrelation(
          ids.map((id) => writes.writes.indexOf(id)),
          places,
        ) / merges
      blocks = ids.length
    }
    const chance = chanceOfOrder(blocks * merges)
    note('order of blocks, by ids', { indexed: byIds, guess: chance, planted })
    note('order of blocks, by pages of the file', { indexed: byWriting, guess: chance })
    expect(Math.abs(byIds)).toBeLessThan(chance)
    expect(planted).toBeGreaterThan(chance)
    // Blocks are written in slices in the order of their keys, and a file shows which pages were written first: docs/security.md says so.
    expect(byWriting).toBeGreaterThan(chance)
  })

  /** Steps of a record each, and what was stored beside it. */
  async function insertEach(kind: 'text' | 'number', values: readonly unknown[], fault?: Fault) {
    const { text, number } = { text: column.string(SEALED), number: column.integer(SEALED) }
    const seen = await SeenVault.open(kind === 'text' ? { value: text } : { value: number }, fault === undefined ? {} : { fault })
    const [own, beside]: Record<string, string | number>[][] = [[], []]
    for (const value of values) {
      const stored = await seen.step(() => seen.vault.session.insert('records', [{ fields: { value } }]))
      own?.push({ bytes: featuresOf(stored.filter((one) => !isOfIndex(one))).bytes ?? 0 })
      beside?.push(featuresOf(stored.filter(isOfIndex)))
    }
    return { own: asFeatures(own ?? []), beside: asFeatures(beside ?? []) }
  }

  it.each(['text', 'number'] as const)('learns no length of a %s from what one commit stores in an index', async (kind) => {
    const random = randomFor(kind)
    const sizes = Array.from({ length: 200 }, () => 1 + random.below(15))
    const values = sizes.map((size) => (kind === 'text' ? 'x'.repeat(size * 4) : 10 ** size + random.below(9)))
    const { own, beside } = await insertEach(kind, values)
    const faulty = await insertEach(kind, values, kind === 'text' ? UNPADDED : unsealed(0))
    const found = attackOrder(beside, sizes)
    const planted = attackOrder(faulty.beside, sizes)
    note(`length of a ${kind}, one commit`, {
      without: attackOrder(own, sizes),
      indexed: found,
      guess: chanceOfOrder(sizes.length),
      planted,
    })
    expect(found).toBeLessThan(chanceOfOrder(sizes.length))
    expect(planted).toBeGreaterThan(chanceOfOrder(sizes.length))
  })

  it('does not learn whether an update changed a value, and would if it stored nothing of equal ones', async () => {
    const random = randomFor('updates')
    const seen = await SeenVault.open({ number: column.integer(SEALED) })
    const numbers = Array.from({ length: 100 }, () => random.below(1000))
    const { records } = await seen.vault.session.insert(
      'records',
      numbers.map((number) => ({ fields: { number } })),
    )
    const isEqual = random.shuffle(numbers.map((_, i) => i % 2 === 0))
    const steps: Record<string, string | number>[] = []
    for (const [i, { id }] of records.entries()) {
      const number = required(numbers[i]) + (isEqual[i] === true ? 0 : 1)
      steps.push(featuresOf(await seen.step(() => seen.vault.session.updateOne('records', id, { number }))))
    }
    const faulty = steps.map((step, i) => ({ rows: (step.rows as number) - (isEqual[i] === true ? 1 : 0) }))
    const found = attackKind(asFeatures(steps), isEqual)
    note('whether an update changed a value', { indexed: found, guess: 0.5, planted: attackKind(asFeatures(faulty), isEqual) })
    expect(found).toBeLessThan(0.5 + chanceOfKind(isEqual.length))
    expect(attackKind(asFeatures(faulty), isEqual)).toBeGreaterThan(0.5 + chanceOfKind(isEqual.length))
  })

  it.each([
    ['indexed', undefined],
    ['planted', UNPADDED],
  ] as const)('does not learn whether values are equal from what a merge stores: %s', async (kind, fault) => {
    const random = randomFor('merges')
    const seen = await SeenVault.open({ text: column.string(SEALED) }, { blockBytes: 8192, ...(fault && { fault }) })
    const areEqual = random.shuffle(Array.from({ length: 60 }, (_, i) => i % 2 === 0))
    const steps: Record<string, string | number>[] = []
    for (const equal of areEqual) {
      const first = random.below(1e6)
      const texts = Array.from({ length: 64 }, (_, i) => String(first + (equal ? 0 : i)).padStart(12, '0'))
      await seen.step(() =>
        seen.vault.session.insert(
          'records',
          texts.map((text) => ({ fields: { text } })),
        ),
      )
      steps.push(featuresOf(await seen.step(() => seen.vault.flush())))
    }
    const found = attackKind(asFeatures(steps), areEqual)
    note('whether 64 values are equal, by a merge', { [kind]: found, guess: 0.5 })
    if (kind === 'planted') expect(found).toBeGreaterThan(0.5 + chanceOfKind(areEqual.length))
    else expect(found).toBeLessThan(0.5 + chanceOfKind(areEqual.length))
  })
})

describe('a watcher of queries with their parameters', () => {
  /** Reads all rows that match: a count of the column with the index would read none, and a query for rows at most 64. */
  const COUNT = 'SELECT COUNT(note) FROM records WHERE'

  /** Queries, and of each the positions of the rows that were read by their ids. */
  async function watch(isIndexed: boolean, values: readonly (string | number)[], queries: readonly string[]) {
    const log = loggedStorage(memoryStorage())
    const options = isIndexed ? SEALED : PLAIN
    const value = typeof values[0] === 'number' ? column.integer(options) : column.string(options)
    const seen = await SeenVault.open({ value, note: column.string(PLAIN) }, { ...log })
    for (let from = 0; from < values.length; from += 1000) {
      const fields = values.slice(from, from + 1000).map((one) => ({ fields: { value: one, note: 'x' } }))
      await seen.vault.session.insert('records', fields)
    }
    await seen.vault.compact()
    const rows = await seen.vault.storage.find(seen.vault.table.physical.name, { kind: 'all' }, { order: 'asc', limit: 10_000 })
    const positions = new Map(rows.map(({ id }, position) => [id, position]))
    const found: number[][] = []
    let blocks = 0
    for (const query of isIndexed ? queries : queries.slice(0, 20)) {
      log.reads.length = 0
      await seen.vault.session.query(query)
      blocks += log.reads.filter(({ table }) => table === INDEX_BLOCKS.name).length
      const read = log.reads.filter(({ table }) => table === seen.vault.table.physical.name).flatMap(({ ids }) => ids)
      if (read.length > 0) found.push(read.map((id) => required(positions.get(id))))
    }
    return { found, blocks }
  }

  it.each(VAULTS)('%s: reconstructs the order of rows from ranges, as it is said, where an index is used', async (kind) => {
    const random = randomFor('ranges')
    const values = random.shuffle(Array.from({ length: 1000 }, (_, n) => n))
    const queries = Array.from({ length: 400 }, () => {
      const from = random.below(1000)
      return `${COUNT} value >= ${from} AND value < ${from + 1 + random.below(100)}`
    })
    const { found } = await watch(kind === 'indexed', values, queries)
    const guesses = attackCoOccurrence(found, values)
    const known = guesses.flatMap((guess, row) => (guess === undefined ? [] : [[guess, required(values[row])] as const]))
    const order = Math.abs(
      rankCorrelation(
        known.map(([guess]) => guess),
        known.map(([, value]) => value),
      ),
    )
    note('order, by ranges that are watched', { [kind]: order, guess: chanceOfOrder(values.length) })
    if (kind === 'without') expect(found).toEqual([])
    else expect(order).toBeGreaterThan(0.95)
  })

  it.each(VAULTS)('%s: recovers values by how many rows are read, as it is said, where an index is used', async (kind) => {
    const random = randomFor('volumes')
    const names = Array.from({ length: 200 }, (_, n) => `name-${n}`)
    const values = Array.from({ length: 2000 }, () => skewed(random, names))
    const { found } = await watch(
      kind === 'indexed',
      values,
      Array.from({ length: 300 }, () => `${COUNT} value = '${random.pick(values)}'`),
    )
    const { share, chance } = guessByFrequency(values)
    const known = attackVolumes(found, values)
    const right = shareOf<string | number>(values, (row) => known.get(row))
    note('values, by sizes of results that are watched', { [kind]: right, guess: share })
    if (kind === 'without') expect(found).toEqual([])
    else expect(right).toBeGreaterThan(share + chance)
  })
})
