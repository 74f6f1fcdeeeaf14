/** Argument types of each aggregate, as data. */
import type { ColumnType } from '../values/column-type.ts'
import type { AggregateName } from './select.ts'

/** The rules of one aggregate. */
export interface AggregateRule {
  /** Types of its argument; undefined for every type. */
  readonly inputTypes: ReadonlySet<ColumnType<unknown>['name']> | undefined
  /** These types as an error lists them. */
  readonly inputTypesText: string
  /** True if the result depends on the values, not only on how many there are. */
  readonly readsValues: boolean
}

const NUMBERS: AggregateRule = {
  inputTypes: new Set(['INTEGER', 'FLOAT']),
  inputTypesText: 'INTEGER or FLOAT',
  readsValues: true,
}

const ORDERED: AggregateRule = {
  inputTypes: new Set(['STRING', 'INTEGER', 'FLOAT', 'DATE', 'TIME', 'DATETIME']),
  inputTypesText: 'STRING, INTEGER, FLOAT, DATE, TIME or DATETIME',
  readsValues: true,
}

/** The rules by aggregate. */
export const AGGREGATE_RULES: Readonly<Record<AggregateName, AggregateRule>> = {
  sum: NUMBERS,
  avg: NUMBERS,
  min: ORDERED,
  max: ORDERED,
  count: { inputTypes: undefined, inputTypesText: '', readsValues: false },
}
