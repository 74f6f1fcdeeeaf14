/** Argument types of each aggregate, as data. */
import type { ColumnTypeName } from '../values/column-type.ts'
import type { AggregateName } from './select.ts'

/** The rules of one aggregate. */
export interface AggregateRule {
  /** Types of its argument; undefined for every type. */
  readonly takes: ReadonlySet<ColumnTypeName> | undefined
  /** These types as an error lists them. */
  readonly takesText: string
  /** True if the result depends on the values, not only on how many there are. */
  readonly readsValues: boolean
}

const NUMBERS: AggregateRule = { takes: new Set(['INTEGER', 'FLOAT']), takesText: 'INTEGER or FLOAT', readsValues: true }

const ORDERED: AggregateRule = {
  takes: new Set(['STRING', 'INTEGER', 'FLOAT', 'DATE', 'TIME', 'DATETIME']),
  takesText: 'STRING, INTEGER, FLOAT, DATE, TIME or DATETIME',
  readsValues: true,
}

/** The rules by aggregate. */
export const AGGREGATE_RULES: Readonly<Record<AggregateName, AggregateRule>> = {
  sum: NUMBERS,
  avg: NUMBERS,
  min: ORDERED,
  max: ORDERED,
  count: { takes: undefined, takesText: '', readsValues: false },
}
