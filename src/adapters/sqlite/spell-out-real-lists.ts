/** Rewrites lists over real columns into comparisons, because SQLite reads decimal text back with the last bit wrong at times. */
import type { Filter } from '../../core/ports/storage.ts'
import { unreachable } from '../../core/util/unreachable.ts'
import type { TableShape } from '../sql/table-shapes.ts'

export function spellOutRealLists(shape: TableShape, filter: Filter): Filter {
  if (!shape.table.columns.some((column) => column.type === 'real')) return filter
  const spell = (part: Filter): Filter => spellOutRealLists(shape, part)
  switch (filter.kind) {
    case 'and':
      return { kind: 'and', filters: filter.filters.map(spell) }
    case 'or':
      return { kind: 'or', filters: filter.filters.map(spell) }
    case 'not':
      return { kind: 'not', filter: spell(filter.filter) }
    case 'in': {
      if (shape.types.get(filter.column) !== 'real') return filter
      const { column } = filter
      return { kind: 'or', filters: filter.values.map((value) => ({ kind: 'compare', column, operator: '=', value })) }
    }
    case 'every':
    case 'compare':
    case 'isNull':
      return filter
    default:
      return unreachable(filter)
  }
}
