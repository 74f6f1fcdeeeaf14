/** Prints a query in the language of an engine. */
import { unreachable } from '../../../src/core/util/causes.ts'
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'
import type { FixtureValue } from './fixture.ts'
import { type ColumnTerm, type Predicate, type RandomQuery, type Source, sourcesOf, type Term } from './query-tree.ts'

/** The position of an operand, which restricts its spelling. */
export interface Place {
  readonly side: 'left' | 'right'
  /** What it is compared with. */
  readonly other: Term
}

/** What differs between the languages of engines. */
export interface Dialect {
  /** A word of the language. */
  word(word: string): string
  /** The separator of words. */
  gap(): string
  table(source: Source): string
  column(term: ColumnTerm, place: Place | undefined): string
  value(type: ColumnTypeName, value: FixtureValue, place: Place | undefined): string
  number(text: string): string
  /** A whole comparison of texts with a pattern. */
  like(predicate: Extract<Predicate, { kind: 'like' }>, left: string, right: string): string
  hasKey(column: string, key: string): string
  /** The select list. */
  items(query: RandomQuery, column: (term: ColumnTerm) => string): string
  /** The clauses after the groups. */
  window(query: RandomQuery): string
}

const JOIN_WORDS = { inner: 'inner join', left: 'left outer join', right: 'right outer join', full: 'full outer join' } as const

/** The text of a query. */
export function printQuery(dialect: Dialect, query: RandomQuery): string {
  const { gap, word } = dialect
  const joins = query.joins.map(
    ({ kind, source, on }) =>
      `${gap()}${word(JOIN_WORDS[kind])} ${dialect.table(source)} ${word('on')} ${printPredicate(dialect, on)}`,
  )
  const where = query.where === undefined ? '' : `${gap()}${word('where')} ${printPredicate(dialect, query.where)}`
  const items = dialect.items(query, (term) => dialect.column(term, undefined))
  const groups = query.groupBy.map((term) => dialect.column(term, undefined))
  const groupBy = groups.length === 0 ? '' : `${gap()}${word('group by')} ${groups.join(', ')}`
  return `${word('select')} ${items}${gap()}${word('from')} ${dialect.table(query.from)}${joins.join('')}${where}${groupBy}${dialect.window(query)}`
}

/** The text of a condition, with parentheses wherever it could be ambiguous. */
export function printPredicate(dialect: Dialect, predicate: Predicate): string {
  const { word } = dialect
  switch (predicate.kind) {
    case 'compare': {
      const { operator, left, right } = predicate
      return `${printTerm(dialect, left, { side: 'left', other: right })} ${operator} ${printTerm(dialect, right, { side: 'right', other: left })}`
    }
    case 'like': {
      const { left, right } = predicate
      const [text, pattern] = [
        printTerm(dialect, left, { side: 'left', other: right }),
        printTerm(dialect, right, { side: 'right', other: left }),
      ]
      return dialect.like(predicate, text, pattern)
    }
    case 'in':
    case 'between': {
      const { kind, isNegated, left } = predicate
      const others = predicate.others.map((other) => printTerm(dialect, other, { side: 'right', other: left }))
      const [first = left] = predicate.others
      const list = kind === 'in' ? `(${others.join(', ')})` : others.join(` ${word('and')} `)
      return `${printTerm(dialect, left, { side: 'left', other: first })} ${word(isNegated ? `not ${kind}` : kind)} ${list}`
    }
    case 'isNull':
      return `${dialect.column(predicate.term, undefined)} ${word(predicate.isNegated ? 'is not null' : 'is null')}`
    case 'hasKey':
      return dialect.hasKey(dialect.column(predicate.term, undefined), predicate.key)
    case 'truth':
      return word(predicate.truth === undefined ? 'null' : String(predicate.truth))
    case 'not':
      return `${word('not')} (${printPredicate(dialect, predicate.operand)})`
    case 'and':
    case 'or':
      return predicate.operands.map((operand) => `(${printPredicate(dialect, operand)})`).join(` ${word(predicate.kind)} `)
    default:
      return unreachable(predicate)
  }
}

function printTerm(dialect: Dialect, term: Term, place: Place): string {
  switch (term.kind) {
    case 'column':
      return dialect.column(term, place)
    case 'number':
      return dialect.number(term.text)
    case 'value':
      return dialect.value(term.type, term.value, place)
    case 'null':
      return dialect.word('null')
    default:
      return unreachable(term)
  }
}

/** True where no other source of the query has a column of that name. */
export function isUnambiguous(query: Pick<RandomQuery, 'from' | 'joins'>, { column, source }: ColumnTerm): boolean {
  return sourcesOf(query).every((other) => other === source || other.table.columns.every(({ name }) => name !== column.name))
}

/** A text between quotes, with the quotes in it doubled. */
export function quoted(text: string, quote: "'" | '"' = "'"): string {
  return `${quote}${text.replaceAll(quote, quote + quote)}${quote}`
}
