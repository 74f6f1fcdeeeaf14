/** Rewrites lists into comparisons where SQLite runs those faster or more exactly. */
import type { Filter } from '../../core/ports/storage.ts'
import { unreachable } from '../../core/util/causes.ts'
import type { TableShape } from '../sql/table-shapes.ts'

/**
 * A list of one value becomes a comparison, which costs a third of reading the list. So does each value of a list over a
 * real column, because SQLite sometimes reads decimal text back with the last bit wrong.
 */
export function expandLists(shape: TableShape, filter: Filter): Filter {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return { kind: filter.kind, filters: filter.filters.map((part) => expandLists(shape, part)) }
    case 'not':
      return { kind: 'not', filter: expandLists(shape, filter.filter) }
    case 'in': {
      const { column, values } = filter
      const [only] = values
      if (only !== undefined && values.length === 1) return { kind: 'compare', column, operator: '=', value: only }
      if (shape.types.get(column) !== 'real') return filter
      return { kind: 'or', filters: values.map((value) => ({ kind: 'compare', column, operator: '=', value })) }
    }
    case 'all':
    case 'compare':
    case 'isNull':
      return filter
    default:
      return unreachable(filter)
  }
}
