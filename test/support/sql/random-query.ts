/** Random queries over a fixture. */
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import type { Fixture } from './fixture.ts'
import { outputKeys } from './output-keys.ts'
import {
  type ColumnTerm,
  columnsOf,
  type Item,
  isCompared,
  type OrderTerm,
  type Predicate,
  type RandomJoin,
  type RandomQuery,
  type Source,
  sourcesOf,
} from './query-tree.ts'
import { drawPredicate } from './random-predicate.ts'

/** Draws a query whose outputs have distinct keys. */
export function drawQuery(random: SeededRandom, fixture: Fixture): RandomQuery {
  const reading = drawReading(random, fixture)
  const window = {
    limit: random.chance(0.25) ? random.pick([0, 1, 2, 5, 25, 26, 1000]) : undefined,
    offset: random.chance(0.25) ? random.pick(fixture.isTall ? [0, 1, 30, 127, 128, 129, 250] : [0, 1, 2, 3, 7, 30]) : undefined,
  }
  for (;;) {
    const groupBy = random.chance(0.2) ? drawGroups(random, sourcesOf(reading)) : []
    const items =
      groupBy.length === 0
        ? drawItems(random, fixture, sourcesOf(reading))
        : drawGroupItems(random, fixture, { groupBy, reading })
    const orderBy = random.chance(0.35) ? drawOrder(random, { items, groupBy, reading }) : []
    const query = { ...reading, ...window, items, groupBy, orderBy }
    if (outputKeys(query) !== undefined) return query
  }
}

type Reading = Pick<RandomQuery, 'from' | 'joins'>

/** One or two columns whose values are compared; none if there is none. */
function drawGroups(random: SeededRandom, sources: readonly Source[]): readonly ColumnTerm[] {
  const fitting = sources.flatMap(columnsOf).filter(({ column }) => isCompared(column.type))
  return fitting.length === 0 ? [] : random.sample(fitting, Math.min(fitting.length, 1 + random.below(2)))
}

/** Columns of GROUP BY and aggregates. */
function drawGroupItems(
  random: SeededRandom,
  fixture: Fixture,
  { groupBy, reading }: { readonly groupBy: readonly ColumnTerm[]; readonly reading: Reading },
): Item[] {
  const columns = sourcesOf(reading).flatMap(columnsOf)
  return Array.from({ length: 1 + random.below(4) }, (): Item => {
    const alias = drawAlias(random)
    if (random.chance(0.5)) return drawAggregate(random, fixture, columns, alias)
    return { kind: 'column', term: random.pick(groupBy), level: random.chance(0.1) ? 'REDACTED' : undefined, alias }
  })
}

/** Columns, or columns of GROUP BY and aggregates of the outputs. Sums and means of doubles do not tie where the exact ones do. */
function drawOrder(
  random: SeededRandom,
  {
    items,
    groupBy,
    reading,
  }: { readonly items: readonly Item[]; readonly groupBy: readonly ColumnTerm[]; readonly reading: Reading },
): OrderTerm[] {
  const aggregates = items.filter((item) => item.kind === 'aggregate')
  const exact = aggregates.filter(({ name, term }) => name !== 'avg' && (name !== 'sum' || term?.column.type !== 'FLOAT'))
  const columns = aggregates.length + groupBy.length > 0 ? groupBy : sourcesOf(reading).flatMap(columnsOf)
  const fitting = [...columns.filter(({ column }) => isCompared(column.type)), ...exact]
  if (fitting.length === 0) return []
  return random.sample(fitting, Math.min(fitting.length, 1 + random.below(3))).map((by) => {
    return { by, direction: random.pick(['asc', 'desc'] as const) }
  })
}

/** Draws tables, joins and a condition. */
export function drawReading(random: SeededRandom, fixture: Fixture): Pick<RandomQuery, 'from' | 'joins' | 'where'> {
  const [from, ...others] = drawSources(random, fixture)
  if (from === undefined) throw new Error('a fixture must have at least one table')
  const joins = others.map((source, at): RandomJoin => {
    const before = [from, ...others.slice(0, at)]
    const kind = random.pick(['inner', 'inner', 'left', 'left', 'right', 'full'] as const)
    return { kind, source, on: drawOn(random, fixture, before, source) }
  })
  const where = random.chance(0.75) ? drawPredicate(random, { fixture, sources: [from, ...others] }) : undefined
  return { from, joins, where }
}

