/** The interface of another engine that holds the rows of a fixture in plain tables and runs the same queries. */
import type { ColumnTypeName, JsonValue } from '../../../src/core/values/column-type.ts'
import { MAX_RECORDS } from './compare.ts'
import type { Fixture } from './fixture.ts'
import { type Output, outputsOf } from './output-keys.ts'
import { quoted } from './print-query.ts'
import { type ColumnTerm, type Item, type RandomQuery, sourcesOf } from './query-tree.ts'

/** A comparable form of a value: one text for equal values of a type. */
export type Comparable = string | null

/** The rows of one fixture in another engine. */
export interface Reference {
  readonly name: string
  /** The rows in order without the ids only a vault has; undefined where the engine cannot be asked this. */
  ask(query: RandomQuery): Promise<readonly (readonly Comparable[])[] | undefined>
}

/** Another engine. It loads one fixture after another. */
export interface ReferenceEngine {
  /** Undefined if the engine cannot store this fixture. */
  load(fixture: Fixture): Promise<Reference | undefined>
  close(): Promise<void>
}

/** Column of every reference table that numbers its rows in the order of insertion, from 0. */
export const PLACE = '#'

/** The outputs another engine has too. */
export function shownOutputs(query: RandomQuery): readonly (Output & { readonly item: NonNullable<Output['item']> })[] {
  return outputsOf(query).flatMap(({ item, ...output }) => (item === undefined ? [] : [{ ...output, item }]))
}

/** The select list: each output with its level, in the engine's form of its type. */
export function referenceItems(
  query: RandomQuery,
  column: (term: ColumnTerm) => string,
  show: (expression: string, output: Output) => string,
): string {
  return shownOutputs(query)
    .map((output, at) => `${show(expressionOf(output.item, column), output)} as "o${at}"`)
    .join(', ')
}

function aggregateOf(
  { name, term, isDistinct }: Extract<Item, { kind: 'aggregate' }>,
  column: (term: ColumnTerm) => string,
): string {
  return `${name}(${isDistinct ? 'distinct ' : ''}${term === undefined ? '*' : column(term)})`
}

function expressionOf(item: NonNullable<Output['item']>, column: (term: ColumnTerm) => string): string {
  if (item.kind === 'aggregate') return aggregateOf(item, column)
  const cell = column(item.term)
  return item.level === 'REDACTED' ? `case when ${cell} is null then null else '*REDACTED*' end` : cell
}

/**
 * The order the vault promises: rows of the FROM table as they were inserted, then those of the joined ones; what has no matching row
 * comes after what has. ORDER BY comes before that, and a group is where its first row is. Then the bounds, 25 at most.
 */
export function referenceWindow(query: RandomQuery, column: (term: ColumnTerm) => string): string {
  const places = sourcesOf(query).map(({ alias }) => `${quoted(alias, '"')}.${quoted(PLACE, '"')}`)
  const isOneRecord = query.groupBy.length === 0 && query.items.some(({ kind }) => kind === 'aggregate')
  // Null is behind every value, and before them in falling order.
  const terms = query.orderBy.map(({ by, direction }) => {
    const value = by.kind === 'column' ? column(by) : aggregateOf(by, column)
    return `${value} ${direction} nulls ${direction === 'asc' ? 'last' : 'first'}`
  })
  const ties = query.groupBy.length > 0 ? [`min(${firstPlace(places)})`] : places.map((place) => `${place} nulls last`)
  const order = isOneRecord ? '' : ` order by ${[...terms, ...ties].join(', ')}`
  return `${order} limit ${Math.min(query.limit ?? MAX_RECORDS, MAX_RECORDS)} offset ${query.offset ?? 0}`
}

/** Above the number of rows of a table. */
const PLACES = 1000

/** One number for the places of a row of a join, in their order. */
function firstPlace(places: readonly string[]): string {
  const scaled = places.map((place, at) => `coalesce(${place}, ${PLACES - 1}) * ${PLACES ** (places.length - 1 - at)}`)
  return scaled.join(' + ')
}

/** JSON with members in the order of their names. */
export function canonicalJson(value: JsonValue): string {
  return JSON.stringify(value, (_, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  )
}

/** Whether a type's values are JSON. */
export function isJson(type: ColumnTypeName | 'approximate' | 'id'): boolean {
  return type === 'JSON' || type === 'ARRAY'
}
