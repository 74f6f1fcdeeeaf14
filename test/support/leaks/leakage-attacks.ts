/** The known attacks on encrypted indexes, as functions of what is seen: by frequency, by order, by which rows come together, and by how many do. */
import { required } from '../../../src/core/util/lists.ts'

/** A number or a label of each row. */
export type Feature = readonly (string | number)[]

/** What is seen of each row, by name. */
export type Features = ReadonlyMap<string, Feature>

/** How far chance goes: attacks take the best of several features. */
const DEVIATIONS = 4.5

/** Returns the share of rows that are right if each is taken for the most frequent value, and how much chance can add. */
export function guessByFrequency(values: Feature): { readonly share: number; readonly chance: number } {
  const [most] = countsOf(values)
  const share = (most?.[1] ?? 0) / values.length
  return { share, chance: DEVIATIONS * Math.sqrt((share * (1 - share)) / values.length) }
}

/** Returns the rank correlation that chance gives so many rows. */
export function chanceOfOrder(rows: number): number {
  return DEVIATIONS / Math.sqrt(rows - 1)
}

/** Returns what chance adds to one half where each of so many rows is of one of two kinds. */
export function chanceOfKind(rows: number): number {
  return (DEVIATIONS * 0.5) / Math.sqrt(rows)
}

/**
 * Frequency analysis: rows with one label are taken for rows with one value, the largest group for the most frequent value, and so on. Returns the share of
 * rows whose value is right, by the feature for which it is largest.
 */
export function attackFrequency(features: Features, values: Feature): number {
  const known = countsOf(values).map(([value]) => value)
  return best(features, (labels) => {
    const guessed = new Map(countsOf(labels).map(([label], rank) => [label, known[rank] ?? known[0]]))
    return shareOf(values, (row) => guessed.get(required(labels[row])))
  })
}

/** Sorting: rows in the order of a feature are taken for rows in the order of their values. Returns the rank correlation, as a magnitude. */
export function attackOrder(features: Features, values: readonly number[]): number {
  return best(features, (feature) => Math.abs(correlation(ranksOf(feature), ranksOf(values))))
}

/** Two kinds of rows: those with the lesser number are taken for the kind that is true of half. Returns the share that is right, at least one half. */
export function attackKind(features: Features, isOfKind: readonly boolean[]): number {
  return best(features, (feature) => {
    const order = ranksOf(feature)
    const middle = feature.length / 2
    // Ties are broken by position, which is random.
    const right = shareOf(isOfKind, (row) => required(order[row]) < middle)
    return Math.max(right, 1 - right)
  })
}

/**
 * Range co-occurrence, as Kellaris and others and Lacharité and others: of each query the rows that it read are known. Rows that come together are near each
 * other: by how many queries a row is from one at an end they are in order, up to its direction. Then rows are placed where their queries are, and queries
 * where their rows are, which makes the order fine. Returns the value that each row is taken for, of all values in order; undefined of a row that no query read.
 */
export function attackCoOccurrence(
  queries: readonly (readonly number[])[],
  values: readonly number[],
): readonly (number | undefined)[] {
  const queriesOf = new Map<number, number[]>()
  for (const [query, rows] of queries.entries()) {
    for (const row of rows) queriesOf.set(row, [...(queriesOf.get(row) ?? []), query])
  }
  const seen = [...queriesOf.keys()]
  const [first] = seen
  if (first === undefined) return values.map(() => undefined)
  const far = [...stepsFrom(first, queries, queriesOf)].at(-1)?.[0] ?? first
  let places = stepsFrom(far, queries, queriesOf)
  for (let round = 0; round < ROUNDS; round++) {
    const ofQueries = queries.map((rows) => mean(rows.map((row) => places.get(row) ?? 0)))
    places = new Map(seen.map((row) => [row, mean((queriesOf.get(row) ?? []).map((query) => required(ofQueries[query])))]))
  }
  const sorted = values.toSorted((one, other) => one - other)
  const inOrder = seen.toSorted((one, other) => (places.get(one) ?? 0) - (places.get(other) ?? 0))
  const guessed = new Map(
    inOrder.map((row, rank) => [row, sorted[Math.floor(((rank + 0.5) / inOrder.length) * sorted.length)]] as const),
  )
  return values.map((_, row) => guessed.get(row))
}

/** Few: more would make all places one. */
const ROUNDS = 20

/** Returns by how many queries each row is from one, the nearest first. */
function stepsFrom(
  row: number,
  queries: readonly (readonly number[])[],
  queriesOf: ReadonlyMap<number, readonly number[]>,
): Map<number, number> {
  const steps = new Map([[row, 0]])
  const done = new Set<number>()
  // A map goes on with what is added to it meanwhile.
  for (const [near, step] of steps) {
    for (const query of queriesOf.get(near) ?? []) {
      if (done.has(query)) continue
      done.add(query)
      for (const next of queries[query] ?? []) if (!steps.has(next)) steps.set(next, step + 1)
    }
  }
  return steps
}

/** Sizes of results: a query by `=` that read as many rows as only one value has is taken for that value. Returns the value of each row that is known so. */
export function attackVolumes(queries: readonly (readonly number[])[], values: Feature): ReadonlyMap<number, string | number> {
  const bySize = new Map<number, (string | number)[]>()
  for (const [value, count] of countsOf(values)) bySize.set(count, [...(bySize.get(count) ?? []), value])
  const known = new Map<number, string | number>()
  for (const rows of queries) {
    const [value, ...others] = bySize.get(rows.length) ?? []
    if (value !== undefined && others.length === 0) for (const row of rows) known.set(row, value)
  }
  return known
}

/** Returns the share of rows for which a guess is right. */
export function shareOf<T>(values: readonly T[], guess: (row: number) => T | undefined): number {
  return values.filter((value, row) => guess(row) === value).length / values.length
}

/** Returns the rank correlation of two lists of numbers. */
export function rankCorrelation(left: readonly number[], right: readonly number[]): number {
  return correlation(ranksOf(left), ranksOf(right))
}

function best(features: Features, attack: (feature: Feature) => number): number {
  return Math.max(0, ...[...features.values()].map(attack))
}

/** Labels with how often each is there, the most frequent first. */
function countsOf(labels: Feature): (readonly [string | number, number])[] {
  const counts = new Map<string | number, number>()
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1)
  return [...counts].sort(([, one], [, other]) => other - one)
}

/** The rank of each item. Equal ones have the mean of theirs. */
function ranksOf(feature: Feature): number[] {
  const order = feature.map((_, index) => index).sort((one, other) => compare(required(feature[one]), required(feature[other])))
  const ranks = new Array<number>(feature.length).fill(0)
  for (let from = 0; from < order.length; ) {
    let to = from
    while (to < order.length && feature[required(order[to])] === feature[required(order[from])]) to++
    for (let i = from; i < to; i++) ranks[required(order[i])] = (from + to - 1) / 2
    from = to
  }
  return ranks
}

function compare(one: string | number, other: string | number): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** Zero if one of the lists has one number only. */
function correlation(left: readonly number[], right: readonly number[]): number {
  const [leftMean, rightMean] = [mean(left), mean(right)]
  let [product, leftSquare, rightSquare] = [0, 0, 0]
  for (const [index, value] of left.entries()) {
    const [one, other] = [value - leftMean, required(right[index]) - rightMean]
    product += one * other
    leftSquare += one * one
    rightSquare += other * other
  }
  return leftSquare * rightSquare === 0 ? 0 : product / Math.sqrt(leftSquare * rightSquare)
}

function mean(list: readonly number[]): number {
  return list.reduce((sum, value) => sum + value, 0) / list.length
}
