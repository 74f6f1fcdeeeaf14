/** A resolved query: names, types, grants and result keys are checked, what it needs of the rows of each table is known, and no row has been read. */
import { allOf, type ColumnRef, type Condition } from '../expressions/condition.ts'
import type { Redaction } from '../redaction.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { unreachable } from '../util/causes.ts'
import type { AggregateName, Direction, JoinKind } from './select.ts'
import {
  type ColumnRequirements,
  guaranteedGrants,
  isVisibleTo,
  pushdownConditionFor,
  type SourceAccess,
  type SourceNeeds,
} from './source-access.ts'

/** A table in FROM. `index` is its position there, from 0. */
export interface Source {
  readonly index: number
  readonly alias: string
  readonly table: Table
  readonly access: SourceAccess
}

/** How a source is joined to those before it. The first step joins source 1. */
export interface JoinStep {
  readonly kind: JoinKind
  readonly on: Condition
}

/** A column of the result. */
export interface ValueOutput {
  /** Its key in the result records. */
  readonly key: string
  readonly ref: ColumnRef
  /**
   * The requested redaction level: DEFAULT without REDACTION. The value shows at the lower of this and the level granted for the row.
   */
  readonly redaction: Redaction
}

/** An aggregate of the result. Without `ref` it is COUNT(*). */
export interface AggregateOutput {
  readonly key: string
  readonly name: AggregateName
  readonly ref: ColumnRef | undefined
  /** True if equal values count once. */
  readonly isDistinct: boolean
  /** Offset in the query's text, in UTF-16 units. */
  readonly at: number
}

/** One term of the order of rows. Rising order: as `<` compares the values, and null behind all of them. Falling order: the reverse. */
export interface OrderTerm {
  readonly ref: ColumnRef
  readonly direction: Direction
}

/** One term of the order of groups: a grouped column, or an aggregate by its position among those of the result. */
export interface GroupOrderTerm {
  readonly by: ColumnRef | number
  readonly direction: Direction
}

/** The result: one record per row, one record of aggregates over all rows, or one record per group of rows that agree in some columns. */
export type Outputs =
  /** Without `order`, rows are in the order of their insertion. So are rows that `order` does not distinguish. */
  | { readonly kind: 'rows'; readonly values: readonly ValueOutput[]; readonly order: readonly OrderTerm[] }
  | { readonly kind: 'totals'; readonly aggregates: readonly AggregateOutput[] }
  /** Groups are in the order of their first rows. `items` are grouped columns and aggregates, in the order of the select list. */
  | {
      readonly kind: 'groups'
      readonly by: readonly ColumnRef[]
      readonly items: readonly (ValueOutput | AggregateOutput)[]
      readonly order: readonly GroupOrderTerm[]
    }

/** True for an aggregate of a result. */
export function isAggregate(item: ValueOutput | AggregateOutput): item is AggregateOutput {
  return 'name' in item
}

/** How a query uses a column. */
export type UseKind =
  | 'select'
  | 'select all'
  | 'null test'
  | 'count'
  | 'equality'
  | 'comparison'
  | 'aggregate'
  | 'order'
  | 'group'

/** One use of a column. */
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
  /** At most the maximum number of records of one query. */
  readonly limit: number
  /** True if that maximum is the limit, and not one of its text: there can be more records. */
  readonly mayBeCut: boolean
  readonly offset: number
  readonly uses: readonly Use[]
  /** By source. */
  readonly needs: readonly SourceNeeds[]
}

/** Returns the needs of a source, by the outputs of a query and its uses of columns. */
export function needsOf(source: Source, outputs: Outputs, uses: readonly Use[]): SourceNeeds {
  const requirements = requirementsOn(source, uses)
  const isConditional = dependsOnRow(source, requirements, uses)
  const refs = refsOf(outputs).filter((ref) => ref.source === source.index)
  return {
    requirements,
    isConditional,
    granted: isConditional ? pushdownConditionFor(source.access, requirements) : allOf([]),
    selected: [...new Set(refs.flatMap(({ column }) => column ?? []))],
    selectsId: refs.some(({ column }) => column === undefined),
  }
}

/** The requirements that a query's uses place on the rows of one source. */
function requirementsOn(source: Source, uses: readonly Use[]): ColumnRequirements {
  const columns = (kinds: readonly UseKind[], others: readonly Column[] = []): readonly Column[] => {
    const own = uses.filter(({ kind, ref }) => ref.source === source.index && kinds.includes(kind))
    const found = new Set(own.flatMap(({ ref }) => ref.column ?? []))
    return [...found].filter((column) => !others.includes(column))
  }
  const plainText = columns(['comparison', 'aggregate', 'order', 'group'])
  return { plainText, visible: columns(['select', 'null test', 'count'], plainText), equated: columns(['equality'], plainText) }
}

/** True unless every row is visible and shows the selected columns in plain text. Otherwise no policy condition needs to be evaluated. */
function dependsOnRow({ access, index }: Source, demand: ColumnRequirements, uses: readonly Use[]): boolean {
  if (access.conditions.length === 0) return false
  const least = guaranteedGrants(access)
  const shown = uses.filter(({ kind, ref }) => ref.source === index && (kind === 'select' || kind === 'select all'))
  const showsPlainText = shown.every(({ ref }) => ref.column === undefined || least.level(ref.column) === 'PLAIN_TEXT')
  return !showsPlainText || !isVisibleTo(least, demand)
}

/** The columns of the result and of its order, without ids that only the result shows. */
function refsOf(outputs: Outputs): readonly ColumnRef[] {
  switch (outputs.kind) {
    case 'rows': {
      const shown = outputs.values.filter(({ ref }) => ref.column !== undefined)
      return [...shown, ...outputs.order].map(({ ref }) => ref)
    }
    case 'totals':
      return outputs.aggregates.flatMap(({ ref }) => ref ?? [])
    case 'groups':
      return [...outputs.by, ...outputs.items.filter(isAggregate).flatMap(({ ref }) => ref ?? [])]
    default:
      return unreachable(outputs)
  }
}
