/** Finds what a query needs of the rows of one table, whatever its literals are. Queries of one form share it. */
import { allOf } from '../expressions/columns-of.ts'
import type { ColumnRef } from '../expressions/condition.ts'
import type { Column } from '../schema/layout.ts'
import type { Outputs, Source, Use, UseKind } from './query.ts'
import {
  type ColumnRequirements,
  guaranteedGrants,
  isVisibleTo,
  pushdownConditionFor,
  type SourceNeeds,
} from './source-access.ts'

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
  const plainText = columns(['comparison', 'aggregate'])
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

/** The columns of the result, without ids that only the result shows. */
function refsOf(outputs: Outputs): readonly ColumnRef[] {
  return outputs.kind === 'rows'
    ? outputs.values.flatMap(({ ref }) => (ref.column === undefined ? [] : [ref]))
    : outputs.aggregates.flatMap(({ ref }) => ref ?? [])
}
