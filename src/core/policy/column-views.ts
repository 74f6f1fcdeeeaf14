/** Which columns a caller sees, and each at which level: decided once per request, before anything is read. */
import type { AskedLevel, Level } from '../redaction/levels.ts'
import { lowerLevel } from '../redaction/levels.ts'
import type { Column, ColumnView, Table } from '../schema/layout.ts'
import type { Caller } from './caller.ts'
import { isOwner } from './decide.ts'

/** The views of these columns: the lower of what was asked and what is allowed. A column that may not be seen has none. */
export function columnViews(caller: Caller, columns: readonly Column[], asked: AskedLevel): readonly ColumnView[] {
  return columns.flatMap((column) => {
    const ceiling = ceilingOf(caller)
    if (ceiling === undefined) return []
    return [{ column, level: lowerLevel(asked === 'DEFAULT' ? column.level : asked, ceiling) }]
  })
}

/** The column of this name, as far as this caller may know: hidden answers as unknown. */
export function visibleColumn(caller: Caller, table: Table, name: string): Column | undefined {
  const column = table.byName.get(name)
  return column === undefined || ceilingOf(caller) === undefined ? undefined : column
}

/** The highest level the caller may see; undefined hides. */
function ceilingOf(caller: Caller): Level | undefined {
  return isOwner(caller) ? 'PLAIN_TEXT' : undefined
}
