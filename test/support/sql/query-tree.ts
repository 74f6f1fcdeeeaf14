/** Queries over a fixture as trees with the type of every term. One tree prints to the same query for every engine. */
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'
import type { FixtureColumn, FixtureTable, FixtureValue } from './fixture.ts'

/** A table in FROM. Without an alias, `alias` is the table's name. */
export interface Source {
  readonly alias: string
  readonly table: FixtureTable
}

/** A column of a source. */
export interface ColumnTerm {
  readonly kind: 'column'
  readonly source: Source
  readonly column: FixtureColumn
}

/** What a column is compared with. A `number` keeps its spelling. */
export type Term =
  | ColumnTerm
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'value'; readonly type: ColumnTypeName; readonly value: FixtureValue }
  | { readonly kind: 'null' }

/** A condition. */
export type Predicate =
  | Comparison
  /** IN with a list, and BETWEEN with two bounds. */
  | { readonly kind: 'in' | 'between'; readonly isNegated: boolean; readonly left: Term; readonly others: readonly Term[] }
  | {
      readonly kind: 'like'
      readonly ignoresCase: boolean
      readonly isNegated: boolean
      readonly left: Term
      readonly right: Term
    }
  | { readonly kind: 'isNull'; readonly isNegated: boolean; readonly term: ColumnTerm }
  | { readonly kind: 'hasKey'; readonly term: ColumnTerm; readonly key: string }
  | { readonly kind: 'truth'; readonly truth: boolean | undefined }
  | { readonly kind: 'not'; readonly operand: Predicate }
  | { readonly kind: 'and' | 'or'; readonly operands: readonly Predicate[] }

/** A comparison of two terms. */
export interface Comparison {
  readonly kind: 'compare'
  readonly operator: '=' | '<' | '>' | '<=' | '>=' | '<>' | '!='
  readonly left: Term
  readonly right: Term
}

/** What IN or BETWEEN means without NOT. */
export function comparisonsOf({ kind, left, others }: Extract<Predicate, { kind: 'in' | 'between' }>): Predicate {
  const operands = others.map(
    (right, at): Comparison => ({ kind: 'compare', operator: kind === 'in' ? '=' : at === 0 ? '>=' : '<=', left, right }),
  )
  return { kind: kind === 'in' ? 'or' : 'and', operands }
}

/** One output. */
export type Item =
  | { readonly kind: 'star'; readonly source: Source | undefined }
  | {
      readonly kind: 'column'
      readonly term: ColumnTerm
      readonly level: 'PLAIN_TEXT' | 'REDACTED' | undefined
      readonly alias: string | undefined
    }
  | {
      readonly kind: 'aggregate'
      readonly name: 'count' | 'sum' | 'avg' | 'min' | 'max'
      /** Undefined is `COUNT(*)`. */
      readonly term: ColumnTerm | undefined
      readonly isDistinct: boolean
      readonly isQualified: boolean
      readonly alias: string | undefined
    }

/** One term of ORDER BY: a column, or an aggregate of the outputs. */
export interface OrderTerm {
  readonly by: ColumnTerm | Extract<Item, { kind: 'aggregate' }>
  readonly direction: 'asc' | 'desc'
}

/** How a table is joined. */
export type JoinKind = 'inner' | 'left' | 'right' | 'full'

/** A joined table. */
export interface RandomJoin {
  readonly kind: JoinKind
  readonly source: Source
  readonly on: Predicate
}

/** One query. */
export interface RandomQuery {
  readonly items: readonly Item[]
  readonly from: Source
  readonly joins: readonly RandomJoin[]
  readonly where: Predicate | undefined
  readonly groupBy: readonly ColumnTerm[]
  readonly orderBy: readonly OrderTerm[]
  readonly limit: number | undefined
  readonly offset: number | undefined
}

/** Every table a query reads, in its order. */
export function sourcesOf({ from, joins }: Pick<RandomQuery, 'from' | 'joins'>): readonly Source[] {
  return [from, ...joins.map(({ source }) => source)]
}

/** The columns of a source, as terms. */
export function columnsOf(source: Source): ColumnTerm[] {
  return source.table.columns.map((column) => ({ kind: 'column', source, column }))
}

/** Whether values of a type can be compared. */
export function isCompared(type: ColumnTypeName): boolean {
  return type !== 'JSON' && type !== 'ARRAY'
}
