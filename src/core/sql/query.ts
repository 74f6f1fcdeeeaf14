/** A settled query: names, types, levels and keys are decided, and no row was read. */
import type { ColumnRef, Condition } from '../expressions/condition.ts'
import type { AskedLevel } from '../redaction/levels.ts'
import type { Table } from '../schema/layout.ts'
import type { AggregateName, JoinKind } from './select.ts'
import type { Demand, SourceAccess } from './source-access.ts'

/** A table in FROM, by its place there. */
export interface Source {
  readonly index: number
  readonly alias: string
  readonly table: Table
  readonly access: SourceAccess
}

/** How the source behind those before it is joined to them; the first step joins source 1. */
export interface JoinStep {
  readonly kind: JoinKind
  readonly on: Condition
}

/** A column in the answer. */
export interface ValueOutput {
  /** What it is called in the answer. */
  readonly key: string
  readonly ref: ColumnRef
  /** PLAIN_TEXT unless REDACTION asks for less; what is answered is the lower of this and what the row grants. */
  readonly asked: AskedLevel
}

/** An aggregate in the answer. Without `ref` it is COUNT(*). */
export interface AggregateOutput {
  readonly key: string
  readonly name: AggregateName
  readonly ref: ColumnRef | undefined
  /** Its place in the text of the query. */
  readonly at: number
}

/** What is answered: a record for every row, or one record over all of them. */
export type Outputs =
  | { readonly kind: 'rows'; readonly values: readonly ValueOutput[] }
  | { readonly kind: 'totals'; readonly aggregates: readonly AggregateOutput[] }

/** What a query does with a column. */
export type UseKind = 'select' | 'select all' | 'null test' | 'count' | 'equality' | 'comparison' | 'aggregate'

/** One column at one place of a query. */
export interface Use {
  readonly kind: UseKind
  readonly ref: ColumnRef
}

/** A query ready to be planned. */
export interface Query {
  readonly sources: readonly Source[]
  readonly joins: readonly JoinStep[]
  readonly where: Condition
  readonly outputs: Outputs
  /** At most what one query may answer. */
  readonly limit: number
  readonly offset: number
  readonly uses: readonly Use[]
}

/** What the query demands of one source. */
export function demandOn(source: Source, uses: readonly Use[]): Demand {
  const columns = (kinds: readonly UseKind[]) =>
    new Set(uses.flatMap(({ kind, ref }) => (ref.source === source.index && kinds.includes(kind) ? (ref.column ?? []) : [])))
  const plain = columns(['comparison', 'aggregate'])
  const seen = columns(['select', 'null test', 'count'])
  const equated = columns(['equality'])
  return {
    plain: [...plain],
    seen: [...seen].filter((column) => !plain.has(column)),
    equated: [...equated].filter((column) => !plain.has(column)),
  }
}
