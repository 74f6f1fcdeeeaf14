/** Replaces the literals and parameters in the conditions of a query. */
import { type Constant, replaceConstants } from '../expressions/replace-constants.ts'
import type { Select } from './select.ts'

/** Returns the query with each literal and parameter of WHERE and ON replaced. All else is the same. */
export function replaceInSelect<Bound>(select: Select<Bound>, replaced: (constant: Constant) => Constant): Select<Bound> {
  const joins = select.joins.map((join) => ({ ...join, on: replaceConstants(join.on, replaced) }))
  return { ...select, joins, where: select.where === undefined ? undefined : replaceConstants(select.where, replaced) }
}