/** One to three sources; a table may come more than once. */
function drawSources(random: SeededRandom, fixture: Fixture): Source[] {
  const aliases = random.sample(['a', 'b', 'c', 'x', 'p1', 'value', 'other'], 3)
  const count = random.pick(fixture.isTall ? [1, 1, 2] : [1, 1, 1, 2, 2, 3])
  const sources: Source[] = []
  for (const alias of aliases.slice(0, count)) {
    const table = random.pick(fixture.tables)
    const isFree = sources.every((source) => source.alias !== table.name)
    sources.push({ alias: isFree && random.chance(0.4) ? table.name : alias, table })
  }
  return sources
}

/** Mostly that two columns are equal, with more beside it or without. */
function drawOn(random: SeededRandom, fixture: Fixture, before: readonly Source[], joined: Source): Predicate {
  const pairs = before.flatMap((source) => columnsOf(source).flatMap((one) => columnsOf(joined).map((other) => ({ one, other }))))
  const fitting = pairs.filter(({ one, other }) => one.column.type === other.column.type && isCompared(one.column.type))
  if (fitting.length === 0 || random.chance(0.1)) return drawPredicate(random, { fixture, sources: [...before, joined] })
  const { one, other } = random.pick(fitting)
  const [left, right] = random.chance(0.5) ? [one, other] : [other, one]
  const equal: Predicate = { kind: 'compare', operator: random.chance(0.9) ? '=' : '<', left, right }
  if (random.chance(0.6)) return equal
  return {
    kind: random.chance(0.8) ? 'and' : 'or',
    operands: [equal, drawPredicate(random, { fixture, sources: [...before, joined] })],
  }
}

function drawItems(random: SeededRandom, fixture: Fixture, sources: readonly Source[]): Item[] {
  const columns = sources.flatMap(columnsOf)
  if (random.chance(0.35)) {
    return Array.from({ length: 1 + random.below(3) }, () => drawAggregate(random, fixture, columns, drawAlias(random)))
  }
  if (random.chance(0.25)) return [{ kind: 'star', source: random.chance(0.3) ? random.pick(sources) : undefined }]
  return Array.from({ length: 1 + random.below(4) }, (): Item => {
    const level = random.chance(0.1) ? random.pick(['PLAIN_TEXT', 'REDACTED'] as const) : undefined
    return { kind: 'column', term: random.pick(columns), level, alias: drawAlias(random) }
  })
}

function drawAlias(random: SeededRandom): string | undefined {
  return random.chance(0.3) ? `${random.pick(['r', 'Total', 'c', 'name'])}${random.below(9)}` : undefined
}

function drawAggregate(random: SeededRandom, fixture: Fixture, columns: readonly ColumnTerm[], alias: string | undefined): Item {
  const name = random.pick(['count', 'count', 'sum', 'avg', 'min', 'max'] as const)
  const fitting = columns.filter(({ column }) => isAggregated(fixture, name, column.type))
  const term = name === 'count' && random.chance(0.5) ? undefined : fitting.length === 0 ? undefined : random.pick(fitting)
  const namesakes = columns.filter(({ column }) => column.name === term?.column.name)
  const isQualified = namesakes.length > 1 || random.chance(0.5)
  const isDistinct = name === 'count' && term !== undefined && isCompared(term.column.type) && random.chance(0.4)
  return { kind: 'aggregate', name: term === undefined ? 'count' : name, term, isDistinct, isQualified, alias }
}

/** Sums of wide doubles depend on their order, and no order is promised. */
function isAggregated(fixture: Fixture, name: string, type: ColumnTypeName): boolean {
  if (name === 'count') return true
  if (name === 'min' || name === 'max') return isCompared(type) && type !== 'BOOL'
  return type === 'INTEGER' || type === 'DECIMAL' || (type === 'FLOAT' && !fixture.isWide)
}
