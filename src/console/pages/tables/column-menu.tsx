/** The menu of columns: which are shown, and at which level. */
import { useState } from 'preact/hooks'
import type { TableDescription } from '../../app/contract.ts'
import { LEVEL_WORDS, levelOf } from '../../ui/cell.ts'
import { Dialog } from '../../ui/dialog.tsx'
import type { GridColumns } from '../../ui/grid/columns.ts'
import { Icon } from '../../ui/icon.tsx'
import { LevelMark } from '../../ui/level-mark.tsx'

/** Draws its button, and the menu where it is open. */
export function ColumnMenu({
  table,
  columns,
  onChange,
}: {
  readonly table: TableDescription
  readonly columns: GridColumns
  onChange(): void
}) {
  const [at, setAt] = useState<DOMRect | undefined>()
  const all = table.columns.length
  const shown = columns.shown().length
  return (
    <>
      <button type="button" class="button" onClick={({ currentTarget }) => setAt(currentTarget.getBoundingClientRect())}>
        Columns{shown === all ? '' : ` ${shown}/${all}`}
        <Icon of="down" />
      </button>
      {at === undefined ? null : (
        <Dialog kind="pop" at={at} label="Columns" onClose={() => setAt(undefined)}>
          <div class="dialog">
            <h2>Columns</h2>
            <div class="list column-list">
              {table.columns.map((column, index) => (
                <label key={column.name}>
                  <input
                    type="checkbox"
                    autofocus={index === 0}
                    checked={columns.isShown(column.name)}
                    onChange={() => {
                      columns.toggle(column.name)
                      onChange()
                    }}
                  />
                  <span>{column.name}</span>
                  <span class="faint">
                    <LevelMark of={levelOf(column)} /> {LEVEL_WORDS[levelOf(column)]}
                  </span>
                </label>
              ))}
            </div>
          </div>
        </Dialog>
      )}
    </>
  )
}
