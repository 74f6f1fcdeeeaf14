/** Faulty vaults, one fault each. The properties must detect all of them. */
import type { JsonValue } from '../../../src/core/values/column-type.ts'
import type { OpenSubject, Subject } from './differential.ts'
import type { Fixture, FixtureValue } from './fixture.ts'
import type { Answer } from './known-vault.ts'
import type { Predicate, RandomQuery } from './query-tree.ts'
import { unknownOf } from './unknown.ts'

/** Adds a fault to a subject. */
export type Fault = (open: OpenSubject) => OpenSubject

/** A vault that runs another query than the one it gets. */
function asking(change: (query: RandomQuery) => RandomQuery): Fault {
  return (open) => async (fixture) => {
    const subject = await open(fixture)
    return { ...subject, ask: (query, print) => subject.ask(query, (asked) => print(change(asked))) }
  }
}

/** A vault that changes its results. */
function answering(change: (answer: Answer) => Answer): Fault {
  return (open) => async (fixture) => {
    const subject = await open(fixture)
    return { ...subject, ask: async (query, print) => change(await subject.ask(query, print)) }
  }
}

/** The faults by what they do. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'the last record is dropped': answering(({ records }) => ({ records: records.slice(0, -1) })),
  'records come in the wrong order': answering(({ records }) => ({ records: records.toReversed() })),
  'OFFSET is ignored': asking((query) => ({ ...query, offset: undefined })),
  'LIMIT is ignored': asking((query) => ({ ...query, limit: undefined })),
  'unknown is treated as true': asking((query) =>
    mapConditions(query, (one) => ({ kind: 'or', operands: [one, unknownOf(one)] })),
  ),
  'null equals null': asking((query) => mapConditions(query, (one) => mapParts(one, nullEqualsNull))),
  'LIKE ignores case': asking((query) =>
    mapConditions(query, (one) => mapParts(one, (part) => (part.kind === 'like' ? { ...part, ignoresCase: true } : part))),
  ),
  '<= is read as <': asking((query) =>
    mapConditions(query, (one) =>
      mapParts(one, (part) => (part.kind === 'compare' && part.operator === '<=' ? { ...part, operator: '<' } : part)),
    ),
  ),
  'NOT IN skips null': asking((query) => mapConditions(query, (one) => mapParts(one, notInWithoutNull))),
  'BETWEEN leaves out its bounds': asking((query) => mapConditions(query, (one) => mapParts(one, withoutBounds))),
  'DESC is ignored': asking((query) => ({
    ...query,
    orderBy: query.orderBy.map(({ by }) => ({ by, direction: 'asc' as const })),
  })),
  'only the first term orders': asking((query) => ({ ...query, orderBy: query.orderBy.slice(0, 1) })),
  'a group is by the first column': asking((query) => {
    const [first] = query.groupBy
    const shown = query.items.every((item) => item.kind !== 'column' || item.term === first)
    return shown && first !== undefined ? { ...query, groupBy: [first], orderBy: [] } : query
  }),
  'DISTINCT is ignored': asking((query) => ({
    ...query,
    items: query.items.map((item) => (item.kind === 'aggregate' ? { ...item, isDistinct: false } : item)),
    orderBy: query.orderBy.filter(({ by }) => by.kind === 'column'),
  })),
  'an outer join drops rows without a match': asking((query) => ({
    ...query,
    joins: query.joins.map((join) => ({ ...join, kind: 'inner' as const })),
  })),
  'texts order by UTF-16 units': (open) => async (fixture) => openSwapped(await open(swapFixture(fixture))),
  'integers pass through doubles': answering((answer) => mapValues(answer, throughDouble)),
}

function notInWithoutNull(part: Predicate): Predicate {
  if (part.kind !== 'in' || !part.isNegated) return part
  const others = part.others.filter(({ kind }) => kind !== 'null')
  return others.length === 0 ? part : { ...part, others }
}

function withoutBounds(part: Predicate): Predicate {
  if (part.kind !== 'between' || part.isNegated) return part
  const [low = part.left, high = part.left] = part.others
  const operands: Predicate[] = [
    { kind: 'compare', operator: '>', left: part.left, right: low },
    { kind: 'compare', operator: '<', left: part.left, right: high },
  ]
  return { kind: 'and', operands }
}

function nullEqualsNull(part: Predicate): Predicate {
  if (part.kind !== 'compare' || part.operator !== '=' || part.left.kind !== 'column' || part.right.kind !== 'column') return part
  const bothNull = [part.left, part.right].map((term): Predicate => ({ kind: 'isNull', isNegated: false, term }))
  return { kind: 'or', operands: [part, { kind: 'and', operands: bothNull }] }
}

/** Every condition of a query, whole. */
function mapConditions(query: RandomQuery, change: (condition: Predicate) => Predicate): RandomQuery {
  return {
    ...query,
    where: query.where === undefined ? undefined : change(query.where),
    joins: query.joins.map((join) => ({ ...join, on: change(join.on) })),
  }
}

/** Maps every predicate of a condition. */
function mapParts(predicate: Predicate, change: (part: Predicate) => Predicate): Predicate {
  if (predicate.kind === 'not') return { ...predicate, operand: mapParts(predicate.operand, change) }
  if (predicate.kind === 'and' || predicate.kind === 'or') {
    return { ...predicate, operands: predicate.operands.map((operand) => mapParts(operand, change)) }
  }
  return change(predicate)
}

function mapValues({ records }: Answer, change: (value: JsonValue) => JsonValue): Answer {
  return {
    records: records.map(({ fields }) => ({
      fields: Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, change(value)])),
    })),
  }
}

function throughDouble(value: JsonValue): JsonValue {
  return typeof value === 'string' && /^-?\d{16,}$/.test(value) ? String(BigInt(Number(value))) : value
}

/** Characters beyond U+FFFF, which UTF-16 puts before U+E000, and some after them by code point. */
const SWAPS = [
  ['😀', '\ud7f0'],
  ['\u{10ffff}', '\ud7f1'],
] as const

function swapped(text: string, back = false): string {
  return SWAPS.reduce((swapping, [high, low]) => (back ? swapping.replaceAll(low, high) : swapping.replaceAll(high, low)), text)
}

/** The same fixture with its high characters moved to where UTF-16 orders them. */
function swapFixture(fixture: Fixture): Fixture {
  const swapValue = (value: FixtureValue): FixtureValue => (typeof value === 'string' ? swapped(value) : value)
  return { ...fixture, tables: fixture.tables.map((table) => ({ ...table, rows: table.rows.map((row) => row.map(swapValue)) })) }
}

/** Translates queries to the moved characters and results back. */
function openSwapped(subject: Subject): Subject {
  return {
    ...subject,
    async ask(query, print) {
      const answer = await subject.ask(query, (asked) => swapped(print(asked)))
      return mapValues(answer, (value) => (typeof value === 'string' ? swapped(value, true) : value))
    },
  }
}
