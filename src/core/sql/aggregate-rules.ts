/** What each aggregate takes, as data. */
import type { ColumnTypeName } from '../values/column-type.ts'
import type { AggregateName } from './select.ts'

/** One aggregate's rules. */
export interface AggregateRule {
  /** Types whose values it takes; undefined for every type. */
  readonly takes: ReadonlySet<ColumnTypeName> | undefined
  /** How a refusal names those types. */
  readonly takesText: string
  /** True where the answer tells more of the values than that they are there. */
  readonly readsValues: boolean
}

const NUMBERS: AggregateRule = { takes: new Set(['INTEGER', 'FLOAT']), takesText: 'INTEGER or FLOAT', readsValues: true }

const ORDERED: AggregateRule = {
  takes: new Set(['STRING', 'INTEGER', 'FLOAT', 'DATE', 'TIME', 'DATETIME']),
  takesText: 'STRING, INTEGER, FLOAT, DATE, TIME or DATETIME',
  readsValues: true,
}

/** The rules of each aggregate. */
export const AGGREGATE_RULES: Readonly<Record<AggregateName, AggregateRule>> = {
  sum: NUMBERS,
  avg: NUMBERS,
  min: ORDERED,
  max: ORDERED,
  count: { takes: undefined, takesText: '', readsValues: false },
}
