/** Random queries over a world. */
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'
import type { Luck } from '../random/draws.ts'
import { below, chance, pick, some } from '../random/draws.ts'
import type { World } from './fixture.ts'
import { outputKeys } from './output-keys.ts'
import type { ColumnTerm, Item, Predicate, RandomJoin, RandomQuery, Source } from './query-tree.ts'
import { columnsOf, isCompared, sourcesOf } from './query-tree.ts'
import { drawPredicate } from './random-predicate.ts'

/** Draws a query. Its outputs always have keys of their own. */
export function drawQuery(luck: Luck, world: World): RandomQuery {
  const reading = drawReading(luck, world)
  const window = {
    limit: chance(luck, 0.25) ? pick(luck, [0, 1, 2, 5, 25, 26, 1000]) : undefined,
    offset: chance(luck, 0.25) ? pick(luck, world.isTall ? [0, 1, 30, 127, 128, 129, 250] : [0, 1, 2, 3, 7, 30]) : undefined,
  }
  for (;;) {
    const query = { ...reading, ...window, items: drawItems(luck, world, sourcesOf(reading)) }
    if (outputKeys(query) !== undefined) return query
  }
}

/** Draws what is read: tables, joins and a condition. */
export function drawReading(luck: Luck, world: World): Pick<RandomQuery, 'from' | 'joins' | 'where'> {
  const [from, ...others] = drawSources(luck, world)
  if (from === undefined) throw new Error('a world has at least one table')
  const joins = others.map((source, at): RandomJoin => {
    const before = [from, ...others.slice(0, at)]
    const kind = pick(luck, ['inner', 'inner', 'left', 'left', 'right', 'full'] as const)
    return { kind, source, on: drawOn(luck, world, before, source) }
  })
  const where = chance(luck, 0.75) ? drawPredicate(luck, { world, sources: [from, ...others] }) : undefined
  return { from, joins, where }
}

/** One to three sources; a table may come more than once. */
function drawSources(luck: Luck, world: World): Source[] {
  const aliases = some(luck, ['a', 'b', 'c', 'x', 'p1', 'value', 'other'], 3)
  const count = pick(luck, world.isTall ? [1, 1, 2] : [1, 1, 1, 2, 2, 3])
  const sources: Source[] = []
  for (const alias of aliases.slice(0, count)) {
    const table = pick(luck, world.tables)
    const isFree = sources.every((source) => source.alias !== table.name)
    sources.push({ alias: isFree && chance(luck, 0.4) ? table.name : alias, table })
  }
  return sources
}

/** Mostly that two columns are equal, with more beside it or without. */
function drawOn(luck: Luck, world: World, before: readonly Source[], joined: Source): Predicate {
  const pairs = before.flatMap((source) => columnsOf(source).flatMap((one) => columnsOf(joined).map((other) => ({ one, other }))))
  const fitting = pairs.filter(({ one, other }) => one.column.type === other.column.type && isCompared(one.column.type))
  if (fitting.length === 0 || chance(luck, 0.1)) return drawPredicate(luck, { world, sources: [...before, joined] })
  const { one, other } = pick(luck, fitting)
  const [left, right] = chance(luck, 0.5) ? [one, other] : [other, one]
  const equal: Predicate = { kind: 'compare', operator: chance(luck, 0.9) ? '=' : '<', left, right }
  if (chance(luck, 0.6)) return equal
  return {
    kind: chance(luck, 0.8) ? 'and' : 'or',
    operands: [equal, drawPredicate(luck, { world, sources: [...before, joined] })],
  }
}

function drawItems(luck: Luck, world: World, sources: readonly Source[]): Item[] {
  const columns = sources.flatMap(columnsOf)
  const alias = (): string | undefined =>
    chance(luck, 0.3) ? `${pick(luck, ['r', 'Total', 'c', 'name'])}${below(luck, 9)}` : undefined
  if (chance(luck, 0.35)) {
    return Array.from({ length: 1 + below(luck, 3) }, () => drawAggregate(luck, world, columns, alias()))
  }
  if (chance(luck, 0.25)) return [{ kind: 'star', source: chance(luck, 0.3) ? pick(luck, sources) : undefined }]
  return Array.from({ length: 1 + below(luck, 4) }, (): Item => {
    const level = chance(luck, 0.1) ? pick(luck, ['PLAIN_TEXT', 'REDACTED'] as const) : undefined
    return { kind: 'column', term: pick(luck, columns), level, alias: alias() }
  })
}

function drawAggregate(luck: Luck, world: World, columns: readonly ColumnTerm[], alias: string | undefined): Item {
  const name = pick(luck, ['count', 'count', 'sum', 'avg', 'min', 'max'] as const)
  const fitting = columns.filter(({ column }) => isAggregated(world, name, column.type))
  const term = name === 'count' && chance(luck, 0.5) ? undefined : fitting.length === 0 ? undefined : pick(luck, fitting)
  const namesakes = columns.filter(({ column }) => column.name === term?.column.name)
  const isQualified = namesakes.length > 1 || chance(luck, 0.5)
  return { kind: 'aggregate', name: term === undefined ? 'count' : name, term, isQualified, alias }
}

/** Sums of wide doubles depend on their order, and no order is promised. */
function isAggregated(world: World, name: string, type: ColumnTypeName): boolean {
  if (name === 'count') return true
  if (name === 'min' || name === 'max') return isCompared(type) && type !== 'BOOL'
  return type === 'INTEGER' || (type === 'FLOAT' && !world.isWide)
}
