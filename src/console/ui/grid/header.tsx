/** The header of the grid: the level of each column, why it is so, and its width. */
import type { ColumnDescription } from '../../app/contract.ts'
import { LEVEL_WORDS, levelOf } from '../cell.ts'
import { decisionText } from '../decision.ts'
import { LevelMark } from '../level-mark.tsx'
import type { GridColumns } from './columns.ts'
import { isNumeric } from './row.tsx'

/** What the header is made of. */
export interface GridHeaderProps {
  readonly columns: readonly ColumnDescription[]
  readonly model: GridColumns
  onResize(): void
  onExplain(column: ColumnDescription, at: DOMRect): void
}

/** Draws it. Its buttons are for the pointer: the grid is one tab stop, and W explains the column of the current cell. */
export function GridHeader({ columns, model, onResize, onExplain }: GridHeaderProps) {
  return (
    <div class="grid-header" role="row" aria-rowindex={1}>
      <div role="columnheader" class="faint">
        id
      </div>
      {columns.map((column) => (
        <div role="columnheader" key={column.name} class={isNumeric(column) ? 'number' : ''}>
          <button
            type="button"
            tabIndex={-1}
            title={decisionText(column)}
            onClick={({ currentTarget }) => onExplain(column, currentTarget.getBoundingClientRect())}
          >
            <LevelMark of={levelOf(column)} />
            <span class="grid-name">{column.name}</span>
            <span class="spoken">, {LEVEL_WORDS[levelOf(column)]}</span>
          </button>
          <span
            class="grid-edge"
            aria-hidden="true"
            onPointerDown={(event) => {
              event.preventDefault()
              followPointer(event, model.widthOf(column.name), (width) => {
                model.resize(column.name, width)
                onResize()
              })
            }}
          />
        </div>
      ))}
    </div>
  )
}

/** Calls back with the width while the pointer moves, until it is released. */
function followPointer(
  { clientX, pointerId, currentTarget }: PointerEvent,
  width: number,
  onWidth: (width: number) => void,
): void {
  const edge = currentTarget as HTMLElement
  edge.setPointerCapture(pointerId)
  const onMove = (event: PointerEvent): void => onWidth(width + event.clientX - clientX)
  edge.addEventListener('pointermove', onMove)
  edge.addEventListener('lostpointercapture', () => edge.removeEventListener('pointermove', onMove), { once: true })
}
